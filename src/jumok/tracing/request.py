"""A request for a trace, and the analyses that it wants besides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jumok.decoding import DecodingOptions
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level
from jumok.systems.translation.on_engine import EngineSearcher

LEVEL: Level = "qk"


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
        check_cancelled: called at every step of a search, and before words are occluded; an
            exception aborts the work.
    """

    ablation: bool = True
    attribution: bool = True
    search_tree: bool = True
    layers: bool = True
    check_cancelled: Callable[[], None] = carry_on
    walk: bool = True


EVERYTHING, NOTHING = (
    Analyses(),
    Analyses(ablation=False, attribution=False, search_tree=False, layers=False, walk=False),
)


@dataclass(frozen=True)
class TraceRequest:
    """A request for the trace of one text or image: the arguments of `jumok.trace`.

    Attributes:
        searcher: the same translator on the native engine (`load_searcher`). It searches for the
            output where nothing is changed and no tree of hypotheses is wanted, several times as
            fast as the models on torch; None: they search.
    """

    options: DecodingOptions
    target: str | Sequence[int] | None = None
    level: Level = LEVEL
    change: Change = UNCHANGED
    prefix: Sequence[int] = ()
    extras: Analyses = EVERYTHING
    name: str = "model"
    searcher: EngineSearcher | None = None
