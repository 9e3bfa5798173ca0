"""HTML: the text of each block is a segment, with the inline elements inside of it."""

import codecs
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from jumok.documents.document import Languages, Slot, TextDocument
from jumok.documents.markup import Attribute, Token, attributes, end_of, escape, tokens, unescape
from jumok.documents.placing import rendered
from jumok.documents.segment import (
    Chunk,
    DocumentSegment,
    Translated,
    has_long_word,
    has_word,
    paragraph,
    with_frozen,
)


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big button cite data del dfn em font i img input ins label mark q "
    "rp rt ruby s small span strike strong sub sup time tt u var wbr"
)
"""Elements inside of a sentence; every other one ends it."""
DRAWN = _names("svg math object canvas")
UNTRANSLATED = _names("code kbd samp") | DRAWN
"""Elements inside of a sentence whose text is not translated."""
RAISED = _names("sup sub var")
"""Elements that stay as they are, beside their word, if there is no word in them: an exponent, an
index, a variable, the mark of a note."""
READINGS = _names("rt rp")
"""How a word is read, which stays beside it."""
UNREAD = _names("pre script style textarea template iframe audio video")
"""Elements that are left unchanged with all their content."""
RAW = _names("script style textarea")
VOID = _names("area base br col embed hr img input link meta source track wbr")
SPOKEN = ("alt", "title", "placeholder", "aria-label")
"""Attributes with text for readers."""

_CONTENT = dict.fromkeys(
    _names(
        "description keywords og:title og:description og:site_name og:image:alt twitter:title "
        "twitter:description twitter:image:alt"
    ),
    ("content",),
)
_SPOKEN_OF = {
    "meta": _CONTENT,
    "input": dict.fromkeys(("submit", "button", "reset"), ("value",)),
    "track": {"": ("label",)},
    "option": {"": ("label",)},
    "optgroup": {"": ("label",)},
}
"""Further attributes with text, by the element and by what its type, name or property says."""

