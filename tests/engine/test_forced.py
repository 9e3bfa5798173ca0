"""Given targets on the engine against torch: log-probabilities, and every attention."""

import numpy as np
import pytest
import torch

from jumok.attention.observe import Attention, observe, roles_of
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions
from jumok.decoding.score import score_pairs
from jumok.engine.forced import WatchedAttention
from jumok.engine.structures import library
from jumok.errors import ModelError
from tests.engine.test_transformer import KINDS, engine_of, model_of, rules_of, sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

LENGTHS = (7, 2, 19, 4, 11)
EVERYTHING = tuple(
    WatchedAttention(part, layer) for part in ("encoder", "decoder", "cross") for layer in range(2)
)


def targets_of(*lengths: int) -> list[list[int]]:
    draw = np.random.default_rng(5)
    return [draw.integers(4, 139, length).tolist() for length in lengths]


def moderate_model_of(**keys):
    """A model with smaller scores: large ones enlarge the rounding errors of torch, too."""
    config, model = model_of(**keys)
    with torch.no_grad():
        for blocks in (model.encoder.blocks, model.decoder.blocks):
            for name, weight in blocks.named_parameters():
                if "norm" not in name:
                    weight.mul_(0.5)
    return config, model


def by_torch(model, sources, targets):
    """The log-probabilities of each target, and the weights by role, of single sentences."""
    found = []
    roles = roles_of(model)
    for source, target in zip(sources, targets, strict=True):
        seen = {}

        def keep(site: str, attention: Attention, seen=seen) -> None:
            role = roles[site]
            seen[role.part, role.layer] = attention.weights[0].numpy()

        (batch,) = source_batches([source[:-1]], sentences=1)
        with torch.inference_mode(), observe(model, keep):
            memory = model.encode(batch.tokens, batch.allowed)
            (scored,) = score_pairs(model.decoder, memory, [target])
        found.append((scored.token_log_probabilities, seen))
    return found


@pytest.mark.parametrize("targets", [(3, 9, 0, 21, 8), (1, 1, 1, 1, 1), (40, 2, 5, 3, 30)])
@pytest.mark.parametrize("parts", ["post", "pre", "everything", "grouped, alibi", "odd widths"])
def test_log_probabilities_and_attention_are_those_of_torch(parts, targets):
    config, model = moderate_model_of(**KINDS[parts])
    sources, written = sources_of(*LENGTHS), targets_of(*targets)
    forced = engine_of(config, model).force(sources, written, (START, END), EVERYTHING)
    for ours, (values, weights) in zip(forced, by_torch(model, sources, written), strict=True):
        np.testing.assert_allclose(ours.log_probabilities, values, atol=2e-5)
        for asked, found in zip(EVERYTHING, ours.attention, strict=True):
            expected = weights[asked.part, asked.layer]
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_chosen_heads_come_in_the_order_asked_for():
    config, model = model_of()
    sources, targets = sources_of(7, 5), targets_of(3, 6)
    engine = engine_of(config, model)
    every = engine.force(sources, targets, (START, END), [WatchedAttention("cross", 1)])
    some = engine.force(
        sources,
        targets,
        (START, END),
        [WatchedAttention("cross", 1, (2, 0))],
        log_probabilities=False,
    )
    for whole, chosen in zip(every, some, strict=True):
        np.testing.assert_array_equal(chosen.attention[0], whole.attention[0][[2, 0]])
        assert chosen.log_probabilities == ()


@pytest.mark.parametrize("beam", [1, 3])
def test_a_search_gives_the_attention_of_what_it_found(beam):
    config, model = model_of()
    sources, engine = sources_of(*LENGTHS), engine_of(config, model)
    options = DecodingOptions(beam=beam, maximum_ratio=1.5)
    rules = rules_of(options, sources)
    found = engine.search(sources, rules, EVERYTHING)
    plain = engine.search(sources, rules)
    assert [each.tokens for each in found] == [each.tokens for each in plain]
    again = engine.force(sources, [each.tokens for each in found], (START, END), EVERYTHING)
    for ours, theirs in zip(found, again, strict=True):
        assert ours.log_probabilities == pytest.approx(
            theirs.log_probabilities[: len(ours.log_probabilities)], abs=2e-5
        )
        for one, other in zip(ours.attention, theirs.attention, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
def test_what_is_forced_does_not_depend_on_what_shares_its_batch(kind):
    config, model = model_of()
    engine = engine_of(config, model, kind)
    sources, targets = sources_of(*LENGTHS), targets_of(9, 30, 0, 21, 8)
    together = engine.force(sources, targets, (START, END), EVERYTHING)
    for source, target, expected in zip(sources, targets, together, strict=True):
        (alone,) = engine.force([source], [target], (START, END), EVERYTHING)
        assert alone.log_probabilities == expected.log_probabilities
        for one, other in zip(alone.attention, expected.attention, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("kind", "apart"), [("bf16", 0.005), ("int8", 0.015)])
def test_fewer_bits_change_the_attention_little(kind, apart):
    config, model = moderate_model_of(norm="pre")
    sources, targets = sources_of(*LENGTHS), targets_of(9, 30, 0, 21, 8)
    exact, rounded = (
        engine_of(config, model, each).force(sources, targets, (START, END), EVERYTHING)
        for each in ("fp32", kind)
    )
    for number in range(len(EVERYTHING)):
        differences = []
        for one, other in zip(exact, rounded, strict=True):
            left, right = one.attention[number], other.attention[number]
            np.testing.assert_allclose(right.sum(-1), 1.0, atol=1e-5)
            differences.append(np.abs(left - right).ravel())
        assert 0 < np.concatenate(differences).mean() < apart


@pytest.mark.parametrize(
    ("watched", "target", "what"),
    [
        ([WatchedAttention("cross", 2)], [5], "there is no such attention"),
        ([WatchedAttention("image", 0)], [5], "there is no such attention"),
        ([WatchedAttention("cross", 0, (3,))], [5], "there is no such head"),
        ([WatchedAttention("cross", 0, ())], [5], "there is no such head"),
        ([WatchedAttention("cross", 0, (1, 1))], [5], "a head is asked for twice"),
        (
            [WatchedAttention("cross", 0), WatchedAttention("cross", 0, (1,))],
            [5],
            "an attention is asked for twice",
        ),
        ([], [139], "a token is not in the vocabulary"),
        ([], [-1], "a token is not in the vocabulary"),
        ([], [5] * 71, "a text is longer than the engine's positions"),
    ],
)
def test_what_cannot_be_forced_is_refused(watched, target, what):
    config, model = model_of(positions="learned", max_length=71)
    engine = engine_of(config, model)
    with pytest.raises(ModelError, match=what):
        engine.force(sources_of(7), [target], (START, END), watched)
    with pytest.raises(ModelError, match="every source needs a target"):
        engine.force(sources_of(7), [], (START, END))
    assert engine.force([], [], (START, END)) == []
