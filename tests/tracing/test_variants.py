"""Traces of models with other kinds of attention, windows too: what is shown is what was used."""

import numpy as np
import pytest
import torch

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.explain import explain
from jumok.inspection.page.document import payload
from jumok.inspection.rollout import attended_by
from jumok.inspection.trace import Trace
from jumok.inspection.trace_file import load_trace
from jumok.plot.board import head_name
from tests.systems.test_ordinary_module import transformer

PARTS = {
    "sinks": {"sinks": True, "process_output": ("head-gate",), "logit_cap": 3.0},
    "differential": {"attention_kind": "differential", "heads": 4, "activation": "relu2"},
    "linear": {"attention_kind": "linear", "value_residual": True, "experts": 3},
}
STEPPED = {
    "latent": {"attention_kind": "latent", "positions": "rotary", "score_cap": 2.0},
    "linear": PARTS["linear"],
    "recurrence": {"decoder_attention_kind": "ssru"},
}


@pytest.fixture(scope="module", params=PARTS)
def traced(request, tmp_path_factory) -> tuple[str, Trace]:
    """A model saved and loaded again, its trace saved and loaded again; a roughened sink."""
    folder = transformer(tmp_path_factory.mktemp("variants") / "model", **PARTS[request.param])
    torch.manual_seed(1)
    system = jumok.load(folder, device="cpu")
    with torch.no_grad():
        for name, parameter in system.models[0].named_parameters():
            if name.endswith("sink.score"):
                parameter.add_(torch.randn_like(parameter))
    made = jumok.trace(system, "the cat sat", "개가 짖었다", level="qk")
    file = folder.parent / "t.trace"
    made.save(file)
    return request.param, load_trace(file)


def test_rows_are_whole_and_the_rest_is_the_sinks(traced):
    name, trace = traced
    for site in trace.sites:
        own = site.part != "cross"
        rest = 1 - site.weights.sum(axis=2)
        if name == "sinks" and own:
            assert site.sink.shape == (3,)
            assert (rest > 0.005).all()
            np.testing.assert_allclose(site.of_sinks, rest)
        else:
            assert site.sink is None
            np.testing.assert_allclose(rest, 0, atol=1e-5)
        if site.part == "decoder":
            assert not np.triu(site.weights, 1).any()


def test_a_row_is_recomputed_or_it_is_said_that_it_cannot_be(traced):
    name, trace = traced
    for site in trace.sites:
        own = site.part != "cross"
        if name == "linear" and own:
            assert (site.kind, site.scale) == ("linear", None)
            continue
        found = explain(trace, site, 1, head=1)
        assert found.recorded < 1e-5
        if site.sink is not None:
            assert found.sink == pytest.approx(float(site.of_sinks[1, 1]), abs=1e-5)


def test_scores_that_are_no_products_are_recorded(tmp_path):
    system = jumok.load(transformer(tmp_path / "model", score_cap=2.0), device="cpu")
    options = DecodingOptions(beam=3, maximum_length=5)
    with jumok.record(system, level="qk") as recording:
        system.translate(["the cat sat"], options)
    recording.save(tmp_path / "t.npz")
    searched = load_trace(tmp_path / "t.npz")
    for trace in (searched, searched.tree, jumok.trace(system, "the cat sat", level="qk")):
        for site in trace.sites:
            found = explain(trace, site, 1, head=1)
            assert site.scale is None
            assert found.recorded < 1e-5
            assert all(look.product is None for look in found.looks)
    with jumok.record(system) as recording:
        system.translate(["the cat sat"], options)
    assert recording.trace.sites[0].scores is None


def test_subtracted_maps_are_named_and_their_mean_is_signed(traced):
    name, trace = traced
    for site in trace.sites:
        if name != "differential" or site.part == "cross":
            assert site.factors is None
            np.testing.assert_allclose(site.mean, site.weights.mean(0))
            continue
        assert site.factors[:2].tolist() == [1, 1]
        assert (site.factors[2:] < 0).all()
        less = -site.factors[2]
        by_hand = (site.weights[:2] - less * site.weights[2:]).mean(0)
        np.testing.assert_allclose(site.mean, by_hand, atol=1e-6)
        assert site.norms is None
        assert head_name(site, 0) == "head 1"
        assert head_name(site, 2) == f"head 3, subtracted x {less:.2f}"
        assert "signed differences" in head_name(site, "mean")
        followed = attended_by(site)
        assert followed.min() >= 0
        np.testing.assert_allclose(followed.sum(1), 1, atol=1e-5)


def test_the_page_gets_what_it_shows(traced):
    _, trace = traced
    for raw, site in zip(payload(trace)["sites"], trace.sites, strict=True):
        assert ("sink" in raw["arrays"]) == (site.sink is not None)
        assert ("factors" in raw["arrays"]) == (site.factors is not None)
        assert raw["kind"] == site.kind


@pytest.mark.parametrize("keys", STEPPED.values(), ids=STEPPED)
def test_a_recorded_search_attends_as_the_trace_of_what_it_found(tmp_path, keys):
    """Steps with caches, recorded while a beam writes, against one parallel pass."""
    system = jumok.load(transformer(tmp_path / "model", **keys), device="cpu")
    options = DecodingOptions(beam=2, maximum_length=6)
    with jumok.record(system) as recording:
        system.translate(["the cat sat"], options)
    once = jumok.trace(system, "the cat sat", None, options)
    assert recording.trace.axes == once.axes
    assert len(recording.trace.sites) == len(once.sites) == 5
    sites = {site.name: site for site in once.sites}
    for site in recording.trace.sites:
        np.testing.assert_allclose(site.weights, sites[site.name].weights, atol=1e-5)


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
