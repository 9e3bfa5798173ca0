"""Vocabularies of others in the order of jumok's, which begins with PAD, UNKNOWN, START and END."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

COPIED_BIAS = -100.0
"""The output bias of a row that stands for another token's: it is never predicted."""


@dataclass(frozen=True)
class Vocabulary:
    """The rows of a table there, in our order.

    Attributes:
        order: for each of our ids the row there. One row may be several tokens: START and PAD of
            Marian, all special tokens of GPT-2.
        copied: our ids of such tokens that the model does not predict.
        empty: of them those that the model has no row for: it reads zeros.
        lacking: of them words of the other side only, which are read as UNKNOWN.
        rows: how many there are.
        tokenizer: the file of the bundle's tokenizer.
        source: the rows of the table of sources, where that is another.
    """

    order: tuple[int, ...]
    copied: tuple[int, ...]
    rows: int
    tokenizer: bytes
    empty: tuple[int, ...] = ()
    lacking: tuple[int, ...] = ()
    source: "Vocabulary | None" = None

    @property
    def read(self) -> "Vocabulary":
        """The rows of the table of sources."""
        return self.source or self

    def here(self) -> dict[int, int]:
        """For each row there our id; of several the last one, which is read as input."""
        others = {*self.empty, *self.lacking}
        return {row: id for id, row in enumerate(self.order) if id not in others}

    def predicted(self) -> dict[int, int]:
        """For each row there the id that is predicted."""
        return {row: id for id, row in enumerate(self.order) if id not in self.copied}


NO_TEXT = Vocabulary((), (), 0, b"")
"""That of a model without texts."""


def order_of(
    pad: int, unknown: int, start: int, end: int, rows: int, *, copied: bool = True
) -> tuple[int, ...]:
    """For each of our ids the row there, given those of the special tokens.

    Args:
        copied: START is a copy: of its row there is another token, too.
    """
    special = {pad, unknown, end} | (set() if copied else {start})
    return (pad, unknown, start, end, *(row for row in range(rows) if row not in special))


def of_words(
    source: Sequence[str],
    target: Sequence[str],
    special: tuple[int, int, int, int],
    tokenizer: Callable[[list[str]], bytes],
    others: Sequence[str] = (),
) -> Vocabulary:
    """The words of each side, by their rows there; those of both have one id.

    Args:
        special: the rows of PAD, UNKNOWN, START and END on the side of targets; sources have these
            words, too. START may be END.
        tokenizer: makes its file of the words by our ids.
        others: further ones, which neither side has and the tokenizer needs.
    """
    first = [target[row] for row in special]
    unknown, end = first[1], first[3]
    start = f"[{end}]" if first[2] == end else first[2]  # a text may begin with the last one's END
    names = list(dict.fromkeys([first[0], unknown, start, end, *source, *target, *others]))
    file = tokenizer(names)

    def side(words: Sequence[str], other: Vocabulary | None = None) -> Vocabulary:
        rows = {word: row for row, word in enumerate(words)}
        rows.setdefault(start, rows[end])
        lacking = tuple(id for id, name in enumerate(names) if name not in rows)
        copied = lacking if first[2] == start else (2, *lacking)
        order = tuple(rows.get(name, rows[unknown]) for name in names)
        return Vocabulary(order, copied, len(words), file, lacking=lacking, source=other)

    return side(target, None if source == target else side(source))
