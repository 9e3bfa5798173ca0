"""Where the tokens of a text are in it, in Unicode code points."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from jumok.data.tokenizer import SPACE, normalize

Span = tuple[int, int]
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def spans(tokens: Sequence[str], text: str) -> list[Span] | None:
    """The span of each token; a token of a byte has that of its character.

    Spaces before a word belong to no span. None: the text is not what the tokens spell, since
    something was inserted into it, or its characters are composed otherwise (NFC).
    """
    plain = normalize(text)
    if len(plain) != len(text):
        return None
    parts = [_bytes_of(token) for token in tokens]
    ends = list(accumulate(map(len, parts)))
    signs = list(_signs(b"".join(parts)))
    spelt = normalize("".join(sign for sign, _ in signs))
    if len(spelt) != len(signs):
        return None
    places = [place for place, sign in enumerate(plain) if sign != " "]
    if [sign for sign in spelt if sign != " "] != [plain[place] for place in places]:
        return None
    begins = list(accumulate((size for _, size in signs), initial=0))
    seen = list(accumulate((sign != " " for sign in spelt), initial=0))
    found: list[Span] = []
    for first, last in zip([0, *ends], ends, strict=False):
        start = bisect_right(begins, first) - 1
        end = bisect_right(begins, last - 1)
        own = places[seen[start] : seen[end]]
        before = places[seen[start] - 1] + 1 if seen[start] else 0
        found.append((own[0], own[-1] + 1) if own else (before, before))
    return found


def _signs(content: bytes) -> Iterator[tuple[str, int]]:
    """The characters, each with its number of bytes; a byte that is not UTF-8 is U+FFFD."""
    while content:
        try:
            yield from ((sign, len(sign.encode())) for sign in content.decode())
            return
        except UnicodeDecodeError as error:
            yield from ((sign, len(sign.encode())) for sign in content[: error.start].decode())
            yield "\ufffd", 1
            content = content[error.start + 1 :]


def _bytes_of(token: str) -> bytes:
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(SPACE, " ").encode()
