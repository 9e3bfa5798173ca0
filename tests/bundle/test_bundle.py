"""A bundle comes back as it went, is written whole or not at all, and says what is wrong."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError


@pytest.fixture
def copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bundle, tmp_path / "model")


def change_config(folder: Path, **keys: object) -> None:
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    text = json.dumps(values | keys)
    (folder / "config.json").write_text(text, encoding="utf-8")


def test_bundle_comes_back_bit_identical(tiny_bundle: Path, tmp_path: Path) -> None:
    bundle = read_bundle(tiny_bundle)
    model = load_model(bundle)
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    again = write_bundle(
        tmp_path / "again", model.state_dict(), bundle.config, tokenizer, bundle.card
    )
    for name in ("config.json", "model.safetensors", "tokenizer.model", "card.json", "README.md"):
        assert (again / name).read_bytes() == (tiny_bundle / name).read_bytes(), name
    for name, tensor in load_model(read_bundle(again)).state_dict().items():
        assert torch.equal(tensor, model.state_dict()[name]), name


def test_tied_weights_are_stored_once(tiny_bundle: Path) -> None:
    bundle = read_bundle(tiny_bundle)
    tables = [name for name, tensor in bundle.tensors.items() if tensor.shape == (350, 24)]
    assert len(tables) == 1
    model = load_model(bundle)
    assert bundle.parameters == sum(p.numel() for p in model.parameters())
    assert model.encoder.embedding.table is model.decoder.output.weight


def test_bfloat16_weights_compute_in_float32(tiny_bundle: Path, tmp_path: Path) -> None:
    bundle = read_bundle(tiny_bundle)
    weights = {k: v.bfloat16() for k, v in load_model(bundle).state_dict().items()}
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    half = write_bundle(tmp_path / "half", weights, bundle.config, tokenizer, bundle.card)
    loaded = load_model(read_bundle(half)).state_dict()
    assert {tensor.dtype for tensor in loaded.values()} == {torch.float32}
    assert all(torch.equal(loaded[name], weights[name].float()) for name in weights)


def test_reading_imports_no_torch(tiny_bundle: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from jumok.bundle.reading import read_bundle; "
        f"print(read_bundle(Path({str(tiny_bundle)!r})).parameters, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False"


def test_card_is_readable_for_people(tiny_bundle: Path) -> None:
    text = (tiny_bundle / "README.md").read_text(encoding="utf-8")
    assert "# tiny\n" in text
    assert "en → ko" in text
    assert "| test.en | BLEU | 12.50 | 11.25 to 13.75 | nrefs:1\\|tok:13a |" in text


def test_writing_replaces_a_bundle_and_leaves_nothing_beside_it(copy: Path) -> None:
    bundle = read_bundle(copy)
    tokenizer = Tokenizer.load(copy / "tokenizer.model")
    weights = load_model(bundle).state_dict()
    write_bundle(copy, weights, bundle.config, tokenizer, replace(bundle.card, steps=7))
    assert read_bundle(copy).card.steps == 7
    assert [entry.name for entry in copy.parent.iterdir()] == ["model"]


def test_failed_write_leaves_the_old_bundle(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = read_bundle(copy)
    tokenizer = Tokenizer.load(copy / "tokenizer.model")
    weights = load_model(bundle).state_dict()
    before = (copy / "model.safetensors").read_bytes()

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BundleError) as caught:
        write_bundle(copy, weights, bundle.config, tokenizer, replace(bundle.card, steps=7))
    assert "the old contents are untouched" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    monkeypatch.undo()
    assert read_bundle(copy).card.steps == 0
    assert (copy / "model.safetensors").read_bytes() == before
    assert [entry.name for entry in copy.parent.iterdir()] == ["model"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_write_without_permission_says_so(copy: Path, tmp_path: Path) -> None:
    bundle = read_bundle(copy)
    tokenizer = Tokenizer.load(copy / "tokenizer.model")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(BundleError, match="Permission denied"):
        write_bundle(
            closed / "m", load_model(bundle).state_dict(), bundle.config, tokenizer, bundle.card
        )


def test_write_into_a_file_s_place_says_so(copy: Path, tmp_path: Path) -> None:
    bundle = read_bundle(copy)
    tokenizer = Tokenizer.load(copy / "tokenizer.model")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError, match="Not a directory"):
        write_bundle(tmp_path / "file" / "m", {}, bundle.config, tokenizer, bundle.card)


def test_write_over_another_folder_is_refused(copy: Path, tmp_path: Path) -> None:
    bundle = read_bundle(copy)
    tokenizer = Tokenizer.load(copy / "tokenizer.model")
    other = tmp_path / "photos"
    other.mkdir()
    with pytest.raises(BundleError, match="something else than a bundle"):
        write_bundle(other, {}, bundle.config, tokenizer, bundle.card)


def test_missing_folder_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        read_bundle(tmp_path / "nowhere")
    assert "nowhere: there is no such bundle." in str(caught.value)
    assert "runs/NAME/model" in str(caught.value)


def test_interrupted_replacement_says_where_the_bundle_is(copy: Path) -> None:
    copy.rename(copy.with_name(".model.previous"))
    with pytest.raises(BundleError, match=r"a write was cut short: mv .*\.model\.previous"):
        read_bundle(copy)


def test_file_for_a_folder_says_so(copy: Path) -> None:
    with pytest.raises(BundleError, match="a bundle is a folder"):
        read_bundle(copy / "config.json")


def test_run_folder_points_at_its_model(copy: Path) -> None:
    with pytest.raises(BundleError) as caught:
        read_bundle(copy.parent)
    assert "this bundle has no config.json" in str(caught.value)
    assert f"did you mean {copy}?" in str(caught.value)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model", "card.json"])
def test_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(BundleError, match=f"this bundle has no {name}"):
        read_bundle(copy)


def test_cut_weights_say_how_many_bytes(copy: Path) -> None:
    file = copy / "model.safetensors"
    data = file.read_bytes()
    file.write_bytes(data[:-10])
    with pytest.raises(BundleError) as caught:
        read_bundle(copy)
    assert "they are cut off" in str(caught.value)
    assert f"instead of {len(data):,}, by its own header" in str(caught.value)
    assert f"got:      {len(data) - 10:,} bytes" in str(caught.value)


@pytest.mark.parametrize("keep", [0, 5, 100])
def test_weights_cut_in_their_header_are_refused(copy: Path, keep: int) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(BundleError, match="not a safetensors file, or its header is cut off"):
        read_bundle(copy)


def test_newer_format_says_upgrade(copy: Path) -> None:
    change_config(copy, format=2)
    with pytest.raises(BundleError) as caught:
        read_bundle(copy)
    assert "written by a newer jumok" in str(caught.value)
    assert "pip install --upgrade jumok" in str(caught.value)


def test_config_of_something_else_is_refused(copy: Path) -> None:
    (copy / "config.json").write_text("{}")
    with pytest.raises(BundleError, match="this is not a jumok bundle"):
        read_bundle(copy)


def test_config_that_is_no_json_is_refused(copy: Path) -> None:
    (copy / "config.json").write_text("{")
    with pytest.raises(BundleError, match="cannot be read as JSON"):
        read_bundle(copy)


def test_card_with_unknown_key_is_refused(copy: Path) -> None:
    values = json.loads((copy / "card.json").read_text()) | {"colour": "red"}
    (copy / "card.json").write_text(json.dumps(values))
    with pytest.raises(BundleError, match="colour: Unexpected keyword argument"):
        read_bundle(copy)


def test_pickle_is_refused_by_name_and_by_content(copy: Path) -> None:
    (copy / "extra.bin").write_bytes(b"anything")
    with pytest.raises(BundleError, match=r"extra\.bin: this bundle holds what may be"):
        read_bundle(copy)
    (copy / "extra.bin").unlink()
    (copy / "deep").mkdir()
    (copy / "deep" / "innocent.txt").write_bytes(pickle.dumps([1]))
    with pytest.raises(BundleError, match=r"innocent\.txt: this bundle holds"):
        read_bundle(copy)
    torch.save({"a": torch.zeros(2)}, copy / "deep" / "innocent.txt")
    with pytest.raises(BundleError, match=r"innocent\.txt: this bundle holds"):
        read_bundle(copy)


def test_safetensors_whose_header_length_looks_like_pickle_is_read(copy: Path) -> None:
    # A header of 65,536 + 640 bytes: the file then starts with 80 02, as pickle's protocol 2 does.
    file = copy / "model.safetensors"
    weights = load_file(file)
    save_file(weights, file, metadata={"note": ""})
    length = int.from_bytes(file.read_bytes()[:8], "little")
    save_file(weights, file, metadata={"note": "x" * (0x10280 - length)})
    assert file.read_bytes()[:2] == b"\x80\x02"
    assert read_bundle(copy).parameters > 0


def test_other_tokenizer_is_refused(copy: Path) -> None:
    Tokenizer.train(["something else entirely"], "bpe", 280).save(copy / "tokenizer.model")
    with pytest.raises(BundleError, match="the tokenizer is not the one these weights were"):
        read_bundle(copy)


def test_sizes_that_do_not_fit_the_weights_are_named(copy: Path) -> None:
    values = json.loads((copy / "config.json").read_text())
    change_config(copy, model=values["model"] | {"feedforward": 31})
    with pytest.raises(BundleError) as caught:
        load_model(read_bundle(copy))
    assert "the weights do not fit the model that config.json describes" in str(caught.value)
    assert "of shape (29,), not (31,)" in str(caught.value)


def test_impossible_sizes_are_named(copy: Path) -> None:
    values = json.loads((copy / "config.json").read_text())
    change_config(copy, model=values["model"] | {"heads": 7})
    with pytest.raises(BundleError, match="dim = 24 cannot be split among heads = 7"):
        load_model(read_bundle(copy))


def test_tensor_too_few_or_too_many_is_named(copy: Path) -> None:
    file = copy / "model.safetensors"
    weights = load_file(file)
    save_file(weights | {"stranger": torch.zeros(1)}, file)
    with pytest.raises(BundleError, match="trained with other code: it has weights"):
        load_model(read_bundle(copy))
    save_file({k: v for k, v in weights.items() if k != "encoder.first_norm.bias"}, file)
    with pytest.raises(BundleError, match=r"no tensor for encoder\.first_norm\.bias"):
        load_model(read_bundle(copy))
