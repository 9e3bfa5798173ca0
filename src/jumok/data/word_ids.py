"""Ids of texts from the ids of their words, each of which is encoded once.

A corpus repeats its words (Zipf), and to look one up costs a twentieth of encoding it. It is only
for tokenizers that `words_decide` accepts.
"""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from jumok.data.pieces import NORMAL, UNUSED, USER_DEFINED, PieceTable
from jumok.kernels import texts as loops
from jumok.kernels.texts import BEHIND, Counts, WordTable

SPACE = "▁"
MOST_WORDS = 1 << 18
MOST_IDS = 1 << 22
"""Words, and their ids, that are remembered: at most some 60 MB."""

FlatIds = npt.NDArray[np.uint32]
WordNumbers = npt.NDArray[np.int32]


def words_decide(table: PieceTable) -> bool:
    """Whether the ids of a text are those of its words, one after another.

    So it is for merges and for single characters. A unigram model adds logarithms along the whole
    text, in 32 bits; nearly equal segmentations of a word could change with what is before it.
    """
    inner = any(SPACE in subword[1:] for subword in table.subwords)
    space = SPACE in table.subwords and table.types[table.subwords.index(SPACE)] == NORMAL
    return (
        table.segmentation in ("bpe", "char")
        and not table.charsmap
        and table.dummy_prefix
        and table.remove_extra
        and table.escape
        and not table.suffix
        and not {USER_DEFINED, UNUSED}.intersection(table.types)
        and space  # without it, unknown characters of two words are one token
        and not inner
    )


class WordIds:
    """The ids of the words of earlier texts; `encode` gives those of new ones."""

    def __init__(self, encode: Callable[[Sequence[str]], list[list[int]]]) -> None:
        self._encode = encode
        self._table: WordTable | PlainTable
        self._ids: FlatIds
        self._bounds: Counts
        self._forget()

    def flat(self, texts: bytes, count: int) -> tuple[FlatIds, Counts]:
        """The ids of all texts one after another, and how many ids each text has.

        Args:
            texts: UTF-8, each of the `count` texts with its line break.
        """
        if len(self._table) > MOST_WORDS or len(self._ids) > MOST_IDS:
            self._forget()
        known = len(self._table)
        numbers, counts = self._table.numbers(texts + BEHIND, count)
        if len(self._table) > known:
            ids = self._encode(self._table.words(known))
            ends = len(self._ids) + np.cumsum(np.fromiter(map(len, ids), np.int64, len(ids)))
            flat = np.fromiter(chain.from_iterable(ids), np.uint32, int(ends[-1]) - len(self._ids))
            self._ids = np.concatenate([self._ids, flat])
            self._bounds = np.concatenate([self._bounds, ends])
        return spelled(numbers, counts, self._bounds, self._ids)

    def _forget(self) -> None:
        self._table = WordTable() if loops.library() else PlainTable()
        self._ids, self._bounds = np.zeros(0, np.uint32), np.zeros(1, np.int64)


class PlainTable:
    """The readable twin of `WordTable`."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, texts: bytes, count: int) -> tuple[WordNumbers, Counts]:
        """The numbers of all words of the texts, and how many words each text has."""
        lines = texts.removesuffix(BEHIND).decode().split("\n")[:count]
        words = [line.split(" ") for line in lines]
        for word in chain.from_iterable(words):
            self._numbers.setdefault(word, len(self._numbers))
        numbers = [self._numbers[word] for word in chain.from_iterable(words)]
        return np.array(numbers, np.int32), np.array([len(line) for line in words], np.int64)

    def words(self, first: int) -> list[str]:
        """The words from this number on."""
        return list(self._numbers)[first:]


def spelled(
    numbers: WordNumbers, counts: Counts, bounds: Counts, ids: FlatIds
) -> tuple[FlatIds, Counts]:
    """The ids of texts one after another, and how many each has.

    Args:
        numbers: of the words of all texts; `counts` of them belong to each text.
        bounds: the ids of word i are `ids[bounds[i] : bounds[i + 1]]`.
    """
    if loops.library() is None:
        return spelled_plainly(numbers, counts, bounds, ids)
    values = np.empty(int(np.diff(bounds)[numbers].sum()), np.uint32)
    lengths = np.empty(len(counts), np.int64)
    loops.call("spell_words", numbers, counts, len(counts), bounds, ids, values, lengths)
    return values, lengths


def spelled_plainly(
    numbers: WordNumbers, counts: Counts, bounds: Counts, ids: FlatIds
) -> tuple[FlatIds, Counts]:
    """The readable twin of `spelled`."""
    words = [ids[bounds[number] : bounds[number + 1]] for number in numbers]
    sizes = np.diff(bounds)[numbers]
    return np.concatenate(words), np.add.reduceat(sizes, np.cumsum(counts) - counts)
