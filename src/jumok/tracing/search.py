"""The search of a decoder, with the tree of all hypotheses."""

from collections.abc import Callable, Sequence

import torch

from jumok.attention.heard import Ear, listening_to
from jumok.data.tokenizer import END
from jumok.decoding import decode
from jumok.decoding.beam import CANDIDATES, Candidates
from jumok.decoding.limits import Prefixes
from jumok.inspection.findings import SearchTree
from jumok.inspection.search_tree import Map, SearchWatch
from jumok.models.memory import Decoder, Memory, State
from jumok.shapes import Float, Tensor
from jumok.tracing.axes import Names
from jumok.tracing.request import TraceRequest

Looks = Callable[[Memory, Sequence[Sequence[int]]], Float[Tensor, "rows tokens keys"]]


def searched(
    decoder: Decoder[State],
    memory: Memory,
    names: Names,
    asked: TraceRequest,
    looks: Looks | None = None,
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best hypothesis, and the tree of all of them.

    Args:
        asked: how to search, the forced prefix, whether the tree is wanted, and what may cancel the
            search.
        looks: for each row of a memory and its tokens, the attention weights of each token. Each
            leaf of the tree has these weights; the hypotheses before it are its first rows. None:
            leaves have none.

    Returns:
        The tokens; the tree, or None if it was not requested.
    """
    watched = SearchWatch()
    prefix, extras = asked.prefix, asked.extras

    def hear_step(candidates: Candidates) -> None:
        extras.check_cancelled()
        if extras.search_tree:
            watched(candidates)

    prefixes: Prefixes | None = [list(prefix)] if prefix else None
    with listening_to(decoder, {CANDIDATES: Ear(hear_step)}):
        (best, *_), *_ = decode(decoder, memory, asked.options, prefixes)
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
        rows = torch.zeros(len(paths), dtype=torch.long, device=memory.states.device)
        weights = looks(memory.select(rows), paths).double().cpu().numpy()
        maps = [weights[row, begun : len(path)] for row, path in enumerate(paths)]
    return list(best.tokens), built.tree(names.pieces, maps)
