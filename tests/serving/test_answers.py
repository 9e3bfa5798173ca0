"""What the page asks of the local server, also when it is no sensible question."""

import pytest

from jumok.errors import DataError, ModelError
from jumok.inspection.hooks.intervene import Change, RowEdit
from jumok.serving.answers import answers
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import NOTHING, Analyses, carry_on
from tests.inspection.traces import trace


def asked(question: dict[str, object]) -> list[tuple[Change, Analyses]]:
    """The changes and extras of all traces that a question needs."""
    wanted: list[tuple[Change, Analyses]] = []

    def traced(text, target=None, *, change, extras, prefix=(), segment=None):
        wanted.append((change, extras))
        return trace()

    found = answers(Comparison(traced))({"text": "a cat ran", **question}, carry_on)
    assert ("forced" in found) == (len(wanted) == 2)
    return wanted


def test_changes_are_asked_for_as_the_page_names_them():
    row = {"site": "cross.0", "head": 2, "query": 1, "weights": [0, 0.5]}
    question = {"off": {"cross.0": [1]}, "blank": [3], "row": row, "written": [5, 6]}
    change = Change({"cross.0": [1]}, (3,), (RowEdit("cross.0", 1, (0.0, 0.5), 2),))
    first, forced = asked(question)
    assert first[0] == forced[0] == change
    assert forced[1] == NOTHING
    ((every_head, _),) = asked({"row": row | {"head": None}})
    assert every_head.rows[0].head is None


@pytest.mark.parametrize(
    "question",
    [
        {"off": 3, "blank": "all", "row": "first", "written": [5]},
        {"off": None, "blank": [1, "2"], "row": {"site": 3}},
        {"row": {"site": "cross.0", "head": "1", "query": 0, "weights": [1]}},
        {"row": {"site": "cross.0", "head": 1, "query": None, "weights": [1]}},
        {"row": {"site": "cross.0", "head": 1, "query": 0, "weights": "1"}},
    ],
)
def test_what_is_no_change_is_left_out(question):
    ((change, _),) = asked(question)
    assert not change


@pytest.mark.parametrize("text", [None, 3, ["a"], {"a": 1}])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(DataError, match="the request has no text"):
        asked({"text": text})


def test_true_is_no_number_of_a_head_or_a_place():
    ((change, _),) = asked({"off": {"cross.0": [True]}, "blank": [False]})
    assert not change
    ((change, _),) = asked({"row": {"site": "a", "head": True, "query": 0, "weights": [1]}})
    assert not change


def test_a_weight_of_hundreds_of_digits_is_refused():
    row = {"site": "a", "head": 0, "query": 0, "weights": [10**401]}
    with pytest.raises(DataError, match="a weight is too large"):
        asked({"row": row})


def test_a_row_of_no_numbers_reaches_the_one_who_says_so():
    ((change, _),) = asked({"row": {"site": "a", "head": 0, "query": 0, "weights": ["x"]}})
    assert change.rows[0].weights == ()


@pytest.mark.parametrize("name", ["worth", "words", "tree"])
def test_only_what_a_view_needs_is_found_out(name):
    ((_, extras),) = asked({name: True})
    found = [extras.ablation, extras.attribution, extras.search_tree]
    assert found == [each == name for each in ("worth", "words", "tree")]


def test_a_word_that_is_not_there_is_said_by_the_model(tiny_bundle):
    from jumok.tracing.catalog import load_family

    family = load_family(tiny_bundle, device="cpu")
    with pytest.raises(ModelError, match="the input has no such position"):
        answers(Comparison(family.trace))({"text": "the cat sat", "blank": [99]}, carry_on)
