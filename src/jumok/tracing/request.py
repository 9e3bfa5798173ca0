"""A request for a trace, the analyses that it wants besides, and the checks of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import START, Tokenizer
from jumok.decoding import DecodingOptions
from jumok.errors import DataError, ModelError
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level
from jumok.kinds import KINDS
from jumok.systems.base import System

TRACE_LEVEL: Level = "qk"


def carry_on() -> None:
    """Does nothing: the work is not cancelled."""


@dataclass(frozen=True)
class Analyses:
    """The analyses besides the attention weights, each in passes of its own.

    Attributes:
        ablation: the effect of ablating every head: one pass for each.
        attribution: attribution to input words (`jumok.inspection.attribution`), if words are read
            and written.
        search_tree: the search with all hypotheses, and the attention weights of each.
        layers: the prediction after each layer, how far words have moved, and how the model encodes
            positions.
        walk: the vectors around the attention modules, for the page.
        check_cancelled: called at every step of a search, and before words are occluded; an
            exception aborts the work.
    """

    ablation: bool = True
    attribution: bool = True
    search_tree: bool = True
    layers: bool = True
    check_cancelled: Callable[[], None] = carry_on
    walk: bool = True


EVERYTHING = Analyses()
NOTHING = Analyses(ablation=False, attribution=False, search_tree=False, layers=False, walk=False)


@dataclass(frozen=True)
class TraceRequest:
    """A request for the trace of one text or image: the arguments of `jumok.trace`.

    Attributes:
        segment: which of a translator's segments of the text is traced, from 0 (`Trace.segment`);
            None: the first one that is read, and for a target the whole text.
    """

    options: DecodingOptions
    target: str | Sequence[int] | None = None
    level: Level = TRACE_LEVEL
    change: Change = UNCHANGED
    prefix: Sequence[int] = ()
    extras: Analyses = EVERYTHING
    name: str = "model"
    segment: int | None = None


def without_attention(model: object) -> ModelError:
    """The error for a model without attention, of which nothing can be traced."""
    key = KINDS[model.task].attention if isinstance(model, System) else None
    return ModelError(
        "this model has no attention that could be shown.",
        do="train a model with attention"
        + (f": jumok train ... --set {key}" if key else ", as those of the lectures (jumok lab)"),
    )


def check_length(text: str, ids: Sequence[int], limit: int, what: str = "one sentence") -> None:
    """Raises a DataError if there is nothing to trace, or too much at once."""
    if not ids or len(ids) > limit:
        raise DataError(
            "this text cannot be traced in one pass.",
            expected=f"at least one word and at most {limit} tokens",
            got=f"{len(ids)} tokens: {text[:60]!r}",
            do=f"give {what}",
            known=("faultLong", len(ids), limit) if ids else ("faultEmpty",),
        )


def given_tokens(
    target: str | Sequence[int],
    tokenizer: Tokenizer | TextTokenizer,
    limit: int,
    what: str = "one sentence",
) -> list[int]:
    """The tokens of a target that was given.

    Raises:
        DataError: there is no token, there are more than `limit`, or the tokenizer lacks one.
    """
    pieces = tokenizer.encode(target) if isinstance(target, str) else list(target)
    check_length(str(target), pieces, limit, what)
    check_tokens(pieces, tokenizer.size)
    return pieces


def check_tokens(ids: Sequence[int], size: int) -> None:
    """Raises a DataError for a token that the tokenizer does not have, or that opens a text."""
    if not all(0 <= piece < size and piece != START for piece in ids):
        raise DataError(
            "the tokenizer has no such token.", expected=f"0 to {size - 1}", got=f"{ids}"
        )
