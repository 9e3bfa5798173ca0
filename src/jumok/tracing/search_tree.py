"""The search tree of a beam search: every hypothesis considered, the discarded ones included.

A hypothesis is a node and its ancestors: parents are kept, not copies of the whole text.
"""

from collections.abc import Callable, Sequence

import numpy as np

from jumok.alignment.words import Weights
from jumok.data.tokenizer import END
from jumok.decoding import Hypothesis
from jumok.decoding.beam import BeamCandidate
from jumok.inspection.findings import Fate, Numbers, SearchLeaf, SearchNode, SearchTree
from jumok.tracing.adapters import Names
from jumok.tracing.request import TraceRequest

Search = Callable[..., Sequence[Sequence[Hypothesis]]]
"""(options, prefixes, report=) -> the hypotheses for one source: see `decode_with`."""

AttentionOf = Callable[[Sequence[Sequence[int]]], Sequence[Weights]]
"""From the tokens of hypotheses to the attention weights of each token."""


class SearchTreeBuilder:
    """Builds the tree of one search, node by node; a parent comes before its children."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._tokens: list[int] = []
        self._values: list[float] = []
        self._totals: list[float] = []
        self._fates: list[Fate] = []
        self._beam = [-1]

    def add(
        self, parent: int, token: int, value: float, fate: Fate, total: float | None = None
    ) -> int:
        """Adds a token, and its hypothesis's total (None: the sum so far); returns its node."""
        before = self._totals[parent] if parent >= 0 else 0.0
        self._parents.append(parent)
        self._tokens.append(token)
        self._values.append(value)
        self._totals.append(before + value if total is None else total)
        self._fates.append(fate)
        return len(self._tokens) - 1

    def add_step(self, candidates: Sequence[BeamCandidate]) -> None:
        """Adds the candidates of one step of the search for one sentence."""
        beam = []
        for candidate in candidates:
            fate: Fate = "kept" if candidate.kept else "finished" if candidate.finished else "lost"
            one = candidate.extended
            node = self.add(self._beam[one.parent], one.token, one.value, fate, one.total)
            if candidate.kept:
                beam.append(node)
        self._beam = beam

    def path(self, node: int) -> list[int]:
        tokens = []
        while node >= 0:
            tokens.append(self._tokens[node])
            node = self._parents[node]
        return tokens[::-1]

    def leaves(self) -> list[int]:
        """The nodes that were in the beam, or ended, and have no child that was or did."""
        alive = [node for node, fate in enumerate(self._fates) if fate != "lost"]
        parents = {self._parents[node] for node in alive}
        return [node for node in alive if node not in parents]

    def tree(
        self, pieces: Callable[[Sequence[int]], Sequence[str]], maps: Sequence[Numbers | None]
    ) -> SearchTree:
        """The finished tree."""
        rows = zip(self._parents, self._tokens, pieces(self._tokens), self._values, self._totals,
                   self._fates, strict=True)  # fmt: skip
        leaves = zip(self.leaves(), maps, strict=True)
        return SearchTree(
            tuple(SearchNode(*row) for row in rows), tuple(SearchLeaf(*leaf) for leaf in leaves)
        )


def search_with_tree(
    search: Search, names: Names, request: TraceRequest, attention: AttentionOf | None = None
) -> tuple[list[int], SearchTree | None]:
    """The tokens of the best hypothesis for one source, and the tree of all of them.

    Args:
        attention: each leaf of the tree has these weights; the hypotheses before it are its first
            rows. None: leaves have none.
    """
    builder = SearchTreeBuilder()
    prefix, extras = list(request.prefix), request.extras

    def report(_: int, candidates: Sequence[BeamCandidate]) -> None:
        extras.check_cancelled()
        if extras.search_tree:
            builder.add_step(candidates)

    (best, *_), *_ = search(request.options, [prefix] if prefix else None, report=report)
    if not extras.search_tree:
        return list(best.tokens), None
    leaves = builder.leaves()
    maps: list[Numbers | None] = [None] * len(leaves)
    if attention is not None and leaves:
        # The tree begins after the forced prefix.
        paths = [
            [*prefix, *(token for token in builder.path(leaf) if token != END)] for leaf in leaves
        ]
        weights = attention(paths)
        maps = [
            of_path[len(prefix) : len(path)].astype(np.float64)
            for of_path, path in zip(weights, paths, strict=True)
        ]
    return list(best.tokens), builder.tree(names.pieces, maps)
