"""The language of short texts by fastText's small model, computed by the compiled loops.

Its file holds a supervised model: a dictionary of words and labels, a row of numbers for each word
and for each run of characters that was kept (both quantized), and a row for each inner node of the
tree of labels. Everything else is left to the package, and so is any other kind of model.

Sources: Joulin et al. 2016, "FastText.zip: Compressing text classification models" (the
quantization) and "Bag of Tricks for Efficient Text Classification" (the tree).
"""

import ctypes
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.kernels import texts as loops
from jumok.kernels.texts import BEHIND, WordTable

MAGIC, VERSION = 793_712_314, 12
TREE, SUPERVISED = 1, 3
WIDTH = 16
"""Numbers of a row, for which the loops are compiled."""
CENTROIDS = 256
SLOTS = 1 << 17
MOST = SLOTS // 2  # runs of characters, so that the slots stay sparse
_LABEL = "__label__"

Rows = npt.NDArray[np.float32]


class _LinearModel(ctypes.Structure):
    """`LinearModel` of languages.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("slots", "places", "rows", "output", "children")),
        *(
            (name, ctypes.c_int64)
            for name in ("slot_count", "buckets", "shortest", "longest", "labels")
        ),
    )


class _Reader:
    """Numbers of a file, one after another, the lowest byte of each first."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def numbers(self, kinds: str) -> tuple[int, ...]:
        """The next ones, of these kinds of `struct`."""
        found = struct.unpack_from(f"<{kinds}", self._content, self._at)
        self._at += struct.calcsize(f"<{kinds}")
        return found

    def array(self, kind: str, count: int) -> npt.NDArray[np.generic]:
        """The next ones, of one kind."""
        found = np.frombuffer(self._content, kind, count, self._at)
        self._at += found.nbytes
        return found

    def text(self) -> str:
        """The next one, which a zero ends."""
        end = self._content.index(0, self._at)
        found = self._content[self._at : end].decode()
        self._at = end + 1
        return found


class Identifier:
    """A model in memory.

    Args:
        file: as fastText saves it.

    Raises:
        ValueError: it is another kind of model than the one that the loops compute.
        struct.error: it is cut.
    """

    def __init__(self, file: Path) -> None:
        read = _Reader(file.read_bytes())
        if read.numbers("ii") != (MAGIC, VERSION):
            raise ValueError("no model of fastText, version 12")
        width, _, _, _, _, joined, loss, kind, buckets, shortest, longest = read.numbers("11i")
        read.numbers("iq")  # how its learning rate changed, and its threshold: of training alone
        if (width, joined, loss, kind) != (WIDTH, 1, TREE, SUPERVISED):
            raise ValueError("a fastText model of another kind")
        entries, words, labels, _, kept = read.numbers("iiiqq")
        if not 0 < kept <= MOST:
            raise ValueError("a fastText model with all runs of characters")
        names, counts = [], []
        for _ in range(entries):
            names.append(read.text())
            counts.append(read.numbers("qb")[0])
        runs = read.array("<i4", 2 * kept).astype(np.int32).reshape(kept, 2)
        self._rows = _quantized(read)
        (quantized,) = read.numbers("?")
        nodes, columns = read.numbers("qq")
        if quantized or (nodes, columns) != (labels, WIDTH) or len(self._rows) != words + kept:
            raise ValueError("a fastText model with an output of another kind")
        self._output = read.array("<f4", nodes * columns).astype(np.float32)
        self.labels = [name.removeprefix(_LABEL) for name in names[words:]]
        self._words = WordTable()
        joined_words = "".join(f"{name}\n" for name in names[:words]).encode()
        self._words.numbers(joined_words + BEHIND, words)
        if len(self._words) != words:
            raise ValueError("a fastText model with a word twice")
        self._children = tree_of(counts[words:])
        self._slots, self._places = np.zeros(SLOTS, np.int32), np.zeros(SLOTS, np.int32)
        arrays = self._slots, self._places, self._rows, self._output, self._children
        places = [array.ctypes.data for array in arrays]
        self._model = _LinearModel(*places, SLOTS, buckets, shortest, longest, labels)
        hashed, numbers = np.ascontiguousarray(runs[:, 0]), runs[:, 1] + np.int32(words)
        placed = self._slots, self._places, hashed, np.ascontiguousarray(numbers), kept
        loops.call("place_buckets", self._model, *placed)

    def most_likely(self, texts: Sequence[str]) -> tuple[list[str], list[float]]:
        """The most probable language of each text, and its probability.

        Args:
            texts: without line breaks, and of at most 120 characters.
        """
        joined = "".join(f"{text}\n" for text in texts).encode()
        labels, shares = self._words.most_likely(joined, len(texts), self._model)
        return [self.labels[label] for label in labels.tolist()], shares.tolist()


def _quantized(read: _Reader) -> Rows:
    """The rows of a quantized matrix: each a factor, and parts that are one of CENTROIDS each."""
    (quantized,) = read.numbers("?")
    if not quantized:
        raise ValueError("a fastText model that is not quantized")
    factored, rows, _, size = read.numbers("?qqi")
    codes = read.array("u1", size).reshape(rows, -1)
    parts = _centroids(read)
    found = parts[np.arange(codes.shape[1]), codes].reshape(rows, -1)
    if not factored:
        return np.ascontiguousarray(found)
    factors = read.array("u1", rows)
    return found * _centroids(read)[0, factors]


def _centroids(read: _Reader) -> Rows:
    """The centroids of each part of a row: parts, CENTROIDS, numbers of a part."""
    width, parts, size, last = read.numbers("iiii")
    if last != size:
        raise ValueError("a fastText model whose rows have an uneven part")
    numbers = read.array("<f4", width * CENTROIDS).astype(np.float32)
    return numbers.reshape(parts, CENTROIDS, size)


def tree_of(counts: Sequence[int]) -> npt.NDArray[np.int32]:
    """Huffman's tree of labels, as fastText builds it: inner nodes, two children.

    Args:
        counts: of the labels, the largest first. Label i is node i; inner nodes follow, the root
            is the last.
    """
    every = [*counts, *[10**15] * (len(counts) - 1)]
    leaf, node = len(counts) - 1, len(counts)
    children = np.empty((len(counts) - 1, 2), np.int32)
    for inner in range(len(counts), len(every)):
        for side in range(2):
            if leaf >= 0 and every[leaf] < every[node]:
                children[inner - len(counts), side], leaf = leaf, leaf - 1
            else:
                children[inner - len(counts), side], node = node, node + 1
        every[inner] = sum(every[child] for child in children[inner - len(counts)])
    return children
