"""The search tree of a beam search: every hypothesis considered, the discarded ones included.

A hypothesis is a node and its ancestors: parents are kept, not copies of the whole text.
"""

from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Literal

from jumok.decoding.beam import Candidates

Fate = Literal["kept", "finished", "lost"]


@dataclass(frozen=True)
class Node:
    """One token that was considered.

    Attributes:
        parent: the node before it; -1 at the first token.
        log_probability: that of the token (natural). total: that of the hypothesis up to it.
        fate: stayed in the beam, ended with END, or neither.
    """

    parent: int
    token: int
    log_probability: float
    total: float
    fate: Fate


class SearchTree:
    """Records the search for the first sentence of a batch (event `decoding.beam.CANDIDATES`)."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
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
            if kept[place]:
                beam.append(len(self.nodes))
            self.nodes.append(Node(self._beam[parent], token, value, total, fate))
        self._beam = beam

    def path(self, node: int) -> list[int]:
        """The tokens from the first to this node's."""
        tokens = []
        while node >= 0:
            tokens.append(self.nodes[node].token)
            node = self.nodes[node].parent
        return tokens[::-1]

    def leaves(self) -> list[int]:
        """The nodes that were in the beam, or ended, and have no child that was or did."""
        alive = [index for index, node in enumerate(self.nodes) if node.fate != "lost"]
        parents = {self.nodes[index].parent for index in alive}
        return [index for index in alive if index not in parents]

    def facts(self) -> list[dict[str, Any]]:
        """The nodes as plain JSON."""
        return [asdict(node) for node in self.nodes]
