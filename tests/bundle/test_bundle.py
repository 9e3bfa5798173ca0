"""A bundle comes back as it went, is written whole or not at all, and says what is wrong."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from jumok.bundle.arrays import read_arrays
from jumok.bundle.reading import read_bundle, read_tensor_entries
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError
from tests.bundle.conftest import change, sign

Weights = dict[str, torch.Tensor]


def rewrite(source: Path, folder: Path, weights: Weights | None = None, steps: int = 0) -> Path:
    """Writes the bundle in `source` again."""
    bundle = read_bundle(source)
    if weights is None:
        weights = load_model(bundle).state_dict()
    tokenizer = Tokenizer.load(source / "tokenizer.model")
    return write_bundle(
        folder, weights, bundle.config, tokenizer, replace(bundle.card, steps=steps)
    )


def test_bundle_comes_back_bit_identical(tiny_bundle: Path, tmp_path: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
    again = rewrite(tiny_bundle, tmp_path / "again")
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
    model = load_model(read_bundle(tiny_bundle))
    weights = {k: v.bfloat16() for k, v in model.state_dict().items()}
    half = rewrite(tiny_bundle, tmp_path / "half", weights)
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
    rewrite(copy, copy, steps=7)
    assert read_bundle(copy).card.steps == 7
    assert [entry.name for entry in copy.parent.iterdir()] == ["model"]


def test_failed_write_leaves_the_old_bundle(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (copy / "model.safetensors").read_bytes()

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BundleError) as caught:
        rewrite(copy, copy, steps=7)
    assert "the old contents are untouched" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    monkeypatch.undo()
    assert read_bundle(copy).card.steps == 0
    assert (copy / "model.safetensors").read_bytes() == before
    assert [entry.name for entry in copy.parent.iterdir()] == ["model"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_write_without_permission_says_so(copy: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(BundleError, match="Permission denied"):
        rewrite(copy, closed / "m")


def test_a_file_and_another_folder_are_not_written_over(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError, match="Not a directory"):
        rewrite(copy, tmp_path / "file" / "m", {})
    (tmp_path / "photos").mkdir()
    with pytest.raises(BundleError, match="something else than a bundle"):
        rewrite(copy, tmp_path / "photos", {})


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


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (
            "config.json",
            '{"format": 2}',
            r"(?s)written by a newer jumok.*pip install --upgrade jumok",
        ),
        ("config.json", "{}", "this is not a jumok bundle"),
        ("config.json", "{", "cannot be read as JSON"),
        ("config.json", r'{"format": "\ud800"}', "cannot be read as JSON"),
        ("card.json", '{"name": "a", "colour": "red"}', "colour: Unexpected keyword argument"),
    ],
)
def test_other_descriptions_are_refused(copy: Path, file: str, content: str, said: str) -> None:
    (copy / file).write_text(content)
    with pytest.raises(BundleError, match=said):
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


@pytest.mark.parametrize(
    ("key", "size", "said"),
    [
        (
            "feedforward",
            31,
            r"(?s)the weights do not fit the model that config.*\(29,\), not \(31,",
        ),
        ("heads", 7, "dim = 24 cannot be split among heads = 7"),
    ],
)
def test_sizes_that_cannot_be_are_named(copy: Path, key: str, size: int, said: str) -> None:
    change(copy / "config.json", **{f"model__{key}": size})
    with pytest.raises(BundleError, match=said):
        load_model(read_bundle(copy))


def test_tensor_too_few_or_too_many_is_named(copy: Path) -> None:
    file = copy / "model.safetensors"
    weights = load_file(file)
    save_file(weights | {"stranger": torch.zeros(1)}, file)
    with pytest.raises(BundleError, match="trained with other code: it has weights"):
        load_model(read_bundle(copy))
    save_file({k: v for k, v in weights.items() if k != "encoder.first_norm.bias"}, file)
    sign(copy)
    with pytest.raises(BundleError, match=r"no tensor for encoder\.first_norm\.bias"):
        load_model(read_bundle(copy))


def test_a_missing_weights_file_is_no_traceback(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"(?s)the weights cannot be read.*No such file"):
        read_tensor_entries(tmp_path / "model.safetensors")


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.bool])
def test_weights_of_any_type_are_read_as_float32(copy: Path, dtype: torch.dtype) -> None:
    weights = load_file(copy / "model.safetensors")
    weights["encoder.first_norm.bias"] = torch.ones(24).to(dtype)
    save_file(weights, copy / "model.safetensors")
    sign(copy)
    array = read_arrays(read_bundle(copy))["encoder.first_norm.bias"]
    assert (array.dtype, array.tolist()) == (np.float32, [1.0] * 24)
