"""The token sequences of strings that a search must write."""

from jumok.data.tokenizer import SPACE, UNKNOWN, Tokenizer, normalize
from jumok.decoding.constraints import Phrase

# The string is put after this to see how it is spelt inside a word.
ANCHORS = (".", ",", "-", "a", "1", "(", "가", "的")


def spelling(text: str, tokenizer: Tokenizer, inside: bool) -> Phrase | None:
    """The token sequences that write `text`; None if the vocabulary cannot spell it.

    Args:
        inside: whether it may also directly follow other letters.
    """
    ids = tuple(tokenizer.encode(text))
    if not ids or UNKNOWN in ids or normalize(tokenizer.decode(ids)).strip() != normalize(text):
        return None
    glued = _glued(text, ids, tokenizer) if inside else None
    return (ids,) if glued is None or glued == ids else (ids, glued)


def _glued(text: str, ids: tuple[int, ...], tokenizer: Tokenizer) -> tuple[int, ...] | None:
    """The spelling without a space before it; None if there is none."""
    if tokenizer.pieces(ids[:1]) == [SPACE] and len(ids) > 1:
        return ids[1:]
    for anchor in ANCHORS:
        before, both = tokenizer.encode(anchor), tokenizer.encode(anchor + text)
        rest = tuple(both[len(before) :])
        if both[: len(before)] == before and rest and UNKNOWN not in rest:
            return rest
    return None
