"""The search tree of a beam search: every hypothesis considered, the discarded ones included.

A hypothesis is a node and its ancestors: parents are kept, not copies of the whole text.
"""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from jumok.decoding.beam import Candidates
from jumok.inspection.findings import Fate, SearchLeaf, SearchNode, SearchTree

Map = npt.NDArray[np.float64]


class SearchTreeBuilder:
    """Builds the tree of one search, node by node; a parent comes before its children."""

    def __init__(self) -> None:
        self._parents: list[int] = []
        self._tokens: list[int] = []
        self._values: list[float] = []
        self._totals: list[float] = []
        self._fates: list[Fate] = []

    def __len__(self) -> int:
        return len(self._tokens)

    def add(
        self, parent: int, token: int, value: float, fate: Fate, total: float | None = None
    ) -> int:
        """Adds a token; returns the number of its node.

        Args:
            parent: the number of the node before it; -1: it is the first.
            value: its log-probability.
            total: that of the hypothesis up to it; None: the sum over the tree's nodes.
        """
        before = self._totals[parent] if parent >= 0 else 0.0
        self._parents.append(parent)
        self._tokens.append(token)
        self._values.append(value)
        self._totals.append(before + value if total is None else total)
        self._fates.append(fate)
        return len(self._tokens) - 1

    def path(self, node: int) -> list[int]:
        """The tokens from the first to this node's."""
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
        self, pieces: Callable[[Sequence[int]], Sequence[str]], maps: Sequence[Map | None]
    ) -> SearchTree:
        """The finished tree.

        Args:
            pieces: names tokens.
            maps: for each leaf, in the order of `leaves`, the attention of its tokens.
        """
        rows = zip(self._parents, self._tokens, pieces(self._tokens), self._values, self._totals,
                   self._fates, strict=True)  # fmt: skip
        leaves = zip(self.leaves(), maps, strict=True)
        return SearchTree(
            tuple(SearchNode(*row) for row in rows), tuple(SearchLeaf(*leaf) for leaf in leaves)
        )


class SearchWatch:
    """Records the search for the first sentence of a batch (event `decoding.beam.CANDIDATES`)."""

    def __init__(self) -> None:
        self.built = SearchTreeBuilder()
        self._beam = [-1]

    def __call__(self, candidates: Candidates) -> None:
        """Adds the candidates of one step."""
        row = candidates.sentences.tolist().index(0)
        kept, finished = candidates.kept[row].tolist(), candidates.finished[row].tolist()
        beam = []
        for place, (parent, token, value, total) in enumerate(
            zip(
                candidates.parents[row].tolist(),
                candidates.tokens[row].tolist(),
                candidates.log_probabilities[row].tolist(),
                candidates.totals[row].tolist(),
                strict=True,
            )
        ):
            if total == -inf:
                continue
            fate: Fate = "kept" if kept[place] else "finished" if finished[place] else "lost"
            node = self.built.add(self._beam[parent], token, value, fate, total)
            if kept[place]:
                beam.append(node)
        self._beam = beam
