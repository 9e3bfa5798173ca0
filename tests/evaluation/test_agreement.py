"""Equal tokens: counted by hand; and the readable form of the engine's int8 and bfloat16."""

import math

import numpy as np
import pytest
import torch

from jumok.bundle.card import MeasuredQuality, Score
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions
from jumok.engine.packing import bfloat16
from jumok.engine.quantising import quantised
from jumok.engine.structures import library
from jumok.evaluation.agreement import (
    Agreement,
    as_bfloat16,
    as_integers,
    computing_in,
    faults_of,
    padded_with_end,
    text_agreement,
    translation_agreement,
)
from jumok.kernels.linear import Linear
from jumok.models.encoder_decoder import Transformer
from tests.engine.test_transformer import by_torch, engine_of, model_of, rules_of, sources_of
from tests.models.test_causal import build

GREEDY = DecodingOptions(beam=1, maximum_length=12)


def test_inputs_as_int8_by_hand():
    rows = torch.tensor([[127.0, -3.4, 0.5, 1.5], [0.0, 0.0, 0.0, 0.0], [-2.54, 1.0, 0.035, 0.0]])
    expected = torch.tensor([[127.0, -3, 0, 2], [0, 0, 0, 0], [-2.54, 1.0, 0.04, 0]])
    torch.testing.assert_close(as_integers(rows, 127.0), expected)


def test_inputs_as_bfloat16_are_those_of_the_engine():
    rows = np.random.default_rng(1).normal(size=(40, 16)).astype(np.float32)
    expected = (bfloat16(rows).astype(np.uint32) << 16).view(np.float32)
    assert (as_bfloat16(torch.from_numpy(rows)).numpy() == expected).all()