_META_CHARSET = re.compile(rb"<meta[^<>]+charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class HtmlDocument:
    """A page: first the attributes with text, then the sentences with their tags."""

    text: str
    charset: str
    languages: Languages

    @cached_property
    def _attributes(self) -> TextDocument:
        return TextDocument(self.text, list(_spoken_in(self.text, self.languages)))

    @cached_property
    def _sentences(self) -> TextDocument:
        return TextDocument(self.text, list(slots_of(self.text)))

    @property
    def segments(self) -> Sequence[DocumentSegment]:
        return [*self._attributes.segments, *self._sentences.segments]

    def written(self, translations: Sequence[Translated]) -> bytes:
        """The page; its sentences are located again after its attributes are written."""
        many = len(self._attributes.slots)
        text = self._attributes.replaced(translations[:many])
        page = TextDocument(text, list(slots_of(text)))
        if len(page.slots) != len(self._sentences.slots):  # a broken tag, which has become another
            page = self._sentences
        return _encode_page(page.replaced(translations[many:]), self.charset)


def read_html(content: bytes, languages: Languages) -> HtmlDocument:
    """Reads a page, in the character set that it names.

    The attribute `lang` of the page becomes the target's language if it was the source's.
    """
    charset = _charset(content)
    return HtmlDocument(content.decode(charset, errors="surrogateescape"), charset, languages)


def _charset(content: bytes) -> str:
    """The character set that the page names; UTF-8 if it cannot be that one."""
    # A page in which the name can be read is not in UTF-16, and codecs such as "hex" are none.
    match = _META_CHARSET.search(content[:4096])
    try:
        named = codecs.lookup(match[1].decode()).name if match else "utf-8"
        read = b"<meta>\xff".decode(named, errors="surrogateescape")
        return named if read.startswith("<meta>") else "utf-8"
    except (LookupError, UnicodeError):
        return "utf-8"


def _encode_page(text: str, charset: str) -> bytes:
    """Characters that the page's character set lacks become references."""
    try:
        return text.encode(charset, errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(charset, errors="xmlcharrefreplace")


def _spoken_in(text: str, languages: Languages) -> Iterator[Slot]:
    walk = _Walk()
    for token in tokens(text, RAW):
        tag = text[token.start : token.end]
        if token.kind in ("open", "empty") and not walk.unread:
            if token.name.lower() == "html":
                yield from _language_slot(tag, token, languages)
            yield from _spoken(tag, token)
        walk.ends_sentence(token, tag)


def _language_slot(tag: str, token: Token, languages: Languages) -> Iterator[Slot]:
    """The page's language attributes, which change without a translation."""
    codes = [code for name, code in attributes(tag).items() if name in ("lang", "xml:lang")]
    for known in sorted(codes, key=lambda code: code.start):
        if not languages.target or known.value.lower().split("-")[0] != languages.source:
            continue
        start, end = token.start + known.start, token.start + known.end
        yield Slot(start, end, DocumentSegment(""), lambda _: languages.target, keep=False)


def slots_of(text: str, offset: int = 0) -> Iterator[Slot]:
    """The sentences of HTML, or of a part of it that begins at this character."""
    waiting: list[Token] = []
    walk = _Walk()
    for token in tokens(text, RAW):
        tag = text[token.start : token.end]
        if walk.ends_sentence(token, tag):
            yield from _sentence_slot(text, waiting, offset)
            waiting = []
        else:
            waiting.append(token)
    yield from _sentence_slot(text, waiting, offset)


class _Walk:
    """A walk over the tokens, which knows the elements left unchanged around each."""

    def __init__(self) -> None:
        self.unread: list[str] = []
        self.drawn: list[str] = []

    def ends_sentence(self, token: Token, tag: str) -> bool:
        """Whether the previous sentence ends here; elements left unchanged end one too."""
        name = token.name.lower()
        if self.unread:
            if token.kind == "open" and name == self.unread[-1]:
                self.unread.append(name)
            elif token.kind == "close" and name == self.unread[-1]:
                self.unread.pop()
            return True
        if self.drawn or name in DRAWN:  # with elements that would end a sentence elsewhere
            if token.kind == "open" and name in DRAWN:
                self.drawn.append(name)
            elif token.kind == "close" and self.drawn and name == self.drawn[-1]:
                self.drawn.pop()
            return False
        if token.kind == "open" and name not in VOID and name not in INLINE | UNTRANSLATED:
            if name in UNREAD or _untranslated(tag):
                self.unread.append(name)
            return True
        if token.kind in ("open", "close", "empty"):
            return name not in INLINE | UNTRANSLATED
        return False


def _untranslated(tag: str) -> bool:
    known = attributes(tag)
    values = {name: known[name].value.lower() for name in ("translate", "class") if name in known}
    return values.get("translate") == "no" or "notranslate" in values.get("class", "").split()


def _sentence_slot(text: str, sentence: list[Token], offset: int) -> Iterator[Slot]:
    content = paragraph(list(html_chunks(text, sentence)))
    if content is None:
        return
    start, end = sentence[0].start, sentence[-1].end
    before, segment, after = content
    yield Slot(
        offset + start + len(before), offset + end - len(after), segment,
        lambda translated: rendered(segment, translated, escape),
    )  # fmt: skip


def html_chunks(text: str, sentence: list[Token]) -> Iterator[Chunk]:
    """The tokens as chunks; an element whose text is kept is one, with all its content."""
    chunks = []
    for token in sentence:
        raw, name = text[token.start : token.end], token.name.lower()
        if token.kind == "text":
            chunks.append(Chunk("text", raw, unescape(raw)))
        elif token.kind in ("empty", "other") or name in VOID:
            chunks.append(Chunk("point", raw))
        else:
            chunks.append(Chunk(token.kind, raw, name=name))
    return whole_elements(chunks)


def whole_elements(chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """The chunks, with each element whose text is kept as one, with all its content."""
    raised = _raised(chunks)
    index = 0
    while index < len(chunks):
        chunk = chunks[index]
        last, kind = index + 1, chunk.kind
        if chunk.kind == "open" and chunk.raw.startswith("<"):
            if chunk.name in UNTRANSLATED or _untranslated(chunk.raw):
                last = end_of(chunks, last, chunk.name)
                words = any(one.text.strip() for one in chunks[index:last] if one.kind == "text")
                kind = "frozen" if words else "point"
            elif chunk.name in READINGS:
                last, kind = _end_of_reading(chunks, last), "point"
            elif index in raised:
                last, kind = raised[index] + 1, "point"
        if kind == chunk.kind:
            yield chunk
        else:
            yield Chunk(kind, "".join(one.raw for one in chunks[index:last]))
        index = last


def _raised(chunks: Sequence[Chunk]) -> dict[int, int]:
    """The first and last chunks of raised and lowered elements without a word in them."""
    ends: dict[int, int] = {}
    open_ones: list[int] = []
    for index, chunk in enumerate(chunks):
        if chunk.kind == "text" and open_ones and has_long_word(chunk.text):
            open_ones.clear()
        elif chunk.kind == "open" and chunk.name in RAISED:
            open_ones.append(index)
        elif chunk.kind == "close" and open_ones and chunk.name == chunks[open_ones[-1]].name:
            ends[open_ones.pop()] = index
    return ends


def _end_of_reading(chunks: Sequence[Chunk], index: int) -> int:
    """The index after a reading that begins before `index`; its end tag may be left out."""
    for number in range(index, len(chunks)):
        chunk = chunks[number]
        if chunk.kind == "open" and chunk.name in READINGS:
            return number
        if chunk.kind == "close":
            return number + (chunk.name in READINGS)
    return len(chunks)


def tagged_chunks(text: str, frozen: re.Pattern[str]) -> list[Chunk]:
    """The chunks of text with tags that is otherwise not HTML; matches of `frozen` are kept."""
    chunks = (
        Chunk("text", chunk.raw, chunk.raw) if chunk.kind == "text" else chunk
        for chunk in html_chunks(text, list(tokens(text)))
    )
    return with_frozen(chunks, frozen)


def _spoken(tag: str, token: Token) -> Iterator[Slot]:
    known = attributes(tag)
    if _untranslated(tag):
        return
    spoken = [*SPOKEN, *_SPOKEN_OF.get(token.name.lower(), {}).get(_kind(known), ())]
    values = [known[name] for name in spoken if name in known]
    for value in sorted(values, key=lambda value: value.start):
        words = " ".join(value.value.split())
        if has_word(words):
            start, end = token.start + value.start, token.start + value.end
            bare = "" if tag[value.start - 1] in "\"'" else '"'
            yield Slot(start, end, DocumentSegment(words), partial(_quoted, mark=bare))


def _kind(known: dict[str, Attribute]) -> str:
    names = (known[name].value.lower() for name in ("type", "name", "property") if name in known)
    return next(names, "")


def _quoted(translated: Translated, mark: str) -> str:
    return f"{mark}{html.escape(translated.text)}{mark}"
