"""Texts that are kept out of training, to validate or to test on."""

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from jumok.errors import DataError

LARGEST_SHARE = 0.1  # of all texts, however many the recipe asks for


@dataclass(frozen=True)
class HeldOut:
    """The texts, or the source sentences of the pairs, that training does not see.

    Chosen by hash, so that every pair with the same source falls on the same side: a sentence
    with five translations cannot be trained on and validated on.
    """

    hashes: frozenset[int] = frozenset()

    @classmethod
    def among(cls, texts: Iterable[str], count: int) -> "HeldOut":
        """The `count` texts of the smallest hashes; at most a tenth of all, at least one.

        Raises:
            DataError: fewer than two different texts.
        """
        total = 0
        smallest: list[int] = []  # negated: the largest of them on top
        members: set[int] = set()
        different = False
        first: int | None = None
        for text in texts:
            total += 1
            key = _hash(text)
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
                "no validation data is given, and there is too little to hold some out.",
                expected="two different source sentences or texts at the very least",
                do="give [[data.validation]] in the recipe, or more training data",
            )
        kept = sorted(members)[: max(1, int(total * LARGEST_SHARE))]
        return cls(frozenset(kept))

    def split(self, share: float) -> tuple["HeldOut", "HeldOut"]:
        """Two parts of it: `share` of the texts (0 to 1), those of the smallest hashes, and the
        rest."""
        ordered = sorted(self.hashes)
        first = round(len(ordered) * share)
        return HeldOut(frozenset(ordered[:first])), HeldOut(frozenset(ordered[first:]))

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, text: str) -> bool:
        return _hash(text) in self.hashes


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.strip().encode(), digest_size=8).digest())
