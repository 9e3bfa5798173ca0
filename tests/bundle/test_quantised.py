"""Bundles whose matrices are int8: what they hold, what loads, and what is refused by name."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from jumok.bundle.arrays import read_stored
from jumok.bundle.fingerprint import fingerprint_in, fingerprint_of
from jumok.bundle.quantised import COMPLETE, SCALE, can_group
from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import Bundle, read_bundle
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.engine.quantising import Quantised, quantised, settled
from jumok.errors import BundleError
from tests.bundle.conftest import change
from tests.bundle.test_damaged import rewrite_header
from tests.systems.test_ordinary_module import write_translator

QUERY = "encoder.blocks.0.self_attention.query.weight"


@pytest.fixture(scope="module")
def int8(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny bundle, its matrices as int8."""
    bundle = read_bundle(tiny_bundle)
    weights = {}
    for name, tensor in load_file(tiny_bundle / "model.safetensors").items():
        if tensor.dim() < 2:
            weights[name] = tensor
            continue
        found = quantised(tensor.numpy())
        weights[name] = torch.from_numpy(found.integers)
        weights[name + SCALE] = torch.from_numpy(found.scales)
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    folder = tmp_path_factory.mktemp("int8") / "tiny"
    return write_bundle(folder, weights, bundle.config, tokenizer, bundle.card)


@pytest.fixture
def copy(int8: Path, tmp_path: Path) -> Path:
    return shutil.copytree(int8, tmp_path / "model")


def refused(folder: Path) -> str:
    with pytest.raises(BundleError) as caught:
        load_model(read_bundle(folder))
    assert caught.value.do == COMPLETE
    return str(caught.value)


def test_every_float32_scale_settles_in_one_round() -> None:
    """All mantissas; the exponent changes nothing."""
    mantissas = np.arange(2**23, 2**24, dtype=np.uint32).astype(np.float32) / np.float32(2**23)
    once = settled(mantissas)
    assert (settled(once) == once).all()
    assert 0 < (once != mantissas).mean() < 0.01
    assert np.abs(once.view(np.int32) - mantissas.view(np.int32)).max() == 1


def test_a_matrix_by_hand() -> None:
    rows = np.array([[127, -3, 0.4, 0.6], [-254, 1.1, 0.9, 4], [0, 0, 0, 0]], np.float32)
    found = quantised(rows)
    assert found.integers.tolist() == [[127, -3, 0, 1], [-127, 1, 0, 2], [0, 0, 0, 0]]
    assert found.scales.tolist() == [1, 2, 0]
    assert found.floats().tolist() == [[127, -3, 0, 1], [-254, 2, 0, 4], [0, 0, 0, 0]]


def test_groups_by_hand() -> None:
    """32 inputs share a scale: a large one rounds away none of the others."""
    row = np.zeros((2, 64), np.float32)
    row[0, [0, 1, 32, 33]] = 1270, 3, 127, 3
    row[1, [31, 63]] = -2.54, 0
    found = quantised(row, grouped=True)
    assert found.grouped
    assert not quantised(row).grouped
    assert found.integers[0, [0, 1, 32, 33]].tolist() == [127, 0, 127, 3]
    np.testing.assert_allclose(found.scales, [[10, 1], [0.02, 0]], rtol=1e-6)
    assert found.floats()[0, [0, 1, 32, 33]].tolist() == [1270, 0, 127, 3]
    again = quantised(found.floats(), grouped=True)
    assert (again.integers == found.integers).all()
    assert (again.scales == found.scales).all()


def test_which_models_can_have_groups() -> None:
    """Widths of inputs that are multiples of 32, and heads of 16."""
    assert can_group(TransformerConfig(dim=64, heads=2, feedforward=96))
    assert not can_group(TransformerConfig(dim=48, heads=2, feedforward=96))
    assert not can_group(TransformerConfig(dim=96, heads=4, feedforward=96))  # 24 a head
    assert not can_group(TransformerConfig(dim=64, heads=2, feedforward=96, score="bilinear"))
    assert not can_group(RecurrentConfig(dim=64, embedding=64))


def test_groups_in_a_model_that_cannot_have_them_are_refused(tmp_path: Path) -> None:
    bundle = read_bundle(write_translator(tmp_path / "rnn", RecurrentConfig(dim=64, embedding=64)))
    small = write_quantised(tmp_path / "small", bundle, "int8", bundle.card, in_groups=True)
    with pytest.raises(BundleError, match="int8 in groups, which this kind of model cannot have"):
        read_stored(read_bundle(small))


