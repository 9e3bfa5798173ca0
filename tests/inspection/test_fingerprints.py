"""A trace of one model is not used with another."""

import dataclasses
import shutil

import pytest
from safetensors.torch import load_file, save_file

import jumok
from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.reading import WEIGHTS
from jumok.errors import BundleError
from jumok.inspection.context_similarity import context_similarity
from jumok.inspection.fingerprints import same_model
from jumok.inspection.trace_file import load_trace
from tests.inspection.traces import trace


@pytest.fixture(scope="module")
def other(tiny_bundle, tmp_path_factory):
    """The bundle with one number changed."""
    folder = shutil.copytree(tiny_bundle, tmp_path_factory.mktemp("other") / "model")
    tensors = load_file(folder / WEIGHTS)
    next(iter(tensors.values())).view(-1)[0] += 1e-3
    save_file(tensors, folder / WEIGHTS)
    return folder


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("ab-1", "ab-1", True),
        ("ab-1", "ab-2", False),
        ("ab-1", "ac-1", False),
        ("ab-1", "ab", True),
        ("ab-1+cd-2", "ab-1+cd-2", True),
        ("ab-1+cd-2", "cd-2+ab-1", False),
        ("ab-1+cd-2", "ab-1", False),
        ("", "ab-1", False),
    ],
)
def test_fingerprints_are_compared_as_far_as_both_are_known(one, two, same):
    assert same_model(one, two) == same_model(two, one) == same


def test_every_trace_carries_the_fingerprint_and_its_file_too(tiny_bundle, tmp_path):
    system = jumok.load(tiny_bundle, device="cpu")
    traced = jumok.trace(system, "the cat", "개가")
    with jumok.record(system) as recording:
        system.translate(["the cat", "the dog"], beam=2)
    with jumok.record(system.models[0]) as alone:
        system.translate(["the cat"], beam=1)
    heard, bare = recording.trace, alone.trace
    wanted = fingerprint_in(tiny_bundle)
    every = [traced, heard.tree, *recording.traces]
    assert len(every) == 4
    assert {each.fingerprint for each in every} == {wanted}
    assert bare.fingerprint == wanted.partition("-")[0], "nobody knows the config of a bare model"
    traced.save(tmp_path / "t.npz")
    for of in (None, tiny_bundle, str(tiny_bundle), system, heard):
        assert load_trace(tmp_path / "t.npz", of=of).fingerprint == wanted


def test_a_trace_of_another_model_is_refused(tiny_bundle, other, tmp_path):
    jumok.trace(jumok.load(tiny_bundle), "the cat", "개가").save(tmp_path / "t.npz")
    with pytest.raises(BundleError) as caught:
        load_trace(tmp_path / "t.npz", of=other)
    message = str(caught.value)
    assert f"{tmp_path / 't.npz'}: this trace is of another model." in message
    assert f"expected: the model in {other}, with the fingerprint {fingerprint_in(other)}" in (
        message
    )
    assert f"got:      a trace of 'model', with the fingerprint {fingerprint_in(tiny_bundle)}" in (
        message
    )
    assert "do:       give the model that it was recorded with, or record it again" in message


def test_a_trace_that_does_not_say_is_refused(tiny_bundle, tmp_path):
    trace().save(tmp_path / "t.npz")
    with pytest.raises(BundleError, match="with the fingerprint unknown"):
        load_trace(tmp_path / "t.npz", of=tiny_bundle)


def test_words_of_two_models_are_not_compared():
    one, two = (dataclasses.replace(trace(), fingerprint=each) for each in ("ab-1", "cd-1"))
    with pytest.raises(BundleError) as caught:
        context_similarity(one, two)
    assert "these traces are of two models, whose vectors cannot be compared." in str(caught.value)
    assert "got:      one of 'tiny', with the fingerprint cd-1" in str(caught.value)
