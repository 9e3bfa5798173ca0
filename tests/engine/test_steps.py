"""Single steps of a model: what they give is what the model makes of the whole hypotheses."""

from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.engine.forced import Keeping
from jumok.engine.request import Request
from jumok.engine.steps import StepRow, read_rows
from jumok.engine.structures import library
from jumok.errors import ModelError
from tests.engine.test_running import recurrent, transformer
from tests.engine.test_transformer import rules_of, sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

BEAM, LENGTH = 3, 12
OPTIONS = DecodingOptions(beam=BEAM, maximum_length=LENGTH)
ENDS = (START, 2)


@contextmanager
def begun(model, *all_sources):
    """A session, and a request for each of these batches of sources."""
    with ExitStack() as open_:
        session = open_.enter_context(model._session())
        requests = []
        for sources in all_sources:
            request = Request(sources, rules_of(OPTIONS, sources), Keeping((), 1))
            open_.enter_context(request.read_by(session))
            requests.append(request)
        yield session, requests


class Grown:
    """Hypotheses of one sentence that branch at random, always one in each slot."""

    def __init__(self, request, sentence, seed):
        self.request, self.sentence = request, sentence
        self.draw = np.random.default_rng(seed)
        self.tokens = [[START]]
        self.ancestors = [[]]

    def rows(self):
        return [
            StepRow(
                self.request, self.sentence, tokens[-1], len(tokens) - 1, slot,
                np.array(slots, np.int32),
            )
            for slot, (tokens, slots) in enumerate(zip(self.tokens, self.ancestors, strict=True))
        ]  # fmt: skip

    def grow(self, vocabulary):
        parents = self.draw.integers(0, len(self.tokens), BEAM)
        new = self.draw.integers(4, vocabulary, BEAM)
        self.tokens, self.ancestors = (
            [[*self.tokens[p], int(t)] for p, t in zip(parents, new, strict=True)],
            [[*self.ancestors[p], int(p)] for p in parents],
        )


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("make", [transformer, recurrent])
def test_the_steps_of_branching_hypotheses_score_them_as_one_pass_does(make, kind):
    model = make(kind)
    sources = sources_of(9, 4, 17)
    given = []
    with begun(model, sources) as (session, (request,)):
        grown = [Grown(request, sentence, sentence) for sentence in range(len(sources))]
        for _ in range(LENGTH):
            rows = [row for each in grown for row in each.rows()]
            given.append(read_rows(session, rows, model.vocabulary))
            for each in grown:
                each.grow(model.vocabulary)
    np.testing.assert_allclose(np.exp(np.concatenate(given)).sum(1), 1.0, atol=1e-4)
    for sentence, each in enumerate(grown):
        for tokens, slots in zip(each.tokens, each.ancestors, strict=True):
            places = [sentence * (1 if not place else BEAM) + s for place, s in enumerate(slots)]
            found = [
                values[place, token]
                for values, place, token in zip(given, places, tokens[1:], strict=True)
            ]
            (forced,) = model.force([sources[sentence]], [tokens[1:]], ENDS)
            np.testing.assert_allclose(found, forced.log_probabilities[:-1], atol=2e-5)


@pytest.mark.parametrize("make", [transformer, recurrent])
def test_what_shares_a_step_changes_no_bit(make):
    model = make("int8")
    first, second = sources_of(6, 11), sources_of(14)
    with begun(model, first, second) as (session, (one, other)):
        hypotheses = [Grown(one, 1, 5), Grown(other, 0, 6)]
        for _ in range(4):
            rows = [each.rows() for each in hypotheses]
            alone = [read_rows(session, each, model.vocabulary) for each in rows]
            together = read_rows(session, [*rows[0], *rows[1]], model.vocabulary)
            assert np.concatenate(alone).tobytes() == together.tobytes()
            for each in hypotheses:
                each.grow(model.vocabulary)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"token": 139}, "the engine has no such token"),
        ({"sentence": 1}, "no such sentence"),
        ({"place": LENGTH + 1}, "no such place"),
        ({"slot": BEAM}, "no such slot"),
        ({"place": 2, "ancestors": np.array([0])}, "2 numbers from 0 to 2"),
        ({"place": 2, "ancestors": np.array([0, 3])}, "2 numbers from 0 to 2"),
    ],
)
def test_a_row_outside_of_the_request_is_refused(wrong, text):
    model = transformer("fp32")
    row = {"sentence": 0, "token": 5, "place": 0, "slot": 0, "ancestors": None} | wrong
    with (
        begun(model, sources_of(5)) as (session, (request,)),
        pytest.raises(ModelError, match=text),
    ):
        read_rows(session, [StepRow(request, **row)], model.vocabulary)
