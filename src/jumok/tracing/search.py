"""The search of a decoder, with the tree of all hypotheses."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from jumok.data.tokenizer import END
from jumok.decoding import decode
from jumok.decoding.beam import Candidates
from jumok.decoding.limits import Prefixes
from jumok.inspection.search_tree import SearchTree
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
) -> tuple[list[int], dict[str, Any]]:
    """The tokens of the best hypothesis, and the tree of all of them.

    Args:
        asked: how to search, the forced prefix, whether the tree is wanted, and what may cancel the
            search.
        looks: for each row of a memory and its tokens, the attention weights of each token. Each
            leaf of the tree has these weights; the hypotheses before it are its first rows. None:
            leaves have none.

    Returns:
        The tokens; the tree, which is {"left_out": True} if it was not requested.
    """
    theatre = SearchTree()
    prefix, extras = asked.prefix, asked.extras

    def watch_step(candidates: Candidates) -> None:
        extras.check_cancelled()
        if extras.search_tree:
            theatre(candidates)

    prefixes: Prefixes | None = [list(prefix)] if prefix else None
    (best, *_), *_ = decode(decoder, memory, asked.options, prefixes, watch=watch_step)
    if not extras.search_tree:
        return list(best.tokens), {"left_out": True}
    leaves = theatre.leaves()
    shown: list[dict[str, Any]] = [{"node": leaf, "weights": []} for leaf in leaves]
    if looks is not None and leaves:
        # The tree begins after the forced prefix.
        begun = len(prefix)
        paths = [
            [*prefix, *(piece for piece in theatre.path(leaf) if piece != END)] for leaf in leaves
        ]
        rows = torch.zeros(len(paths), dtype=torch.long, device=memory.states.device)
        weights = looks(memory.select(rows), paths)
        for row, (leaf, path) in enumerate(zip(shown, paths, strict=True)):
            leaf["weights"] = weights[row, begun : len(path)].tolist()
    pieces = names.pieces([node.token for node in theatre.nodes])
    nodes = [fact | {"piece": piece} for fact, piece in zip(theatre.facts(), pieces, strict=True)]
    return list(best.tokens), {"nodes": nodes, "leaves": shown}
