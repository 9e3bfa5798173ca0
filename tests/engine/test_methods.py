"""Searches over the engine's steps against torch's: the same models, the same hypotheses."""

from functools import cache

import numpy as np
import pytest
import torch

from jumok.data.pairs.batches import source_batch
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.native import decode_natively
from jumok.decoding.score import covering
from jumok.engine.structures import library
from jumok.errors import ConfigError, JumokError, ModelError
from tests.engine import test_recurrent, test_transformer
from tests.engine.test_transformer import sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

SOURCES = sources_of(4, 9, 1, 17, 6)
PREFIXES = [(7,), (), (9, 9, 30), (5, 6), (8,) * 6]
PHRASES = [
    [((11, 12),), ((30,),)],
    [],
    [((5, 6), (5, 7, 8)), ((6, 9),)],  # another spelling, and an overlap
    [((20, 21, 22),), ((22, 23),), ((20,),), ((20,),)],
    [((9,),)],
]
SEARCHES = {
    "n-best": {"beam": 4, "nbest": 4},
    "n-best, no patience": {"beam": 3, "nbest": 2, "patience": None, "length_penalty": 0.3},
    "impatient": {"beam": 5, "nbest": 3, "patience": 0.4, "length_rule": "power"},
    "at least": {"beam": 4, "nbest": 3, "minimum_length": 6, "maximum_length": 8},
    "short": {"beam": 3, "nbest": 3, "maximum_ratio": 0.4, "maximum_extra": 9},
    "no n-gram twice": {"beam": 4, "nbest": 2, "no_repeat_ngram": 2},
    "no token twice": {"beam": 2, "no_repeat_ngram": 1},
    "forbidden": {"beam": 3, "nbest": 3, "forbidden": (0, 2, *range(20, 139))},
    "short outputs": {"beam": 5, "nbest": 5, "length_penalty": -2.0},
}
COVERED = {
    "coverage": {"beam": 4, "nbest": 3, "coverage_penalty": 0.4, "length_penalty": 0.6},
    "coverage, greedy": {"beam": 1, "coverage_penalty": 2.0, "maximum_length": 6},
}
TEXTS = {
    "greedy": {"beam": 1, "no_repeat_ngram": 3},
    "greedy, penalized": {"beam": 1, "frequency_penalty": 0.7, "presence_penalty": -0.3},
    "greedy, at least": {"beam": 1, "minimum_length": 7, "presence_penalty": 1.9},
    "samples": {"sample": True, "nbest": 3, "seed": 7},
    "top k": {"sample": True, "top_k": 7, "temperature": 0.6, "seed": 2**63},
    "nucleus": {"sample": True, "top_p": 0.8, "nbest": 2, "temperature": 1.4},
    "min p": {"sample": True, "min_p": 0.1, "minimum_length": 5, "seed": 11},
    "samples, penalized": {
        "sample": True, "nbest": 2, "frequency_penalty": 1.5, "top_k": 20, "no_repeat_ngram": 2,
    },
}  # fmt: skip


@cache
def models(kind):
    if kind == "recurrent":
        config, model = test_recurrent.model_of()
        return model, test_recurrent.engine_of(config, model)
    config, model = test_transformer.model_of(positions="rotary", norm=kind)
    return model, test_transformer.engine_of(config, model)


def by_torch(model, sources, options, prefixes=None, constraints=None, same=None):
    batch = source_batch([source[:-1] for source in sources], list(range(len(sources))))
    memory = model.encode(batch.tokens, batch.allowed)
    cover = covering([model], [memory]) if options.coverage_penalty else None
    return decode(model.decoder, memory, options, prefixes, constraints, same, cover)


