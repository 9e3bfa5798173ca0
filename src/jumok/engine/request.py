"""Sources that the engine reads together, and what it makes of them."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from jumok.engine.forced import Forced, Keeping
from jumok.engine.packing import Array
from jumok.engine.searching import SearchRules, Source, Written
from jumok.engine.structures import REQUEST, FoundLayout, RequestLayout, RulesLayout, loaded_engine
from jumok.errors import ModelError


@contextmanager
def session_of(session: int | None) -> Iterator[int]:
    """Room for one thread to compute in, which the engine has made, until it is no longer needed.

    Raises:
        MemoryError: there was not enough memory for it.
    """
    if session is None:
        raise MemoryError("the engine's session")
    try:
        yield session
    finally:
        loaded_engine().jumok_end(session)


class Request:
    """Sources that are read together, and what the engine finds for them.

    Args:
        sources: all of them tokens, or all of them Memories; without a source, None.
        keeping: the attentions whose weights are kept.

    Attributes:
        layout: as the engine reads it.
    """

    def __init__(
        self, sources: Sequence[Source | None], rules: SearchRules, keeping: Keeping
    ) -> None:
        self.rules, count = rules, len(sources)
        given = [each for each in sources if each is not None]
        memories = bool(given) and isinstance(given[0], np.ndarray)
        kind = np.float32 if memories else np.int32
        whole = np.concatenate([np.asarray(each, kind) for each in given]) if given else None
        offsets = np.cumsum(
            [0, *(0 if each is None else len(each) for each in sources)], dtype=np.int64
        )
        longest = np.array(rules.longest, np.int64)
        forbidden, penalties = np.array(rules.forbidden, np.int32), np.array(rules.penalties)
        room = max(rules.longest) + 1
        self._tokens = np.zeros((count, room), np.int32)
        self._values = np.zeros((count, room), np.float32)
        tokens, values, row = self._tokens.ctypes.data, self._values.ctypes.data, 4 * room
        self._found = (FoundLayout * count)(
            *(FoundLayout(0.0, 0, -1, 0, tokens + i * row, values + i * row) for i in range(count))
        )
        limits = RulesLayout(
            rules.beam, rules.minimum, rules.enough, rules.start, rules.end,
            forbidden.ctypes.data, len(forbidden), penalties.ctypes.data,
        )  # fmt: skip
        address = None if whole is None else whole.ctypes.data
        self.layout = RequestLayout(
            count, None if memories else address, address if memories else None,
            offsets.ctypes.data, longest.ctypes.data, ctypes.pointer(limits), self._found,
            keeping.layout, len(keeping.watched), count, (ctypes.c_void_p * count)(),
        )  # fmt: skip
        self._lengths = [0 if each is None else len(each) for each in sources]
        self._keeping = keeping
        self._kept = whole, offsets, longest, forbidden, penalties, limits

    @contextmanager
    def read_by(self, session: int) -> Iterator[None]:
        """The sources are read in this session; what is known of them stays inside the block.

        Raises:
            MemoryError: there is not enough memory.
        """
        if loaded_engine().jumok_encode(session, self.layout):
            raise MemoryError("the engine's sentences")
        try:
            yield
        finally:
            loaded_engine().jumok_release(self.layout)

    def states(self, session: int, dim: int) -> list[Array]:
        """What the encoder writes for each source, (positions dim), without `read_by`.

        Raises:
            MemoryError: there is not enough memory.
        """
        states = np.empty((sum(self._lengths), dim), np.float32)
        if loaded_engine().jumok_states(session, self.layout, states.ctypes.data):
            raise MemoryError("the engine's sentences")
        return np.split(states, np.cumsum(self._lengths)[:-1])

    def written(self) -> list[Written]:
        """The best hypothesis for each source, after the search.

        Raises:
            ModelError: the model gives no token a probability.
        """
        if min(each.length for each in self._found) < 0:
            raise ModelError(
                "the model gives no probability to any next token.",
                do="look for NaN in the model's weights",
            )
        return [
            Written(
                tuple(tokens[: each.length].tolist()),
                tuple(values[: each.length + 1 - each.cut].tolist()),
            )
            for each, tokens, values in zip(self._found, self._tokens, self._values, strict=True)
        ]

    def force(
        self, session: int, targets: Sequence[Sequence[int]], layers: int | None
    ) -> list[Forced]:
        """What the model makes of these targets, one for each source.

        Args:
            layers: those of the decoder; None: only what is watched is wanted, without
                log-probabilities.

        Raises:
            MemoryError: there is not enough memory.
        """
        keeping, start, end = self._keeping, self.rules.start, self.rules.end
        sizes = [
            (source, len(each) + 1) for source, each in zip(self._lengths, targets, strict=True)
        ]
        keeping.make_room(("decoder", "cross"), sizes)
        highest = max(
            (each.layer + 1 for each in keeping.watched if each.part != "encoder"), default=0
        )
        scores = self.read(
            session, [[start, *each, end] for each in targets],
            highest if layers is None else layers, scored=layers is not None,
        )  # fmt: skip
        return [
            Forced(() if layers is None else tuple(values.tolist()), weights)
            for values, weights in zip(scores, keeping.taken(sizes), strict=True)
        ]

    def read(
        self, session: int, texts: Sequence[Sequence[int]], layers: int, *, scored: bool = True
    ) -> list[Array]:
        """The log-probability of every token of each text but its first one, in one pass.

        Args:
            texts: one for each source, whose last tokens are not read.
            layers: those of the decoder that the texts are read by.
            scored: without it only what is watched is computed.

        Raises:
            MemoryError: there is not enough memory.
        """
        given, following = (
            np.array([token for text in texts for token in text[part]], np.int32)
            for part in (slice(None, -1), slice(1, None))
        )
        offsets = np.cumsum([0, *(len(text) - 1 for text in texts)], dtype=np.int64)
        values = np.zeros(len(given), np.float32)
        failed = loaded_engine().jumok_force(
            session, self.layout, given.ctypes.data, following.ctypes.data, offsets.ctypes.data,
            layers, values.ctypes.data if scored else None,
        )  # fmt: skip
        if failed:
            raise MemoryError("the engine's pass over given targets")
        return np.split(values, offsets[1:-1])


def search(session: int, requests: Sequence[Request], stop: ctypes.c_int32 | None = None) -> None:
    """Searches together, until one of the requests has all its hypotheses.

    Args:
        stop: where another thread writes 1 to end this after the next step.

    Raises:
        MemoryError: there is not enough memory.
    """
    layouts = (REQUEST * len(requests))(*(ctypes.pointer(each.layout) for each in requests))
    address = None if stop is None else ctypes.addressof(stop)
    if loaded_engine().jumok_search(session, layouts, len(requests), address):
        raise MemoryError("the engine's search")
