"""Imported captioners beside transformers: logits, attention, tables, captions."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.attention.observe import observe
from jumok.bundle.reading import read_bundle
from jumok.cli.main import app
from jumok.errors import BundleError
from jumok.interop.containers import Container
from jumok.interop.importing import Imported, read_model, write_imported
from tests.interop.folders import configured
from tests.interop.folders_captioners import write_captioner
from tests.interop.folders_encdec import TEXT
from tests.interop.test_images import PIXELS, read_by_both
from tests.systems.pictures import write_pictures


@pytest.fixture(scope="module", params=[21, 35], ids=["projected", "of one width"])
def both(request, tmp_path_factory) -> tuple[Path, Imported, Any]:
    folder = write_captioner(tmp_path_factory.mktemp("folders") / "theirs", dim=request.param)
    theirs = transformers.VisionEncoderDecoderModel.from_pretrained(
        folder, attn_implementation="eager"
    )
    return folder, read_model(folder), theirs.eval()


def part_of(name: str) -> str:
    """The part whose attention a module with this name is."""
    if name.endswith("cross_attention"):
        return "cross"
    return "image" if name.startswith("cells") else "decoder"


def test_logits_and_attention_are_theirs(both):
    folder, imported, theirs = both
    mine, other = read_by_both(folder, imported)
    size, order = imported.tokenizer.size, torch.tensor(imported.vocabulary.order)
    ids = torch.randint(3, size, (3, 13), generator=torch.Generator().manual_seed(7))
    seen: dict[str, list[torch.Tensor]] = {"image": [], "decoder": [], "cross": []}
    keep = observe(imported.model, lambda name, a: seen[part_of(name)].append(a.weights), bool)
    with torch.no_grad(), keep:
        logits = imported.model.decoder(imported.model.encode(mine), ids)
    with torch.no_grad():
        output = theirs(other, decoder_input_ids=order[ids], output_attentions=True)
    torch.testing.assert_close(logits[..., 3:], output.logits[..., order[3:]], atol=1e-5, rtol=0)
    expected = {
        "image": output.encoder_attentions,
        "decoder": output.decoder_attentions,
        "cross": output.cross_attentions,
    }
    assert [len(each) for each in seen.values()] == [3, 2, 2]
    for part, layers in expected.items():
        for ours, attention in zip(seen[part], layers, strict=True):
            torch.testing.assert_close(ours, attention, atol=1e-5, rtol=0)
    assert seen["cross"][0].shape[-1] == 10  # nine patches after [CLS]


def test_in_out_and_in_again_gives_the_same_bits(both):
    folder, imported, _ = both
    mine = {name: each.detach() for name, each in imported.model.named_parameters()}
    written = imported.table.write(mine, imported.vocabulary)
    stored = load_file(folder / "model.safetensors")
    assert set(stored) - set(written) == set(imported.table.left_out(imported.stored))
    assert all(torch.equal(tensor, stored[name]) for name, tensor in written.items())
    shapes = {name: tuple(each.shape) for name, each in written.items()}
    again = Container(folder, shapes, dict.fromkeys(written, folder), written.__getitem__)
    for name, tensor in imported.table.read(again, imported.vocabulary):
        assert torch.equal(mine[name], tensor), name


def test_each_tensor_is_needed_once_in_its_shape(tmp_path):
    folder = write_captioner(tmp_path / "theirs")
    stored = load_file(folder / "model.safetensors")
    tensors = {name: each for name, each in stored.items() if "pooler" not in name}

    def error(changed: dict[str, torch.Tensor]) -> str:
        file = folder / "model.safetensors"
        save_file(changed, file, {"format": "pt"})
        with pytest.raises(BundleError) as caught:
            read_model(folder)
        return str(caught.value)

    for name, tensor in tensors.items():
        assert name in error({key: each for key, each in tensors.items() if key != name})
        assert f"{name}.copy" in error(tensors | {f"{name}.copy": tensor.clone()})
        assert name in error(tensors | {name: torch.cat([tensor, tensor])})


@pytest.mark.parametrize(
    ("part", "changes", "said"),
    [
        ("encoder", {"model_type": "swin"}, "encoder.model_type = swin"),
        ("encoder", {"hidden_act": "quick_gelu"}, "encoder.hidden_act = quick_gelu"),
        ("decoder", {"model_type": "bert"}, "decoder.model_type = bert"),
        ("decoder", {"add_cross_attention": False}, "decoder.add_cross_attention = False"),
        ("decoder", {"tie_word_embeddings": False}, "decoder.tie_word_embeddings = False"),
        ("decoder", {"surprise": 3}, "decoder.surprise = 3: not known"),
    ],
)
def test_settings_of_parts_that_are_not_followed_are_named(tmp_path, part, changes, said):
    folder = write_captioner(tmp_path / "theirs")
    config = transformers.AutoConfig.from_pretrained(folder).to_dict()
    with pytest.raises(BundleError) as caught:
        read_model(configured(folder, {part: config[part] | changes}))
    assert said in str(caught.value)


def test_the_caption_of_a_photograph_is_theirs(both, tmp_path):
    from PIL import Image

    folder, imported, theirs = both
    photo = tmp_path / "photo.png"
    Image.fromarray(PIXELS[0]).save(photo)
    done = CliRunner().invoke(app, ["import", str(folder), "--output", str(tmp_path / "ours")])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["caption", str(tmp_path / "ours"), str(photo), "--beam", "1"])
    assert done.exit_code == 0, done.output
    _, other = read_by_both(folder, imported)
    ids = theirs.generate(other[:1], max_length=37, do_sample=False, num_beams=1)[0, 1:]
    here = imported.vocabulary.predicted()
    pieces = [here[int(id)] for id in ids if int(id) != 0]
    assert done.stdout.rstrip("\n").split("\t")[-1] == imported.tokenizer.decode(pieces).strip()


def test_its_heads_are_counted_and_it_is_trained_further(both, tmp_path):
    """On captions whose images lie beside the table."""
    _, imported, _ = both
    bundle, images = write_imported(imported, tmp_path / "ours"), tmp_path / "images"
    rows = [
        f"{file.name}\t0\t{text}"
        for file, text in zip(write_pictures(images, 9), [*TEXT * 4, "a cat"], strict=True)
    ]
    table = tmp_path / "captions.tsv"
    table.write_text("\n".join(rows) + "\n", "utf-8")
    counted = CliRunner().invoke(app, ["heads", str(bundle), "--data", str(table)])
    assert counted.exit_code == 0, counted.output
    found = [line.split()[:2] for line in counted.stdout.splitlines()[1:]]
    heads = imported.section.decoder.heads
    for part in ("decoder", "cross"):
        own = [f"{layer}.{head}" for layer in (1, 2) for head in range(1, heads + 1)]
        assert [head for name, head in found if name == part] == own
    recipe = tmp_path / "new.toml"
    data = f'captions = "{table}"\nimages = "{images}"\n'
    recipe.write_text(
        'name = "new"\n[data]\nlanguage = "en"\nvalidation_share = 0.3\ntest_share = 0.0\n'
        f"[[data.train]]\n{data}[training]\nsteps = 2\nthreads = 1\n[validation]\nevery = 2\n",
        "utf-8",
    )
    command = ["train", "--from", str(bundle), str(recipe), "--runs", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, (done.output, done.exception)
    trained = read_bundle(tmp_path / "runs" / "new" / "model")
    assert trained.section == read_bundle(bundle).section
    assert trained.card.started_from.startswith(imported.provenance.name)
