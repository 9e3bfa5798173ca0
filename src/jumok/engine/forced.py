"""Given targets: the log-probabilities of their tokens, and the attention of any layer and head."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.engine.structures import WatchedLayout
from jumok.errors import ModelError

ForcedWeights = npt.NDArray[np.float32]
"""(heads queries keys), each row of which sums to 1"""

WATCHED = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class WatchedAttention:
    """An attention whose weights are asked for.

    Attributes:
        part: the encoder's or the decoder's attention to its own positions, or that of the
            decoder to the source.
        layer: from 0.
        heads: from 0, in the order in which their weights are wanted; None: all.
    """

    part: Literal["encoder", "decoder", "cross"]
    layer: int
    heads: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Forced:
    """What the model made of a given target.

    Attributes:
        log_probabilities: of each token, END's last; empty if they were not asked for.
        attention: the weights of each `WatchedAttention`, in their order. The decoder's queries
            are START and the target's tokens, so that row i of "cross" is the one that led to
            token i, END last; its keys are these, or the source's tokens, END included.
    """

    log_probabilities: tuple[float, ...]
    attention: tuple[ForcedWeights, ...]


@dataclass(frozen=True)
class Depth:
    """How many layers of each kind of attention a model has, and how many heads.

    Attributes:
        recurrent: whether the decoder reads its past by a recurrence, which has no weights here.
    """

    encoder: int
    decoder: int
    cross: int
    heads: int
    recurrent: bool = False

    def check(self, watched: Sequence[WatchedAttention]) -> None:
        """Everything that is asked for must be there, and once.

        Raises:
            ModelError: an unknown part, layer or head, or one that is asked for twice.
        """
        own = 0 if self.recurrent else self.decoder
        layers = {"encoder": self.encoder, "decoder": own, "cross": self.cross}
        for each in watched:
            if not 0 <= each.layer < layers.get(each.part, 0):
                there = (f"{part} with a layer below {count}" for part, count in layers.items())
                raise ModelError(
                    "there is no such attention.",
                    expected=", ".join(there),
                    got=f"{each.part}, layer {each.layer}",
                )
            heads = each.heads or range(self.heads)
            if each.heads == () or min(heads) < 0 or max(heads) >= self.heads:
                raise ModelError(
                    "there is no such head.",
                    expected=f"one or more from 0 to {self.heads - 1}",
                    got=str(each.heads),
                )
            if len(set(heads)) < len(heads):
                raise ModelError("a head is asked for twice.", got=str(each.heads))
        if len({(each.part, each.layer) for each in watched}) < len(watched):
            raise ModelError("an attention is asked for twice.", do="ask for all its heads at once")


def with_end(weights: ForcedWeights, part: str, source: int) -> ForcedWeights:
    """Filled up with zeros to the tokens of a source whose END was not read."""
    queries, keys = (source - size for size in weights.shape[1:])
    return np.pad(weights, ((0, 0), (0, queries if part == "encoder" else 0), (0, keys)))


class Keeping:
    """The room for the weights of each `WatchedAttention`, while a session writes them.

    Args:
        heads: those of every attention of the model.
    """

    def __init__(self, watched: Sequence[WatchedAttention], heads: int) -> None:
        self.watched = watched
        self._chosen = [each.heads or tuple(range(heads)) for each in watched]
        self._ranks = [np.full(heads, -1, np.int32) for _ in watched]
        for ranks, chosen in zip(self._ranks, self._chosen, strict=True):
            ranks[list(chosen)] = range(len(chosen))
        self._room: list[ForcedWeights] = [np.empty(0, np.float32) for _ in watched]
        self.layout = (WatchedLayout * max(1, len(watched)))(
            *(
                WatchedLayout(WATCHED.index(each.part), each.layer, len(chosen), ranks.ctypes.data)
                for each, chosen, ranks in zip(watched, self._chosen, self._ranks, strict=True)
            )
        )

    def make_room(self, parts: Sequence[str], sizes: Sequence[tuple[int, int]]) -> None:
        """Before the weights of these parts are written: for each sentence (source, target)."""
        for i, each in enumerate(self.watched):
            if each.part in parts:
                of_head = sum(queries * keys for queries, keys in self._shapes(each, sizes))
                self._room[i] = np.zeros(len(self._chosen[i]) * of_head, np.float32)
                self.layout[i].weights = self._room[i].ctypes.data

    def taken(self, sizes: Sequence[tuple[int, int]]) -> list[tuple[ForcedWeights, ...]]:
        """What was written, for each sentence."""
        of_each = []
        for each, chosen, room in zip(self.watched, self._chosen, self._room, strict=True):
            shapes = [(len(chosen), *shape) for shape in self._shapes(each, sizes)]
            ends = np.cumsum([heads * queries * keys for heads, queries, keys in shapes])
            parts = np.split(room, ends[:-1])
            of_each.append([part.reshape(s) for part, s in zip(parts, shapes, strict=True)])
        return [tuple(weights[row] for weights in of_each) for row in range(len(sizes))]

    @staticmethod
    def _shapes(each: WatchedAttention, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        if each.part == "encoder":
            return [(source, source) for source, _ in sizes]
        return [(target, source if each.part == "cross" else target) for source, target in sizes]
