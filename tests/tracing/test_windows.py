"""Traces of models whose layers see the nearest positions: weights outside are zero, and masked."""

import numpy as np
import pytest

import jumok
from jumok.inspection.trace import Trace
from tests.systems.test_ordinary_module import transformer

WINDOW = 2
TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def system(tmp_path_factory) -> jumok.Translator:
    folder = tmp_path_factory.mktemp("windows") / "model"
    keys = {"window": WINDOW, "window_layers": ("window", "whole"), "encoder_layers": 2}
    return jumok.load(transformer(folder, **keys), engine="torch")


def check(trace: Trace) -> None:
    for site in trace.sites:
        queries, keys = site.weights.shape[1:]
        permitted = np.ones((queries, keys), bool)
        distance = np.arange(queries)[:, None] - np.arange(keys)
        if site.part == "decoder":
            permitted = distance >= 0
        if site.part != "cross" and site.layer % 2 == 0:
            permitted = permitted & (np.abs(distance) < WINDOW)
        if permitted.all():
            assert site.allowed is None
        else:
            np.testing.assert_array_equal(site.allowed, permitted)
        assert not site.weights[:, ~permitted].any()
        np.testing.assert_allclose(site.weights.sum(2), 1, atol=1e-5)


def test_a_trace_shows_what_a_window_hides(system):
    check(jumok.trace(system, TEXT, "a dog ran by the old house"))


@pytest.mark.parametrize("beam", [1, 3])
def test_a_recording_of_single_steps_shows_the_same(system, beam):
    options = jumok.DecodingOptions(beam=beam, maximum_length=9)
    with jumok.record(system, level="qk") as recording:
        system.translate([TEXT], options)
    check(recording.trace)
    expected = jumok.trace(system, TEXT, recording.trace.findings.written)
    for ours, theirs in zip(recording.trace.sites, expected.sites, strict=True):
        np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-5)
