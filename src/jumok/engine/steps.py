"""Single steps of a model on the engine: the log-probabilities of what may come next.

Searches that need more of a step than its best tokens are written in Python over these steps. The
rows of a step may belong to any requests that were read with the same model.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jumok.engine.packing import Array
from jumok.engine.request import Request
from jumok.engine.structures import RowLayout, loaded_engine
from jumok.errors import ModelError


@dataclass(frozen=True)
class StepRow:
    """One token that is read.

    Attributes:
        request, sentence: the sentence whose hypothesis the token continues.
        place: how many tokens of the hypothesis were read before it, START included.
        slot: where the engine keeps what later steps read of it: less than the request's beam. A
            step that reads another token of the same place and slot overwrites it.
        ancestors: the slots in which the earlier tokens are, int32; None: all in `slot`.
    """

    request: Request
    sentence: int
    token: int
    place: int
    slot: int
    ancestors: np.ndarray | None = None


def read_rows(session: int, rows: Sequence[StepRow], vocabulary: int) -> Array:
    """The log-probabilities of all tokens after each row, (rows, vocabulary).

    Args:
        session: room to compute in, of one thread at a time.

    Raises:
        ModelError: a token is not in the vocabulary, or there is no room for its place or slot.
        MemoryError: there is not enough memory.
    """
    kept = [None if row.ancestors is None else _ancestors_of(row) for row in rows]
    for row in rows:
        _check_step(row, vocabulary)
    layouts = (RowLayout * len(rows))(
        *(
            RowLayout(
                row.request.layout.sentences[row.sentence], row.token, row.place, row.slot,
                None if slots is None else slots.ctypes.data,
            )
            for row, slots in zip(rows, kept, strict=True)
        )
    )  # fmt: skip
    values = np.empty((len(rows), vocabulary), np.float32)
    if loaded_engine().jumok_step(session, len(rows), layouts, values.ctypes.data):
        raise MemoryError("a step of the engine")
    return values


def _ancestors_of(row: StepRow) -> np.ndarray:
    slots = np.ascontiguousarray(row.ancestors, np.int32)
    most = row.request.rules.beam
    if len(slots) < row.place or (len(slots) and not 0 <= slots.min() <= slots.max() < most):
        raise ModelError(
            "the ancestors of a token are not slots of the request's beam.",
            expected=f"{row.place} numbers from 0 to {most - 1}",
            got=str(slots.tolist()),
        )
    return slots


def _check_step(row: StepRow, vocabulary: int) -> None:
    for what, value, most in _limits(row, vocabulary):
        if not 0 <= value < most:
            raise ModelError(
                f"the engine has no such {what}.", expected=f"0 to {most - 1}", got=str(value)
            )


def _limits(row: StepRow, vocabulary: int) -> Iterator[tuple[str, int, int]]:
    rules = row.request.rules
    yield "sentence", row.sentence, len(rules.longest)
    yield "token", row.token, vocabulary
    yield "place", row.place, rules.longest[row.sentence] + 1
    yield "slot", row.slot, rules.beam
