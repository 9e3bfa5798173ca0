"""Held-out texts, for validation or test."""

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.errors import DataError
from jumok.kernels.texts import digest_texts

LARGEST_SHARE = 0.1  # of all texts, however many the recipe asks for


@dataclass(frozen=True)
class HeldOut:
    """The held-out texts, or the held-out source sentences of pairs.

    Chosen by hash, so that all pairs with the same source are on the same side.
    """

    hashes: frozenset[int] = frozenset()

    @classmethod
    def among(cls, texts: Iterable[str], count: int) -> "HeldOut":
        """The `count` texts of the smallest hashes; at most a tenth of all, at least one.

        Raises:
            DataError: fewer than two different texts.
        """
        total = 0
        smallest: list[int] = []  # negated: a heap with the largest on top
        members: set[int] = set()
        different = False
        first: int | None = None
        for text in texts:
            total += 1
            key = hash_of(text)
            first = key if first is None else first
            different = different or key != first
            if key in members or (len(smallest) == count and key >= -smallest[0]):
                continue
            members.add(key)
            if len(smallest) < count:
                heapq.heappush(smallest, -key)
            else:
                members.discard(-heapq.heapreplace(smallest, -key))
        if not different:
            raise DataError(
                "no validation data is given, and there is too little data to hold some out.",
                expected="at least two different source sentences or texts",
                do="give [[data.validation]] in the recipe, or more training data",
            )
        return cls.of_hashes(members, count, total)

    @classmethod
    def of_hashes(cls, hashes: Iterable[int], count: int, total: int) -> "HeldOut":
        """The `count` smallest of these hashes; at most a tenth of `total`, at least one."""
        return cls(frozenset(sorted({*hashes})[: min(count, max(1, int(total * LARGEST_SHARE)))]))

    def split(self, share: float) -> tuple["HeldOut", "HeldOut"]:
        """Two parts: `share` of the texts (0 to 1), those of the smallest hashes, and the rest."""
        ordered = sorted(self.hashes)
        first = round(len(ordered) * share)
        return HeldOut(frozenset(ordered[:first])), HeldOut(frozenset(ordered[first:]))

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, text: str) -> bool:
        return hash_of(text) in self.hashes


def hashes_of(texts: Sequence[str]) -> npt.NDArray[np.uint64]:
    """`hash_of` each of some texts without line breaks."""
    joined = "".join([f"{text.strip()}\n" for text in texts]).encode("utf-8", "surrogatepass")
    return digest_texts(joined, len(texts)).byteswap()


def hash_of(text: str) -> int:
    """What texts are chosen by: 64 bits of BLAKE2b."""
    return int.from_bytes(hashlib.blake2b(text.strip().encode(), digest_size=8).digest())
