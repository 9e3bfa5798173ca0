"""Imported models of images beside transformers: pixels, logits, attention, gradients, tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.attention.observe import observe
from jumok.cli.main import app
from jumok.data.pictures.batches import as_tensor
from jumok.errors import BundleError
from jumok.interop.checking import (
    compare_inputs,
    image_shape,
    numbers_in_transformers,
    read_compared,
)
from jumok.interop.containers import Container
from jumok.interop.importing import Imported, read_model
from tests.interop.folders import configured
from tests.interop.folders_images import CLASSIFIERS, write_deit, write_vit

PIXELS = np.random.default_rng(3).integers(0, 256, (3, 47, 61, 3), np.uint8)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def both(request, tmp_path_factory) -> tuple[Path, Imported, Any]:
    folder = CLASSIFIERS[request.param](tmp_path_factory.mktemp("folders") / "theirs")
    theirs = transformers.AutoModelForImageClassification.from_pretrained(
        folder, attn_implementation="eager"
    )
    return folder, read_model(folder), theirs.eval()


def read_by_both(folder: Path, imported: Imported) -> tuple[torch.Tensor, torch.Tensor]:
    shape = image_shape(imported.section)
    reads = transformers.AutoImageProcessor.from_pretrained(folder)
    theirs = reads(list(PIXELS), return_tensors="pt")["pixel_values"]
    return as_tensor(np.stack([shape.fit(each) for each in PIXELS])), theirs


def test_logits_and_attention_are_theirs(both):
    folder, imported, theirs = both
    mine, other = read_by_both(folder, imported)
    seen = []
    with torch.no_grad(), observe(imported.model, lambda _, a: seen.append(a.weights), bool):
        logits = imported.model(mine)
    with torch.no_grad():
        output = theirs(other, output_attentions=True)
    torch.testing.assert_close(logits, output.logits, atol=1e-5, rtol=0)
    assert len(seen) == 3
    for ours, attention in zip(seen, output.attentions, strict=True):
        torch.testing.assert_close(ours, attention, atol=1e-5, rtol=0)


def test_gradients_of_a_step_are_theirs(both):
    folder, imported, theirs = both
    mine, other = read_by_both(folder, imported)
    pull = torch.randn(imported.model(mine).shape, generator=torch.Generator().manual_seed(5))
    for model, read in ((imported.model, mine), (theirs, other)):
        model.zero_grad()
        output = model(read)
        ((output if model is imported.model else output.logits).tanh() * pull).sum().backward()
    # in the file layers have other names than in memory: the saved gradients are renamed as weights
    stored = {name: each.grad for name, each in imported.model.named_parameters()}
    written = imported.table.write(stored, imported.vocabulary)
    gradient = type(theirs)(theirs.config)
    with torch.no_grad():
        for one, given in zip(gradient.parameters(), theirs.parameters(), strict=True):
            one.copy_(given.grad)
    gradient.save_pretrained(folder.parent / "gradient")
    expected = load_file(folder.parent / "gradient" / "model.safetensors")
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(written[name], tensor, atol=1e-4, rtol=1e-4)


def test_in_out_and_in_again_gives_the_same_bits(both):
    folder, imported, _ = both
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = imported.table.write(mine, imported.vocabulary)
    stored = load_file(folder / "model.safetensors")
    assert written.keys() == stored.keys()
    assert all(torch.equal(tensor, stored[name]) for name, tensor in written.items())
    shapes = {name: tuple(each.shape) for name, each in written.items()}
    again = Container(folder, shapes, dict.fromkeys(written, folder), written.__getitem__)
    for name, tensor in imported.table.read(again, imported.vocabulary):
        assert torch.equal(mine[name], tensor), name


def test_ten_images_are_compared_and_another_number_is_noticed(both):
    _, imported, _ = both
    original = numbers_in_transformers(imported)
    assert compare_inputs(imported, original).inputs == 10
    assert compare_inputs(imported, original).difference < 1e-5
    query = imported.model.get_parameter("cells.blocks.1.self_attention.query.weight")
    kept = query.detach().clone()
    with torch.no_grad():
        query.copy_(kept.t())
        with pytest.raises(BundleError, match="does not compute what the original does"):
            compare_inputs(imported, original)
        query.copy_(kept)


def test_each_tensor_is_needed_once_in_its_shape(tmp_path):
    folder = write_deit(tmp_path / "theirs")
    tensors = load_file(folder / "model.safetensors")

    def error(changed: dict[str, torch.Tensor]) -> str:
        save_file({name: each.contiguous() for name, each in changed.items()},
                  folder / "model.safetensors", {"format": "pt"})  # fmt: skip
        with pytest.raises(BundleError) as caught:
            read_model(folder)
        return str(caught.value)

    for name, tensor in tensors.items():
        rest = {key: each for key, each in tensors.items() if key != name}
        if name != "deit.embeddings.distillation_token":  # without it, it is a ViT's
            assert name.removeprefix("deit.") in error(rest), name
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor.clone()})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})
        assert name in error(tensors | {name: tensor * float("nan")})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"qkv_bias": False}, "qkv_bias = False"),
        ({"num_channels": 1}, "num_channels = 1"),
        ({"patch_size": 10}, "cut into patches of 10 pixels"),
        ({"image_size": 44}, "got:      images of 33 pixels for image_size = 44\n"),
        ({"id2label": {"1": "cat"}}, "does not number its labels from 0"),
        ({"hidden_act": "quick_gelu"}, "hidden_act = quick_gelu"),
    ],
)
def test_settings_that_are_not_followed_are_named(tmp_path, changes, said):
    with pytest.raises(BundleError) as caught:
        read_model(configured(write_vit(tmp_path / "theirs"), changes))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"size": {"shortest_edge": 33}}, "shortest_edge"),
        ({"size": {"height": 33, "width": 34}}, "both sides"),
        ({"do_resize": False}, "do_resize"),
        ({"resample": 9}, "resample"),
        ({"do_reduce_labels": True}, "do_reduce_labels"),
    ],
)
def test_another_way_of_reading_images_is_refused(tmp_path, changes, said):
    folder = write_vit(tmp_path / "theirs")
    file = folder / "preprocessor_config.json"
    file.rename(folder / "config.json.kept")
    (folder / "config.json").rename(folder / "config.json.model")
    (folder / "config.json.kept").rename(folder / "config.json")
    configured(folder, changes)
    (folder / "config.json").rename(file)
    (folder / "config.json.model").rename(folder / "config.json")
    with pytest.raises(BundleError) as caught:
        read_model(folder)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda folder: write_vit(folder, whole=False), "an encoder alone"),
        (lambda folder: write_deit(folder, taught=True), "two heads"),
    ],
)
def test_a_model_without_one_head_is_refused(tmp_path, write, said):
    with pytest.raises(BundleError, match=said):
        read_model(write(tmp_path / "theirs"))


def test_a_classifier_of_others_classifies_photographs(tmp_path):
    from PIL import Image

    folder, photo = write_vit(tmp_path / "theirs"), tmp_path / "photo.png"
    Image.fromarray(PIXELS[0]).save(photo)
    done = CliRunner().invoke(app, ["import", str(folder), "--output", str(tmp_path / "ours")])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["classify", str(tmp_path / "ours"), str(photo)])
    label, probability = done.stdout.rstrip().split("\t")[1:]
    reads = transformers.AutoImageProcessor.from_pretrained(folder)
    theirs = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        row = theirs(**reads(PIXELS[0], return_tensors="pt")).logits.softmax(-1)[0]
    assert label == ("cat (0)", "dog", "cat (2)")[int(row.argmax())]
    assert float(probability) == pytest.approx(float(row.max()), abs=1e-4)
    assert read_compared(folder).provenance.compared