def test_what_was_quantised_stays_as_it_is() -> None:
    draw = np.random.default_rng(1)
    matrix = (draw.normal(size=(5000, 60)) * 10.0 ** draw.integers(-30, 30, (5000, 1))).astype("f4")
    matrix[7] = np.float32(1e-44)  # below float32's normal numbers
    found = quantised(matrix)
    again = quantised(found.floats())
    assert (again.integers == found.integers).all()
    assert (again.scales == found.scales).all()
    error = np.abs(found.floats() - matrix) / np.maximum(found.scales, 1e-37)[:, None]
    assert error.max() < 0.501
    assert found.scales[7] == 0


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_that_were_integers_keep_what_training_changes(grouped: bool) -> None:
    """It moves them by less than half a step; other rows go to the nearest integers."""
    draw = np.random.default_rng(3)
    first = quantised(draw.normal(size=(700, 256)).astype("f4"), grouped=grouped)
    most = np.abs(first.integers) == 127  # what gives the scale stays
    moved = np.where(most, 0, draw.normal(0, 0.15, first.integers.shape))
    by_scale = first.scales if grouped else first.scales[:, None]
    step = np.repeat(by_scale, 256 // by_scale.shape[1], axis=1)
    trained = ((first.integers + moved) * step).astype("f4")
    own = draw.normal(size=(300, 256)).astype("f4")
    both = quantised(np.concatenate((trained, own)), grouped=grouped)
    change = both.integers[:700].astype("f4") - first.integers
    assert np.abs(change).max() == 1
    assert np.sum(change * moved) / np.sum(moved**2) == pytest.approx(1.0, abs=0.02)
    # each row as if it was alone
    parts = quantised(trained, grouped=grouped), quantised(own, grouped=grouped)
    assert (both.integers == np.concatenate([each.integers for each in parts])).all()
    by_scale = parts[1].scales if grouped else parts[1].scales[:, None]
    nearest = np.rint(own / np.repeat(by_scale, 256 // by_scale.shape[1], axis=1))
    assert (parts[1].integers == nearest).all()


def test_no_number_stays_visible() -> None:
    found = quantised(np.array([[1, np.nan], [np.inf, 1], [1, 2]], np.float32))
    assert np.isnan(found.scales[:2]).all()
    assert found.integers[:2].tolist() == [[0, 0], [0, 0]]
    assert np.isnan(found.floats()[:2]).all()


def read(folder: Path) -> tuple[Bundle, dict[str, Quantised]]:
    bundle = read_bundle(folder)
    return bundle, read_stored(bundle).integers


def test_it_loads_as_the_floats_that_its_integers_stand_for(int8: Path, tiny_bundle: Path) -> None:
    bundle, integers = read(int8)
    plain = read_bundle(tiny_bundle)
    assert (bundle.precision, plain.precision) == ("int8", "fp32")
    assert bundle.parameters == plain.parameters
    own, original = (load_model(each).state_dict() for each in (bundle, plain))
    for name, tensor in own.items():
        found = integers.get(name)
        if found is not None:
            assert (tensor.numpy() == found.floats()).all()
            most = original[name].abs().amax(1) / 127
            assert ((tensor - original[name]).abs() <= 0.5001 * most[:, None]).all()
        elif tensor.dim() < 2:
            assert torch.equal(tensor, original[name])
    assert QUERY in integers
    assert "encoder.embedding.table" in integers


def test_its_fingerprint_is_that_of_the_loaded_model(int8: Path, tiny_bundle: Path) -> None:
    found = fingerprint_in(int8)
    assert found.startswith(fingerprint_of(load_model(read_bundle(int8))))
    assert found != fingerprint_in(tiny_bundle)


def test_an_integer_that_was_edited_is_found(copy: Path) -> None:
    file = copy / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    said = refused(copy)
    assert f"{file}: the weights are not those that this bundle was written with." in said
    assert "expected: SHA-256 " in said


def test_a_file_that_was_cut_is_found(copy: Path) -> None:
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(BundleError) as caught:
        read_bundle(copy)
    assert f"{file}: the weights cannot be read." in str(caught.value)


def test_a_missing_digest_is_found(copy: Path) -> None:
    change(copy / "config.json", weights_sha256=None)
    assert "expected: weights_sha256 in config.json, as there are int8 weights" in refused(copy)


def edit(folder: Path, **changes: torch.Tensor | None) -> None:
    """Changes tensors of the file, which then has another digest than config.json names."""
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in changes.items():
        tensors.pop(name, None)
        if tensor is not None:
            tensors[name] = tensor
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("name", "tensor", "expected", "got"),
    [
        (QUERY + SCALE, None, f"{QUERY}.scale: F32 of shape (24,)", "no such tensor"),
        (QUERY + SCALE, torch.ones(23), f"{QUERY}.scale: F32 of shape (24,)", "F32 of shape (23,)"),
        (
            QUERY + SCALE, torch.ones(24, dtype=torch.bfloat16),
            f"{QUERY}.scale: F32 of shape (24,)", "BF16 of shape (24,)",
        ),
        (
            QUERY + SCALE, torch.full((24,), torch.nan),
            f"{QUERY}.scale: numbers from 0", "24 others, as nan",
        ),
        (
            QUERY + SCALE, torch.full((24,), -0.5),
            f"{QUERY}.scale: numbers from 0", "24 others, as -0.5",
        ),
        (
            QUERY, torch.full((24, 24), -128, dtype=torch.int8),
            f"{QUERY}: integers from -127 to 127", "-128",
        ),
        (
            QUERY + SCALE, torch.ones(24, 1),
            f"{QUERY}.scale: F32 of shape (24,)", "F32 of shape (24, 1)",
        ),
        (QUERY, torch.ones(24, dtype=torch.int8), f"{QUERY}: int8 with two axes", "shape (24,)"),
    ],
    ids=["missing", "short", "bfloat16", "NaN", "negative", "-128", "groups", "one axis"],
)  # fmt: skip
def test_what_is_no_int8_matrix_is_named(copy, name, tensor, expected, got) -> None:
    edit(copy, **{name: tensor})
    said = refused(copy)
    assert f"{copy / 'model.safetensors'}: the int8 weights of this bundle are damaged." in said
    assert expected in said
    assert f"got:      {got}" in said


def test_a_scale_without_its_integers_is_unknown(copy: Path) -> None:
    edit(copy, **{QUERY: None})
    with pytest.raises(BundleError, match=r"got:      .*query\.weight\.scale"):
        load_model(read_bundle(copy))


def test_tensors_that_overlap_are_no_traceback(copy: Path) -> None:
    def overlap(header) -> None:
        header[QUERY]["data_offsets"] = header["decoder.blocks.0.self_attention.query.weight"][
            "data_offsets"
        ]

    rewrite_header(copy / "model.safetensors", overlap)
    with pytest.raises(BundleError, match=r"model\.safetensors: the weights cannot be read\."):
        load_model(read_bundle(copy))
