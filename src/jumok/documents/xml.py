"""XLIFF and TMX: missing translations are added, and every other byte is kept."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from jumok.data.files.translators import is_language
from jumok.data.files.xliff import UNFINISHED
from jumok.documents.document import Languages, Slot, TextDocument, check_language
from jumok.documents.markup import Token, attributes, escape, tokens
from jumok.documents.segment import (
    DocumentSegment,
    Paragraph,
    Piece,
    Translated,
    paragraph,
    rendered,
)
from jumok.errors import DataError, Place
from jumok.late import late_imports

with late_imports("reading XML files", extra="documents"):
    from lxml import etree

TEXT = {"g", "mrk", "pc", "hi", "sub"}  # elements whose content is text
OPENS, CLOSES = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}  # two elements that enclose text


def read_xliff(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units without a finished translation.

    A new translation gets the state "needs-review-translation" (1.2) or "translated" (2).
    """
    return _document(content, "XLIFF", partial(_xliff_slots, languages=languages))


def read_tmx(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units that have the source language and not the target language, which is added.

    Raises:
        DataError: the target language is not known, or no unit is in the source language.
    """
    if not languages.target:
        raise DataError(
            "the model's target language is not known, and a TMX file needs it.",
            do="train with data.target_language set, or translate another format",
        )
    return _document(content, "TMX", partial(_tmx_slots, languages=languages))


def _document(
    content: bytes, name: str, slots: Callable[[str, list[Token]], Iterator[Slot]]
) -> TextDocument:
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        tree = etree.fromstring(content, parser).getroottree()
    except etree.XMLSyntaxError as error:
        raise DataError(
            f"the file is not well-formed {name}.", got=error.msg, place=Place(name, error.lineno)
        ) from None
    charset = tree.docinfo.encoding or "utf-8"
    text = content.decode(charset)
    found = sorted(slots(text, list(tokens(text))), key=lambda slot: slot.start)
    return TextDocument(text, found, partial(_encoded, charset=charset))


def _encoded(text: str, charset: str) -> bytes:
    return text.encode(charset, errors="xmlcharrefreplace")


def local(token: Token) -> str:
    """A tag's name without its prefix."""
    return token.name.rpartition(":")[2]


def pieces_of(text: str, inside: Sequence[Token]) -> list[Piece]:
    """The parts of a segment's content."""
    pieces: list[Piece] = []
    index = 0
    while index < len(inside):
        token = inside[index]
        raw, name = text[token.start : token.end], local(token)
        said = attributes(raw) if token.kind in ("open", "empty") else {}
        index += 1
        if token.kind == "text":
            pieces.append(Piece("text", raw, html.unescape(raw)))
            continue
        if name in TEXT and "translate" not in said and token.kind in ("open", "close"):
            pieces.append(Piece(token.kind, raw, name=name))
            continue
        if token.kind == "open":  # a code with all its content
            last = _end_of(inside, index, token.name)
            raw, index = text[token.start : inside[last - 1].end], last
        number = next(
            (said[key].value for key in ("i", "rid", "startref", "id") if key in said), ""
        )
        kind = "open" if name in OPENS else "close" if name in CLOSES else "point"
        frozen = name == "mrk"
        words = html.unescape(re.sub(r"<[^>]*>", "", raw)) if frozen else ""
        pieces.append(Piece("frozen" if frozen else kind, raw, words, f"code {number}"))
    return pieces


def _end_of(inside: Sequence[Token], index: int, name: str) -> int:
    depth = 1
    for place in range(index, len(inside)):
        if inside[place].name == name:
            depth += {"open": 1, "close": -1}.get(inside[place].kind, 0)
        if depth == 0:
            return place + 1
    return len(inside)


@dataclass
class _Side:
    """A source or target: its tags, and the tokens between them."""

    begin: Token
    inside: list[Token] = field(default_factory=list)
    end: Token | None = None

    def stop(self) -> int:
        """The index after it."""
        return (self.end or self.begin).end


def _paragraph(text: str, side: _Side) -> Paragraph | None:
    return paragraph(pieces_of(text, side.inside))


def _xliff_slots(text: str, found: list[Token], languages: Languages) -> Iterator[Slot]:
    sides: dict[str, _Side] = {}
    open_side: _Side | None = None
    apart = 0  # depth of elements whose sources are not to be translated
    unit: Token | None = None
    for token in found:
        name = local(token)
        step = {"open": 1, "close": -1}.get(token.kind, 0)
        if name in ("xliff", "file") and token.kind == "open":
            yield from _target_language(text, token, languages)
        if name in ("alt-trans", "matches", "originalData", "notes"):
            apart += step
        elif apart:
            continue
        elif name in ("trans-unit", "segment") and token.kind == "open":
            sides, unit = {}, token
        elif name in ("trans-unit", "segment") and token.kind == "close" and unit is not None:
            yield from _unit(text, unit, sides)
        elif name in ("source", "target", "seg-source") and token.kind != "close":
            sides[name] = _Side(token)
            open_side = sides[name] if token.kind == "open" else None
        elif name in ("source", "target", "seg-source") and open_side is not None:
            open_side.end, open_side = token, None
        elif open_side is not None:
            open_side.inside.append(token)


def _target_language(text: str, token: Token, languages: Languages) -> Iterator[Slot]:
    """Adds the target language if the file names only the source language.

    Raises:
        DataError: the file has other languages.
    """
    said = attributes(text[token.start : token.end])
    for source, target in (("source-language", "target-language"), ("srclang", "trgLang")):
        if source not in said:
            continue
        check_language(said[source].value, languages.source, "source")
        if target.lower() in said:
            check_language(said[target.lower()].value, languages.target, "target")
        elif languages.target:
            place = token.end - 1
            yield Slot(
                place,
                place,
                DocumentSegment(""),
                partial(_said, said=f' {target}="{languages.target}"'),
                keep=False,
            )


def _said(_: Translated, said: str) -> str:
    return said


def _unit(text: str, unit: Token, sides: dict[str, _Side]) -> Iterator[Slot]:
    source, target = sides.get("source"), sides.get("target")
    if source is None:
        return
    said = attributes(text[unit.start : unit.end])
    if said.get("translate") and said["translate"].value == "no":
        return
    found = _paragraph(text, source)
    if found is None:
        return
    old = local(unit) == "trans-unit"
    prefix = source.begin.name.removesuffix("source")
    if target is not None:
        words = "".join(text[each.start : each.end] for each in target.inside)
        state = attributes(text[target.begin.start : target.begin.end]).get("state")
        known = state or said.get("state")
        if words.strip() and not (known and known.value in UNFINISHED):
            return
    state_said = ' state="needs-review-translation"' if old else ""

    def write(translated: Translated) -> str:
        inside = f"{found.before}{rendered(found.segment, translated, escape)}{found.after}"
        return f"{space}<{prefix}target{state_said}>{inside}</{prefix}target>"

    if target is None:
        after = sides.get("seg-source", source)
        before = text[: source.begin.start]
        space = before[len(before.rstrip()) :]
        yield Slot(after.stop(), after.stop(), found.segment, write, keep=False)
    else:
        space = ""
        yield Slot(target.begin.start, target.stop(), found.segment, write, keep=False)


def _tmx_slots(text: str, found: list[Token], languages: Languages) -> Iterator[Slot]:
    source = languages.source
    variants: list[tuple[str, Token, _Side, Token]] = []
    variant, code, segment = None, "", None
    any_source = False
    for token in found:
        name, opens = local(token), token.kind == "open"
        raw = text[token.start : token.end]
        if name == "header" and token.kind != "close":
            known = attributes(raw).get("srclang")
            source = source or (known.value if known else "")
        elif name == "tu" and opens:
            variants = []
        elif name == "tu":
            any_source |= any(is_language(code, source) for code, *_ in variants)
            yield from _tu(text, variants, source, languages.target)
        elif name == "tuv" and opens:
            said = attributes(raw)
            value = said.get("xml:lang") or said.get("lang")
            variant, code = token, value.value if value else ""
        elif name == "tuv" and token.kind == "close" and variant and segment:
            variants.append((code, variant, segment, token))
            segment = None
        elif name == "seg":
            segment = segment if token.kind == "close" else _Side(token)
        elif segment is not None:
            segment.inside.append(token)
    if not any_source:
        raise DataError(
            "no unit of the TMX file is in the model's source language.",
            expected=source or "a language in the header: srclang",
        )


def _tu(
    text: str, variants: list[tuple[str, Token, _Side, Token]], source: str, target: str
) -> Iterator[Slot]:
    given = next((each for each in variants if is_language(each[0], source)), None)
    there = next((each for each in variants if is_language(each[0], target)), None)
    if given is None or (there and any(each.kind == "text" for each in there[2].inside)):
        return
    found = _paragraph(text, given[2])
    if found is None:
        return
    before = text[: given[1].start]
    space = before[len(before.rstrip()) :]

    def write(translated: Translated) -> str:
        inside = f"{found.before}{rendered(found.segment, translated, escape)}{found.after}"
        return f'{space}<tuv xml:lang="{target}"><seg>{inside}</seg></tuv>'

    if there is None:
        last = variants[-1][3].end
        yield Slot(last, last, found.segment, write, keep=False)
    else:
        space = ""
        yield Slot(there[1].start, there[3].end, found.segment, write, keep=False)
