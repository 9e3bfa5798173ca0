"""A model's fingerprint: of its weights and its config, and of nothing else."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import jumok
from jumok.bundle.arrays import read_arrays
from jumok.bundle.fingerprint import fingerprint_in, fingerprint_of, weights_digest
from jumok.bundle.reading import CONFIG, WEIGHTS, read_bundle
from jumok.bundle.weights import load_model
from jumok.errors import BundleError
from tests.bundle.conftest import sign


def test_fingerprint_by_hand(tiny_bundle):
    """SHA-256 of the sorted digests of all tensors, and of the sizes and labels."""
    stored = load_file(tiny_bundle / WEIGHTS).values()
    each = sorted(
        hashlib.sha256(str(tuple(tensor.shape)).encode() + tensor.numpy().tobytes()).digest()
        for tensor in {tensor.numpy().tobytes(): tensor for tensor in stored}.values()
    )
    weights = hashlib.sha256(b"".join(each)).hexdigest()[:12]
    config = json.loads((tiny_bundle / CONFIG).read_text())
    told = json.dumps([config["model"], config["labels"]], sort_keys=True).encode()
    expected = f"{weights}-{hashlib.sha256(told).hexdigest()[:4]}"
    assert fingerprint_in(tiny_bundle) == expected
    assert jumok.load(tiny_bundle, device="cpu").fingerprint == expected


def test_names_order_and_ties_count_for_nothing():
    one, other = torch.arange(6.0).view(2, 3), torch.ones(3)
    assert weights_digest([one, other]) == weights_digest([other, one, other])
    assert weights_digest([one, other]) != weights_digest([one.view(3, 2), other]), (
        "the shape counts"
    )
    assert weights_digest([one, other]) == weights_digest([one.bfloat16(), other]), (
        "these fit into bfloat16"
    )


def test_a_model_in_memory_has_the_weights_of_its_bundle(tiny_bundle):
    """Also laid out for inference; without its bundle nobody knows its config."""
    model = load_model(read_bundle(tiny_bundle))
    weights, _, _ = fingerprint_in(tiny_bundle).partition("-")
    assert fingerprint_of(model) == weights
    assert fingerprint_of(model.eval().to(torch.float32)) == weights


@pytest.mark.parametrize("part", ["weights", "config"])
def test_one_number_makes_another_model(tiny_bundle, tmp_path, part):
    other = shutil.copytree(tiny_bundle, tmp_path / "other")
    if part == "weights":
        tensors = load_file(other / WEIGHTS)
        next(iter(tensors.values())).view(-1)[0] += 1e-3
        save_file(tensors, other / WEIGHTS)
        sign(other)
    else:
        config = json.loads((other / CONFIG).read_text())
        config["model"]["heads"] = 2
        (other / CONFIG).write_text(json.dumps(config))
    ours, theirs = (fingerprint_in(each).split("-") for each in (tiny_bundle, other))
    differ = [mine != yours for mine, yours in zip(ours, theirs, strict=True)]
    assert differ == [part == "weights", part == "config"]


def test_what_is_no_part_of_the_model_counts_for_nothing(tiny_bundle, tmp_path):
    """Where alignments are read is measured later; the card is for people."""
    other = shutil.copytree(tiny_bundle, tmp_path / "other")
    config = json.loads((other / CONFIG).read_text()) | {"alignment_layer": 1}
    (other / CONFIG).write_text(json.dumps(config))
    assert fingerprint_in(other) == fingerprint_in(tiny_bundle)


def test_models_that_work_together_are_named_one_after_another(tiny_bundle):
    both = jumok.load(tiny_bundle, tiny_bundle, device="cpu").fingerprint
    assert both == "+".join([fingerprint_in(tiny_bundle)] * 2)


def test_the_weights_are_read_once(tiny_bundle, monkeypatch):
    read = []
    monkeypatch.setattr(
        "jumok.bundle.fingerprint.read_arrays", lambda one: read.append(one) or read_arrays(one)
    )
    system = jumok.load(tiny_bundle, device="cpu")
    assert read == [], "nobody asked"
    assert system.fingerprint == system.fingerprint
    assert len(read) == 1


def test_a_bundle_that_was_replaced_meanwhile_is_not_taken_for_the_model(tiny_bundle, tmp_path):
    folder = shutil.copytree(tiny_bundle, tmp_path / "model")
    system = jumok.load(folder, device="cpu")
    tensors = {name: tensor + 1 for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(tensors, folder / WEIGHTS)
    with pytest.raises(BundleError, match="changed after loading") as caught:
        _ = system.fingerprint
    assert "load it again" in str(caught.value)


def test_a_model_made_in_memory_is_looked_at_whenever_somebody_asks(tiny_bundle):
    """It may be learning."""
    loaded = jumok.load(tiny_bundle, device="cpu")
    made = jumok.Translator(loaded.models, loaded.tokenizer, max_tokens=61)
    before = made.fingerprint
    assert before == loaded.fingerprint.partition("-")[0]
    with torch.no_grad():
        next(loaded.models[0].parameters())[0, 0] += np.pi
    assert made.fingerprint != before
