"""Greedy and beam search on the engine, over the session of any model."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.engine.structures import Best, SearchLimits, library
from jumok.errors import ModelError

Memory = npt.NDArray[np.float32]
"""(positions dim): what an encoder wrote, at least one position"""

Source = Sequence[int] | Memory
"""What a decoder is given to read: a text's tokens, END included, or a Memory."""


@dataclass(frozen=True)
class SearchRules:
    """The rules of a search.

    Attributes:
        longest: the maximum number of tokens of each sentence, without END.
        penalties: by length, END counted: what a hypothesis's log-probability is divided by;
            two entries more than the largest of `longest`.
        enough: the number of finished hypotheses that ends the search for a sentence; 0: none does.
    """

    beam: int
    start: int
    end: int
    forbidden: tuple[int, ...]
    minimum: int
    longest: Sequence[int]
    penalties: Sequence[float]
    enough: int


@dataclass(frozen=True)
class Written:
    """A hypothesis: its tokens without END, and their log-probabilities, END's included.

    Attributes:
        attention: the weights that were asked for, as in `engine/forced.py`.
    """

    tokens: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    attention: tuple[npt.NDArray[np.float32], ...] = ()


@dataclass(frozen=True)
class Joined:
    """Sources as the engine reads them: one after the other, without padding.

    Attributes:
        offsets: the address of where each of them begins, and of the number of all at the end.
        tokens, memory: the address of one of them; None for the other.
    """

    offsets: int
    tokens: int | None
    memory: int | None
    _kept: tuple[npt.NDArray[np.generic], ...]


def joined(sources: Sequence[Source]) -> Joined:
    """All sources of a batch, which are of one kind."""
    offsets = np.cumsum([0, *map(len, sources)], dtype=np.int64)
    given = isinstance(sources[0], np.ndarray)
    whole = np.concatenate(
        [np.asarray(each, np.float32 if given else np.int32) for each in sources]
    )
    address = whole.ctypes.data
    tokens, memory = (None, address) if given else (address, None)
    return Joined(offsets.ctypes.data, tokens, memory, (offsets, whole))


def check_sources(
    sources: Sequence[Source],
    rules: SearchRules,
    vocabulary: int,
    positions: int | None,
    dim: int,
) -> None:
    """Everything that the engine would read must be there.

    Args:
        vocabulary: the number of tokens that the model has.
        positions: the most positions of a source or of a target; None: no limit.
        dim: the width of a Memory.

    Raises:
        ModelError: a source or a target is too long, a token is not in the vocabulary, or a Memory
            has another width.
    """
    texts = [each for each in sources if not isinstance(each, np.ndarray)]
    shapes = {each.shape[1:] for each in sources if isinstance(each, np.ndarray)}
    if shapes - {(dim,)}:
        raise ModelError(
            "a Memory has another width than the model's.",
            expected=f"(positions, {dim})",
            got=str(next(iter(shapes - {(dim,)}))),
        )
    longest = max(max(map(len, texts), default=0), max(rules.longest) + 1)
    if positions is not None and longest > positions:
        raise ModelError(
            "a text is longer than the engine's positions.",
            expected=f"at most {positions} tokens",
            got=str(longest),
        )
    highest = max(map(max, texts), default=0)
    if min(map(min, texts), default=0) < 0 or highest >= vocabulary:
        raise ModelError(
            "a token is not in the vocabulary.",
            expected=f"ids from 0 to {vocabulary - 1}",
            got=str(highest),
        )


@contextmanager
def begun(session: int | None) -> Iterator[int]:
    """A session that the engine has begun, until it is no longer needed.

    Raises:
        MemoryError: there was not enough memory for it.
    """
    if session is None:
        raise MemoryError("the engine's session")
    engine = library()
    assert engine is not None
    try:
        yield session
    finally:
        engine.jumok_end(session)


def search(session: int, count: int, rules: SearchRules) -> list[Written]:
    """The best hypothesis for each of the `count` sentences of a session; beam 1 is greedy.

    Raises:
        ModelError: the model gives no token a probability.
        MemoryError: there is not enough memory.
    """
    engine = library()
    assert engine is not None
    room = max(rules.longest) + 1
    longest = np.array(rules.longest, np.int64)
    forbidden, penalties = np.array(rules.forbidden, np.int32), np.array(rules.penalties)
    limits = SearchLimits(
        rules.minimum, rules.start, rules.end, longest.ctypes.data, forbidden.ctypes.data,
        len(forbidden), rules.enough, penalties.ctypes.data,
    )  # fmt: skip
    score, finished = np.zeros(count), np.zeros(count, np.int64)
    length, cut = np.zeros(count, np.int64), np.zeros(count, np.uint8)
    written = np.zeros((count, room), np.int32)
    values = np.zeros((count, room), np.float32)
    arrays = score, finished, length, cut, written, values
    best = Best(*(array.ctypes.data for array in arrays))
    if rules.beam == 1:
        failed = engine.jumok_greedy(session, ctypes.byref(limits), ctypes.byref(best))
    else:
        failed = engine.jumok_beam(session, ctypes.byref(limits), rules.beam, ctypes.byref(best))
    if failed:
        raise MemoryError("the engine's search")
    if length.min() < 0:
        raise ModelError(
            "the model gives no probability to any next token.",
            do="look for NaN in the model's weights",
        )
    return [
        Written(
            tuple(written[row, : length[row]].tolist()),
            tuple(values[row, : length[row] + 1 - cut[row]].tolist()),
        )
        for row in range(count)
    ]
