"""The search of a model on torch, with the tree of all hypotheses."""

from collections.abc import Callable, Sequence
from typing import Any

from jumok.data.tokenizer import END
from jumok.decoding.beam import BeamCandidate
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import decode_with
from jumok.decoding.stepper import Stepper
from jumok.inspection.findings import SearchTree
from jumok.inspection.search_tree import Map, SearchWatch
from jumok.shapes import Float, Tensor
from jumok.tracing.axes import Names
from jumok.tracing.request import TraceRequest

Looks = Callable[[Sequence[Sequence[int]]], Float[Tensor, "rows tokens keys"]]


def searched(
    stepper: Stepper[Any],
    length: int,
    names: Names,
    request: TraceRequest,
    looks: Looks | None = None,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best hypothesis for one source, and the tree of all of them.

    Args:
        length: of the source, in positions.
        request: how to search, the forced prefix, whether the tree is wanted, and what may cancel
            the search.
        looks: for the tokens of hypotheses, the attention weights of each token. Each leaf of the
            tree has these weights; the hypotheses before it are its first rows. None: leaves have
            none.

    Returns:
        The tokens; the tree, or None if it was not requested.
    """
    watched = SearchWatch()
    prefix, extras = request.prefix, request.extras

    def report(_: int, candidates: Sequence[BeamCandidate]) -> None:
        extras.check_cancelled()
        if extras.search_tree:
            watched(candidates)

    prefixes: Prefixes | None = [list(prefix)] if prefix else None
    (best, *_), *_ = decode_with(stepper, [length], request.options, prefixes, report=report)
    if not extras.search_tree:
        return list(best.tokens), None
    built = watched.built
    leaves = built.leaves()
    maps: list[Map | None] = [None] * len(leaves)
    if looks is not None and leaves:
        # The tree begins after the forced prefix.
        begun = len(prefix)
        paths = [
            [*prefix, *(token for token in built.path(leaf) if token != END)] for leaf in leaves
        ]
        weights = looks(paths).double().cpu().numpy()
        maps = [weights[row, begun : len(path)] for row, path in enumerate(paths)]
    return list(best.tokens), built.tree(names.pieces, maps)
