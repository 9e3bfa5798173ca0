"""The axes and the steps of a trace: tokens with their words, and what was chosen where."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from jumok.inspection.trace import BEST, Axis, Step
from jumok.shapes import Float, Tensor

LogProbabilities = Float[Tensor, "positions choices"]


@runtime_checkable  # the tests check annotations while they run
class Names(Protocol):
    """The names that a tokenizer has for its ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id by its name."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        ...


def text_axis(
    names: Names, ids: Sequence[int], before: Sequence[int] = (), after: Sequence[int] = ()
) -> Axis:
    """The tokens with their words; START and END belong to none."""
    words = names.words(ids)
    groups: dict[int, list[int]] = {}
    for word, piece in zip(words, ids, strict=True):
        groups.setdefault(word, []).append(piece)
    return Axis(
        tokens=tuple(names.pieces([*before, *ids, *after])),
        words=(*(None for _ in before), *words, *(None for _ in after)),
        texts=tuple(names.decode(group).strip() or "⏎" for group in groups.values()),
    )


def steps_of(
    pieces: Callable[[Sequence[int]], Sequence[str]],
    written: Sequence[int],
    log_probabilities: LogProbabilities,
    gates: Sequence[float] | None = None,
) -> tuple[Step, ...]:
    """What was chosen at each position, and the alternatives.

    Args:
        gates: the gate of the context vector at each; None: the model has no such gate.
    """
    values, places = log_probabilities.topk(min(BEST, log_probabilities.shape[1]), dim=1)
    steps = []
    for row, token in enumerate(written):
        best = pieces(places[row].tolist())
        steps.append(
            Step(
                pieces([token])[0],
                float(log_probabilities[row, token]),
                tuple(zip(best, values[row].tolist(), strict=True)),
                None if gates is None else gates[row],
            )
        )
    return tuple(steps)