def test_a_layer_computes_with_integers():
    """The sum of products of integers, times both scales: what matrix.h does."""
    draw = np.random.default_rng(2)
    weights = quantised(draw.normal(size=(5, 48)).astype(np.float32))
    layer = Linear(48, 5)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weights.floats()))
        layer.bias.copy_(torch.arange(5.0))
    given = draw.normal(size=(3, 48)).astype(np.float32)
    peaks = np.abs(given).max(1)
    integers = np.rint(given * (np.float32(127) / peaks)[:, None]).astype(np.int64)
    sums = integers @ weights.integers.astype(np.int64).T
    expected = sums * (peaks / 127)[:, None] * weights.scales + np.arange(5)
    with torch.no_grad(), computing_in(layer, "int8"):
        found = layer(torch.from_numpy(given)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    with torch.no_grad():
        assert abs(layer(torch.from_numpy(given)).numpy() - expected).max() > 1e-3  # hooks are gone
        exact = layer(torch.from_numpy(given))
        with computing_in(layer, "fp32"):
            assert layer(torch.from_numpy(given)).equal(exact)


def in_fewer_bits(model: Transformer, kind: str) -> None:
    """The model's matrices as a bundle with fewer bits gives them."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "positions" not in name:
                stored = quantised(weight.numpy()).floats() if kind == "int8" else None
                weight.copy_(weight.bfloat16() if stored is None else torch.from_numpy(stored))


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize("kind", ["int8", "bf16"])
@pytest.mark.parametrize("keys", [{"norm": "post"}, {"norm": "pre", "tied": "none"}], ids=str)
def test_the_readable_form_computes_what_the_engine_does(keys, kind):
    config, model = model_of(**keys)
    in_fewer_bits(model, kind)
    sources = sources_of(7, 1, 19, 4, 11)
    found = engine_of(config, model, kind).search(sources, rules_of(GREEDY, sources))
    with torch.inference_mode():
        whole = by_torch(model, sources, GREEDY)
        with computing_in(model, kind):
            readable = by_torch(model, sources, GREEDY)
    apart, rounded = [], []
    for engine, twin, plain in zip(found, readable, whole, strict=True):
        first = np.array(engine.log_probabilities[:1])
        pairs = zip(engine.tokens, twin.tokens, strict=False)
        other = next((at for at, (one, two) in enumerate(pairs) if one != two), len(twin.tokens))
        both = (each.log_probabilities[: other + 1] for each in (engine, twin))
        apart.append(np.abs(np.subtract(*both)).max())
        rounded.append(abs(first - plain.log_probabilities[0]).max())
    # equal but for a sentence in which an input lies at half a step, so that an error of 1e-7
    # rounds it to the other side, after which another token may be the most probable one
    assert sum(each < 1e-5 for each in apart) >= len(sources) - 1
    pairs = zip(found, readable, strict=True)
    assert sum(engine.tokens == twin.tokens for engine, twin in pairs) >= len(sources) - 1
    assert max(apart) < max(rounded)
    assert min(rounded) > 1e-4


def predicted_stepwise(model: Transformer, source: list[int], target: list[int]) -> list[int]:
    """The most probable token after each prefix, one step after the other, without a batch."""
    state = model.decoder.start(model.encode(torch.tensor([[*source, END]]), None))
    found = []
    for token in (START, *target):
        logits, state = model.decoder.step(torch.tensor([token]), state)
        found.append(int(logits.argmax()))
    return found


def test_equal_tokens_are_those_of_single_steps():
    _, model = model_of()
    _, other = model_of()
    sources, targets = [s[:-1] for s in sources_of(7, 1, 19, 4)], [[4, 9, 11], [], [5], [90] * 5]
    same = translation_agreement((model, model), sources, targets, 2)
    assert same == Agreement(3 + 0 + 1 + 5 + 4, 13)
    with torch.no_grad():
        for weight in other.parameters():
            weight.add_(torch.randn_like(weight) * 0.02)
        pairs = [
            (one, two)
            for source, target in zip(sources, targets, strict=True)
            for one, two in zip(
                predicted_stepwise(model, source, target),
                predicted_stepwise(other, source, target),
                strict=True,
            )
        ]
    equal = sum(one == two for one, two in pairs)
    assert 0 < equal < len(pairs)
    found = translation_agreement((model, other), sources, targets, 3)
    assert found == Agreement(len(pairs), equal)
    assert found.share == equal / 13


def test_shares():
    assert Agreement().share == 1.0
    assert Agreement(5, 4) + Agreement(1, 1) == Agreement(6, 5)


def test_texts_are_read_in_windows():
    model, other = build("plain"), build("plain")
    texts = [[2, *range(4, 17)], [2, 5]]
    whole = text_agreement((model, other), texts, 6, 2)
    assert whole == Agreement(14 + 2, 16)
    with torch.no_grad():
        other.decoder.blocks[1].feedforward.outer.weight.neg_()
    equal = 0
    for window in ([2, 4, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14], [15, 16], [2, 5]):
        given = torch.tensor([window])
        one, two = (each.decoder.logits(each.hidden(given))[0].argmax(1) for each in (model, other))
        equal += int((one == two).sum())
    assert 0 < equal < 16
    assert text_agreement((model, other), texts, 6, 3) == Agreement(16, equal)


def test_rows_are_filled_up():
    tokens, real = padded_with_end([[7, 8], [9]])
    assert tokens.tolist() == [[7, 8], [9, END]]
    assert real.tolist() == [[True, True], [True, False]]


def quality(before: float, after: float, equal: float, name: str = "BLEU") -> MeasuredQuality:
    return MeasuredQuality(
        "int8",
        "m 1",
        "test",
        (Score(name, float(before)),),
        (Score(name, float(after)),),
        1000,
        equal,
    )


@pytest.mark.parametrize(
    ("measured", "faults"),
    [
        (quality(30, 29.71, 0.97), []),
        (quality(30, 31, 1.0), []),
        (quality(30, 29.6, 0.98), ["BLEU fell by 0.40, from 30.00 to 29.60 (at most 0.3)"]),
        (quality(30, 30, 0.96), ["96.00% of 1,000 tokens are equal (at least 97%)"]),
        (quality(20, 20.19, 0.99, "perplexity"), []),
        (
            quality(20, 20.4, 0.9, "perplexity"),
            [
                "perplexity rose by 2.0%, from 20.000 to 20.400 (at most 1%)",
                "90.00% of 1,000 tokens are equal (at least 97%)",
            ],
        ),
        (quality(5, math.nan, 1.0), ["BLEU is not a number"]),
    ],
)
def test_limits(measured, faults):
    assert list(faults_of(measured)) == faults
