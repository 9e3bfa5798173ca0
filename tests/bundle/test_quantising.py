"""Every kind of model with int8 or bfloat16 matrices answers as the floats that these stand for."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import jumok
from jumok.bundle.arrays import read_arrays
from jumok.bundle.card import Card
from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.quantising import CopiedTokenizer, fewer_bits, write_quantised
from jumok.bundle.reading import TOKENIZER, read_bundle
from jumok.bundle.writing import write_bundle
from jumok.errors import BundleError
from tests.bundle.conftest import change, sign
from tests.systems.pictures import write_pictures
from tests.systems.test_ordinary_module import FAMILIES, transformer


def written_as_floats(folder: Path, small: Path) -> Path:
    """The same model, its float32 matrices those that the integers stand for."""
    bundle = read_bundle(small)
    weights = {name: torch.from_numpy(array) for name, array in read_arrays(bundle).items()}
    tokenizer = CopiedTokenizer(small / TOKENIZER) if bundle.config.vocabulary_size else None
    return write_bundle(folder, weights, bundle.config, tokenizer, bundle.card)


@pytest.mark.parametrize("to", ["int8", "bf16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_answers_as_its_floats_do(tmp_path, family, to):
    make, use, _ = FAMILIES[family]
    bundle = read_bundle(make(tmp_path / "model"))
    small = write_quantised(tmp_path / "small", bundle, to, Card("small"))
    whole = written_as_floats(tmp_path / "floats", small)
    picture = str(write_pictures(tmp_path / "pictures", 1)[0])
    first, second = (jumok.load(each, device="cpu", engine="torch") for each in (small, whole))
    assert use(first, picture, 2) == use(second, picture, 2)
    assert fingerprint_in(small) == fingerprint_in(whole) != fingerprint_in(bundle.folder)
    assert read_bundle(small).precision == to
    assert read_bundle(small).parameters == bundle.parameters


@pytest.mark.parametrize("family", FAMILIES)
def test_every_matrix_of_linear_layers_and_embeddings_has_a_scale(tmp_path, family):
    """Checked by shapes: what has two axes and is no position."""
    bundle = read_bundle(FAMILIES[family][0](tmp_path / "model"))
    weights = fewer_bits(bundle, "int8")
    for name, tensor in bundle.tensors.items():
        matrix = len(tensor.shape) == 2 and "positions" not in name
        assert (f"{name}.scale" in weights) == matrix, name
        assert (weights[name].dtype == torch.int8) == matrix
        if not matrix:
            assert weights[name].dtype == torch.float32


def test_traces_and_explanations_are_those_of_its_floats(tmp_path):
    bundle = read_bundle(transformer(tmp_path / "model"))
    small = write_quantised(tmp_path / "small", bundle, "int8", bundle.card)
    whole = written_as_floats(tmp_path / "floats", small)
    first, second = (
        jumok.trace(jumok.load(each, device="cpu"), "the cat") for each in (small, whole)
    )
    assert first.fingerprint == second.fingerprint
    assert [site.name for site in first.sites] == [site.name for site in second.sites]
    for one, other in zip(first.sites, second.sites, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    folder = transformer(tmp_path / "model")
    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.embedding.table"][5, :3] = torch.nan
    save_file(tensors, folder / "model.safetensors")
    sign(folder)
    with pytest.raises(BundleError) as caught:
        write_quantised(tmp_path / "small", read_bundle(folder), "int8", Card("small"))
    assert str(caught.value) == (
        f"{folder / 'model.safetensors'}: a weight is NaN or infinite, which int8 cannot hold.\n"
        "  got:      3 such numbers in encoder.embedding.table\n"
        "  do:       quantize a model whose training did not diverge"
    )
    assert not (tmp_path / "small").exists()


def test_the_layout_is_that_of_any_bundle(tmp_path):
    bundle = read_bundle(transformer(tmp_path / "model"))
    small = write_quantised(tmp_path / "small", bundle, "int8", bundle.card)
    names = sorted(each.name for each in bundle.folder.iterdir())
    assert sorted(each.name for each in small.iterdir()) == names
    before, after = (
        json.loads((each / "config.json").read_text()) for each in (bundle.folder, small)
    )
    assert before.pop("weights_sha256") != after.pop("weights_sha256")
    assert before == after
    change(small / "card.json", quality={"precision": "int8", "made_from": "x", "equal": 2})
    with pytest.raises(BundleError, match=r"quality\.equal: Input should be less than or equal"):
        read_bundle(small)
