"""Steps of a language model on the engine whose texts may be longer than its context.

What is in the context is what `decoding/window.py` says, the twin on torch.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jumok.decoding.steps.sentence import Reading, Scores
from jumok.engine.request import Request
from jumok.engine.steps import StepRow, read_rows

Slots = npt.NDArray[np.int32]


class WindowedSteps:
    """Reads for the searches of one text: see `decoding/steps/sentence.py`, `ReadStep`.

    All rows of a step are at one place. When the context is full, each hypothesis reads the last
    half of it again, in a slot of its own.

    Args:
        request: without a source, with room for a context in every slot.
    """

    def __init__(self, session: int, request: Request, context: int, vocabulary: int) -> None:
        self._session, self._request = session, request
        self._context, self._vocabulary = context, vocabulary
        self._tokens: dict[tuple[int, int], int] = {}
        self._first = 0  # the first place in the context
        self._begun = 0  # from this place on hypotheses have branched; before it none has

    def __call__(self, rows: Sequence[tuple[int, Reading]]) -> Scores:
        """The log-probabilities after each row."""
        readings = [one for _, one in rows]
        place = readings[0].place
        for one in readings:
            self._tokens[place, one.slot] = one.token
        if place - self._first == self._context:
            self._first, self._begun = place - self._context // 2, place
            for earlier in range(self._first, place):
                self._read([self._again(one, earlier) for one in readings])
        return self._read([replace(one, ancestors=self._slots(one)) for one in readings])

    def _again(self, one: Reading, place: int) -> Reading:
        """The token that a hypothesis has at an earlier place, in the slot of its last one."""
        slots = self._all_slots(one)
        token = self._tokens[place, int(slots[place])]
        return Reading(token, place, one.slot, np.full(place - self._first, one.slot, np.int32))

    def _slots(self, one: Reading) -> Slots:
        """The slots of what the context has of a hypothesis before this token."""
        slots = self._all_slots(one)
        shared = slots[self._begun] if one.place > self._begun else one.slot
        again = np.full(max(self._begun - self._first, 0), shared, np.int32)
        return np.concatenate([again, slots[max(self._begun, self._first) :]])

    def _all_slots(self, one: Reading) -> Slots:
        return np.full(one.place, one.slot, np.int32) if one.ancestors is None else one.ancestors

    def _read(self, readings: Sequence[Reading]) -> Scores:
        rows = [
            StepRow(self._request, 0, one.token, one.place - self._first, one.slot, one.ancestors)
            for one in readings
        ]
        return read_rows(self._session, rows, self._vocabulary)
