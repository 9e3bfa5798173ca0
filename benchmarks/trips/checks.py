"""A document's round trips, and what is wrong after them."""

import codecs
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.trips.structure import STRUCTURES, Parts, canonical, lost_codes
from benchmarks.trips.writing import Trip
from jumok.documents.catalog import document_format, read_document, translate_document
from jumok.documents.document import UNKNOWN, Languages
from jumok.documents.segment import Translated

ENGLISH_KOREAN = Languages("en", "ko")
ADDED = {"po", "xliff", "tmx"}
"""The formats in which a translation stands beside its source."""

HOSTILE = " \"x\" 'y' \\z & 가 < b |#1 *s* _u_ `v` = ; [w] 5 % d 한글: © -"
"""Text that is markup in some format."""

SWAP = {ord(letter): letter.swapcase() for letter in map(chr, range(128))}

Translator = Callable[[Sequence[str]], Sequence[Translated | str]]


def swapped(texts: Sequence[str]) -> list[str]:
    """Every letter of ASCII in the other case, so that two translations change nothing.

    A word before a colon stays: in capitals it would be the name of a speaker.
    """
    return [" ".join(map(_swapped, text.split(" "))) for text in texts]


def _swapped(word: str) -> str:
    return word if word.endswith(":") else word.translate(SWAP)


def hostile(texts: Sequence[str]) -> list[Translated]:
    """Each text with HOSTILE behind it."""
    counts = [len(text.split(" ")) for text in texts]
    links = [[(at, at) for at in range(count)] for count in counts]
    return [Translated(text + HOSTILE, own) for text, own in zip(texts, links, strict=True)]


def reversed_words(texts: Sequence[str]) -> list[Translated]:
    """The words from the last to the first, with their links."""
    every = [text.split(" ") for text in texts]
    return [
        Translated(" ".join(words[::-1]), [(at, len(words) - 1 - at) for at in range(len(words))])
        for words in every
    ]


def faults(trip: Trip) -> list[str]:
    """What is wrong after translations of the document; none: nothing."""
    return list(_faults(trip))


def _faults(trip: Trip) -> Iterator[str]:
    kind = document_format(Path(trip.name), trip.content[:8192]) or "paragraphs"
    if kind != trip.format:
        yield f"is taken for {kind}"
        return

    languages = ENGLISH_KOREAN if trip.format in ADDED else UNKNOWN

    def by(translator: Translator, content: bytes = trip.content) -> bytes:
        return translate_document(content, translator, trip.format, languages=languages)

    try:
        before = STRUCTURES[trip.format](trip.content)
        same, changed = by(list), by(swapped)
    except Exception as error:
        yield f"raised {error!r:.600}"
        return
    try:
        yield from _of_bytes(trip, same, changed, by)
    except Exception as error:
        yield f"comparing raised {error!r:.600}"
    for translator in (list, swapped, hostile, reversed_words):
        try:
            written = by(translator)
            after = STRUCTURES[trip.format](written)
        except Exception as error:
            yield f"after {translator.__name__}: raised {error!r:.600}"
            continue
        yield from (f"after {translator.__name__}: {one}" for one in _differing(before, after))
        if trip.format not in ADDED and translator is not reversed_words:
            yield from _read_again(trip, written, translator)


def _of_bytes(
    trip: Trip, same: bytes, changed: bytes, by: Callable[[Translator, bytes], bytes]
) -> Iterator[str]:
    if trip.format in ADDED:
        yield from _additions(trip, same)
        if trip.format == "xliff":
            known = lost_codes(trip.content)
            yield from (
                one for one in lost_codes(by(reversed_words, trip.content)) if one not in known
            )
        if by(swapped, same) != same and trip.format != "po":
            yield "a second translation is not the first"
    elif trip.format == "docx":
        if STRUCTURES["docx"](same) != STRUCTURES["docx"](trip.content):
            yield "identity is not equal"
    else:
        if same != trip.content:
            yield f"identity: {_first(trip.content, same)}"
        yield from _unequal(trip, "swapped", changed, lower)
        yield from _unequal(trip, "swapped twice", by(swapped, changed))


LOWER = {ord(letter): letter.lower() for letter in map(chr, range(128))}


def lower(text: str) -> str:
    """The text with the letters of ASCII, which `swapped` swaps, in lower case."""
    return text.translate(LOWER)


def _unequal(
    trip: Trip, what: str, written: bytes, of: Callable[[str], str] = str
) -> Iterator[str]:
    if of(written.decode("latin-1")) == of(trip.content.decode("latin-1")):
        return
    before, after = (of(canonical(trip.format, each)) for each in (trip.content, written))
    if before != after:
        yield f"{what}: {_first(before, after)}"


def _first(one: str | bytes, other: str | bytes) -> str:
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    first, second = (each[max(0, at - 60) : at + 60] for each in (one, other))
    return f"{first!r}\n    became {second!r}"


_REPLACED = {
    "po": re.compile(r'msgstr|"|#,|#~|\s*$'),
    "xliff": re.compile(r".*<target|.*<file|.*<xliff|.*</source>|.*</seg-source>"),
    "tmx": re.compile(r".*</tuv>"),
}


def _additions(trip: Trip, same: bytes) -> Iterator[str]:
    """Lines of the document that are not in its translation, and have no reason to be gone."""
    before, after = (each.decode(trip.charset).splitlines() for each in (trip.content, same))
    for line in difflib.ndiff(before, after):
        if line.startswith("- ") and not _REPLACED[trip.format].match(line[2:]):
            yield f"lost the line {line[2:]!r}"
    if b"\r\n" in trip.content and b"\n" in same.replace(b"\r\n", b""):
        yield "line ends differ"


def _differing(before: Parts, after: Parts) -> Iterator[str]:
    if before != after:
        yield f"lost {dict(before - after)!s:.300}; new: {dict(after - before)!s:.300}"


def _read_again(trip: Trip, written: bytes, translator: Translator) -> Iterator[str]:
    """Whether the texts of the translation are those that the translator wrote."""
    texts = _texts(trip, trip.content)
    wanted = [each if isinstance(each, str) else each.text for each in translator(texts)]
    there = _texts(trip, written)
    if " ".join(there).lower() != " ".join(wanted).lower():  # in other pieces, perhaps
        pairs = zip(wanted, there, strict=False)
        sizes = str(len(wanted)), str(len(there))
        one, other = next((pair for pair in pairs if pair[0].lower() != pair[1].lower()), sizes)
        yield f"after {translator.__name__}: {one!r:.200}\n    is read as {other!r:.200}"


def _texts(trip: Trip, content: bytes) -> list[str]:
    document = read_document(content.removeprefix(codecs.BOM_UTF8), trip.format, UNKNOWN)
    return [segment.text for segment in document.segments if segment.text]