def agree(kind, keys, **given):
    """Both engines find the same; returns what they find."""
    model, engine = models(kind)
    options = DecodingOptions(**({"maximum_ratio": 1.5} | keys))
    expected = by_torch(model, SOURCES, options, **given)
    found = decode_natively([engine], SOURCES, options, **given)
    for ours, theirs in zip(found, expected, strict=True):
        assert [each.tokens for each in ours] == [each.tokens for each in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.finished == other.finished
            assert one.score == pytest.approx(other.score, rel=1e-5, abs=1e-4)
            np.testing.assert_allclose(
                one.token_log_probabilities, other.token_log_probabilities, atol=1e-4
            )
    return found


@pytest.mark.parametrize(
    "keys", (SEARCHES | COVERED | TEXTS).values(), ids=SEARCHES | COVERED | TEXTS
)
@pytest.mark.parametrize("kind", ["pre", "recurrent"])
def test_the_hypotheses_are_those_of_torch(kind, keys):
    agree(kind, keys)


@pytest.mark.parametrize("keys", (SEARCHES | TEXTS).values(), ids=SEARCHES | TEXTS)
@pytest.mark.parametrize("kind", ["post", "recurrent"])
def test_forced_beginnings_are_those_of_torch(kind, keys):
    found = agree(kind, keys, prefixes=PREFIXES)
    for hypotheses, prefix in zip(found, PREFIXES, strict=True):
        assert all(each.tokens[: len(prefix)] == prefix for each in hypotheses)


@pytest.mark.parametrize("keys", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize(
    ("kind", "prefixes"), [("pre", None), ("recurrent", PREFIXES)], ids=["free", "forced"]
)
def test_constrained_searches_are_those_of_torch(kind, keys, prefixes):
    if "forbidden" in keys:
        keys = keys | {"forbidden": (0, 2, *range(40, 139))}
    if keys.get("maximum_length") == 8:
        keys = keys | {"maximum_length": 12}
    agree(kind, keys, constraints=PHRASES, prefixes=prefixes)


@pytest.mark.parametrize("kind", ["post", "recurrent"])
def test_constrained_searches_with_a_coverage_penalty_are_those_of_torch(kind):
    agree(kind, COVERED["coverage"], constraints=PHRASES, prefixes=PREFIXES)


def test_a_coverage_penalty_needs_attention():
    engine = test_recurrent.engine_of(*test_recurrent.model_of(attention="none"))
    with pytest.raises(ConfigError, match="needs the model's attention weights"):
        decode_natively([engine], SOURCES, DecodingOptions(beam=2, coverage_penalty=1.0))


def test_hypotheses_that_count_as_one_are_those_of_torch():
    found = agree("pre", {"beam": 5, "nbest": 3}, same=len)
    assert all(len({len(each.tokens) for each in one}) == len(one) for one in found)


@pytest.mark.parametrize(
    ("keys", "given"),
    [
        ({"beam": 3, "nbest": 2}, {}),
        ({"beam": 3}, {"prefixes": PREFIXES}),
        ({"beam": 3}, {"constraints": PHRASES}),
        ({"beam": 1, "no_repeat_ngram": 2}, {}),
        ({"sample": True, "top_k": 5}, {}),
    ],
    ids=str,
)
def test_a_model_of_nan_is_told_as_on_torch(keys, given):
    config, model = test_transformer.model_of()
    with torch.no_grad():
        model.decoder.blocks[0].feedforward.outer.bias.fill_(torch.nan)
    engine = test_transformer.engine_of(config, model)
    options = DecodingOptions(maximum_length=12, **keys)
    with pytest.raises(ModelError) as theirs:
        by_torch(model, SOURCES, options, **given)
    with pytest.raises(ModelError) as ours:
        decode_natively([engine], SOURCES, options, **given)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("kind", ["fp32", "int8"])
def test_a_sentence_is_searched_as_if_it_were_alone(kind):
    engine = test_transformer.engine_of(*test_transformer.model_of(), kind)
    options = DecodingOptions(beam=4, nbest=2, maximum_ratio=1.5)
    together = decode_natively([engine], SOURCES, options, PREFIXES, PHRASES)
    for row, found in enumerate(together):
        part = slice(row, row + 1)
        alone = decode_natively([engine], SOURCES[part], options, PREFIXES[part], PHRASES[part])
        assert alone == [found]


WRONG = [
    ({"prefixes": [()] * 4}, {}),
    ({"prefixes": [(7,) * 40, *[()] * 4]}, {}),
    ({"prefixes": [*[()] * 3, (139,), ()]}, {}),
    ({"prefixes": [*[()] * 3, (3,), ()]}, {"sample": True}),
    ({"constraints": [[((9,),)]]}, {}),
    ({"constraints": [[((9,) * 40,)], *[[]] * 4]}, {}),
    ({"constraints": [[((2,),)], *[[]] * 4]}, {}),
    ({"constraints": [[((),)], *[[]] * 4]}, {}),
    ({"constraints": PHRASES}, {"sample": True}),
    ({"constraints": PHRASES}, {"beam": 1, "presence_penalty": 1.0}),
    ({"prefixes": [(7, 8, 10), *[()] * 4], "constraints": [[((9,) * 15,)], *[[]] * 4]}, {}),
]


@pytest.mark.parametrize(("given", "keys"), WRONG, ids=str)
def test_what_is_wrong_is_told_as_on_torch(given, keys):
    model, engine = models("pre")
    options = DecodingOptions(**({"maximum_ratio": 1.5} | keys))
    with pytest.raises(JumokError) as theirs:
        by_torch(model, SOURCES, options, **given)
    with pytest.raises(JumokError) as ours:
        decode_natively([engine], SOURCES, options, **given)
    assert str(ours.value) == str(theirs.value)
    assert type(ours.value) is type(theirs.value)
