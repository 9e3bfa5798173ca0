"""A tokenizer of one pair of languages of several: it puts the tokens of the pair around texts."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from random import Random

from jumok.data.tokenizer import Tokenizer

NO_WORD = -1
"""What `Tokenizer.words` has for a token that belongs to no word."""


class TaggedTokenizer(Tokenizer):
    """The tokenizer of sources; that of targets is `target`. A text without a token stays empty.

    Args:
        whole: that of all pairs.
        opening: the ids that open a source, and those that open a target.
        closing: the ids that close a source.
        tags: the ids of all languages, which no text is encoded as.
        check: called before a text is encoded; it raises if the pair was not chosen.
    """

    def __init__(
        self,
        whole: Tokenizer,
        opening: tuple[Sequence[int], Sequence[int]],
        tags: Collection[int],
        check: Callable[[], None] | None = None,
        closing: Sequence[int] = (),
        *,
        of_target: bool = False,
    ) -> None:
        self.whole, self._check, self._given = whole, check, (whole, opening, tags, check, closing)
        self._of_target, self._plain = of_target, whole.target if of_target else whole
        self.opening = tuple(opening[of_target])
        self.closing = () if of_target else tuple(closing)
        self._tags = frozenset((*tags, *self.closing))
        self.model = whole.model
        around = (*opening, closing) if closing else opening
        named = repr((whole.hash, around)).encode()
        self.hash = hashlib.sha256(named).hexdigest() if any(around) else whole.hash
        self.size, self.newline = whole.size, whole.newline

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[object, ...]]:
        return TaggedTokenizer, self._given

    @cached_property
    def target(self) -> Tokenizer:
        if self._of_target:
            return self
        return TaggedTokenizer(*self._given, of_target=True)

    @property
    def plain(self) -> Tokenizer:
        return self._plain

    @property
    def has_capitals(self) -> bool:
        return self.whole.has_capitals

    @property
    def _words(self) -> None:
        """None: the ids of a text do not follow from those of its words."""

    def encode(self, text: str) -> list[int]:
        return self._tagged(self._plain.encode(text))

    def encode_sampled(self, text: str, alpha: float, random: Random) -> list[int]:
        return self._tagged(self._plain.encode_sampled(text, alpha, random))

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        return [self._tagged(ids) for ids in self._plain.encode_batch(texts, threads)]

    def _tagged(self, ids: list[int]) -> list[int]:
        if self._check is not None:
            self._check()
        return [*self.opening, *ids, *self.closing] if ids else ids

    def decode(self, ids: Sequence[int]) -> str:
        return self._plain.decode([id for id in ids if id not in self._tags])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return self._plain.pieces(ids)

    def ids(self, pieces: Sequence[str]) -> list[int]:
        return self._plain.ids(pieces)

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each token the index of its word; NO_WORD for those of languages."""
        words = iter(self._plain.words([id for id in ids if id not in self._tags]))
        return [NO_WORD if id in self._tags else next(words) for id in ids]

    def normalize(self, text: str) -> str:
        return self._plain.normalize(text)

    def split(self, text: str) -> list[str]:
        return self._plain.split(text)
