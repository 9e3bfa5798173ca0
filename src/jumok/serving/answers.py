"""Answers to the live page: JSON requests, JSON traces."""

from collections.abc import Callable, Mapping
from typing import TypeGuard

from jumok.errors import DataError, JumokError, Location
from jumok.inspection.hooks.intervene import Change, RowEdit
from jumok.inspection.page.document import payload
from jumok.inspection.page.packing import WalkFocus
from jumok.serving.local import Answer
from jumok.serving.pictures import ServedPictures
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import NOTHING, Analyses


def answers(sides: Comparison, pictures: ServedPictures | None = None) -> Answer:
    """The function that answers the page's requests, with the model as it is or changed.

    Args:
        pictures: the images of a model that reads images; None: the page sends texts.
    """

    def answer(asked: Mapping[str, object], check: Callable[[], None]) -> dict[str, object]:
        given = None if pictures is None else pictures.chosen(asked.get("picture"))
        text, change = given or _text_field(asked.get("text")), _change(asked)
        worth, words, tree = (bool(asked.get(name)) for name in ("worth", "words", "tree"))
        walk = _focus(asked.get("walk"))
        analyses = Analyses(worth, words, tree, bool(asked.get("layers")), check, walk is not None)
        prefix = _tokens_of(asked.get("prefix"))
        segment = asked.get("segment")
        both = bool(asked.get("both"))
        against = str(asked.get("against") or "") if both or analyses.layers else ""
        try:
            trace, other = sides.look(
                text,
                against,
                change=change,
                prefix=prefix,
                extras=analyses,
                alone=not both,
                segment=segment if _is_natural(segment) else None,
            )
        except JumokError as error:
            if pictures is not None and error.place is not None:
                error.place = Location(pictures.name_of(error.place.file))
            raise
        document = payload(trace, walk) | ({"other": payload(other)} if other is not None else {})
        written = _tokens_of(asked.get("written"))
        if change and written:
            # The log-probability of each token of the old output under the changed model.
            forced = sides.traced(
                text, written, change=change, extras=NOTHING, segment=trace.segment
            )
            document["forced"] = [step.log_probability for step in forced.steps]
        return document

    return answer


def _text_field(asked: object) -> str:
    if not isinstance(asked, str):
        raise DataError("the request has no text.", expected='{"text": "..."}', got=repr(asked))
    return asked


def _focus(asked: object) -> WalkFocus | None:
    if not isinstance(asked, dict):
        return None
    site, query = asked.get("site"), asked.get("query")
    return WalkFocus(site, query) if isinstance(site, str) and _is_natural(query) else None


def _is_natural(number: object) -> TypeGuard[int]:
    """Whether it is an integer; true and false are not."""
    return isinstance(number, int) and not isinstance(number, bool)


def _change(asked: Mapping[str, object]) -> Change:
    """Invalid parts are ignored."""
    row = asked.get("row")
    rows = []
    if isinstance(row, dict) and isinstance(row.get("site"), str):
        query, head, weights = (row.get(name) for name in ("query", "head", "weights"))
        if _is_natural(query) and (head is None or _is_natural(head)) and isinstance(weights, list):
            rows.append(RowEdit(row["site"], query, tuple(_row_weights(weights)), head))
    return Change(
        _ablated_heads(asked.get("off")), tuple(_tokens_of(asked.get("blank"))), tuple(rows)
    )


def _row_weights(asked: list[object]) -> list[float]:
    try:
        return [float(each) for each in asked if isinstance(each, int | float)]
    except OverflowError as error:
        raise DataError("a weight is too large.", do="give shares that sum to 1") from error


def _tokens_of(asked: object) -> list[int]:
    """The tokens or positions; empty where this is no list of integers."""
    if isinstance(asked, list) and all(map(_is_natural, asked)):
        return asked
    return []


def _ablated_heads(asked: object) -> dict[str, list[int]]:
    """By site; invalid entries are ignored."""
    if not isinstance(asked, dict):
        return {}
    return {
        str(site): [head for head in heads if _is_natural(head)]
        for site, heads in asked.items()
        if isinstance(heads, list)
    }
