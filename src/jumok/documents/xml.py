"""XLIFF and TMX: missing translations are added, and every other byte is kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from jumok.data.files.translators import TEXT_ELEMENTS, UNFINISHED, is_language
from jumok.documents.document import Languages, Slot, TextDocument, check_language
from jumok.documents.markup import Token, attributes, end_of, escape, tokens, unescape
from jumok.documents.placing import rendered
from jumok.documents.po import Message
from jumok.documents.segment import Chunk, DocumentSegment, Paragraph, Translated, paragraph
from jumok.errors import DataError, Location, optional_import

CDATA = "<![CDATA["
REVIEW = "needs-review-translation"
OPENS, CLOSES = {"bpt", "bx", "sc"}, {"ept", "ex", "ec"}  # two elements that enclose text


def read_xliff_document(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units without a finished translation.

    A new translation gets the state "needs-review-translation" (1.2) or "translated" (2).
    """
    return _xml_document(content, "XLIFF", partial(_xliff_slots, languages=languages))


def read_tmx_document(content: bytes, languages: Languages) -> TextDocument:
    """Reads the units that have the source language and not the target language, which is added.

    Raises:
        DataError: the target language is not known, or no unit is in the source language.
    """
    if not languages.target:
        raise DataError(
            "the model's target language is not known, and a TMX file needs it.",
            do="train with data.target_language set, or translate another format",
        )
    return _xml_document(content, "TMX", partial(_tmx_slots, languages=languages))


def _xml_document(
    content: bytes, name: str, slots: Callable[[str, list[Token]], Iterator[Slot]]
) -> TextDocument:
    with optional_import("reading XML files", extra="documents"):
        from lxml import etree

    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        tree = etree.fromstring(content, parser).getroottree()
    except etree.XMLSyntaxError as error:
        raise DataError(
            f"the file is not well-formed {name}.",
            got=error.msg,
            place=Location(name, error.lineno),
        ) from None
    charset = tree.docinfo.encoding or "utf-8"
    try:
        text = content.decode(charset)
    except LookupError:  # lxml knows more of them than Python
        raise DataError(
            "the character set of the file is not known.",
            got=charset,
            do="convert the file to UTF-8",
            place=Location(name),
        ) from None
    in_order = sorted(slots(text, list(tokens(text))), key=lambda slot: slot.start)
    return TextDocument(text, in_order, charset, "xmlcharrefreplace")


def local(token: Token) -> str:
    """A tag's name without its prefix."""
    return token.name.rpartition(":")[2]


def xml_chunks(text: str, inside: Sequence[Token]) -> list[Chunk]:
    """The parts of a segment's content."""
    chunks: list[Chunk] = []
    index = 0
    while index < len(inside):
        token = inside[index]
        raw, name = text[token.start : token.end], local(token)
        known = attributes(raw) if token.kind in ("open", "empty") else {}
        index += 1
        if token.kind == "text":
            chunks.append(Chunk("text", raw, unescape(raw)))
            continue
        if raw.startswith(CDATA):
            chunks.append(Chunk("text", raw, raw[len(CDATA) : -3]))
            continue
        if name == "sm" and "translate" in known and known["translate"].value == "no":
            index = _end_of_marked(text, inside, index, known["id"].value if "id" in known else "")
            raw = text[token.start : inside[index - 1].end]
            chunks.append(Chunk("frozen", raw))
            continue
        protected = "translate" in known or (
            "mtype" in known and known["mtype"].value == "protected"
        )
        if name in TEXT_ELEMENTS and not protected and token.kind in ("open", "close"):
            chunks.append(Chunk(token.kind, raw, name=name))
            continue
        if token.kind == "open":  # a code with all its content
            last = end_of(inside, index, token.name)
            raw, index = text[token.start : inside[last - 1].end], last
        number = next(
            (known[key].value for key in ("i", "rid", "startref", "id") if key in known), ""
        )
        kind = "open" if name in OPENS else "close" if name in CLOSES else "point"
        chunks.append(Chunk("frozen" if name == "mrk" else kind, raw, name=f"code {number}"))
    return chunks


def _end_of_marked(text: str, inside: Sequence[Token], index: int, number: str) -> int:
    """The index after the end of a mark without content, `sm`, that begins before `index`."""
    for place in range(index, len(inside)):
        token = inside[place]
        if local(token) == "em":
            known = attributes(text[token.start : token.end])
            if "startref" in known and known["startref"].value == number:
                return place + 1
    return index


@dataclass
class _Side:
    """A source or target: its tags, and the tokens between them."""

    begin: Token
    inside: list[Token] = field(default_factory=list)
    end: Token | None = None

    def stop(self) -> int:
        return (self.end or self.begin).end


def _paragraph(text: str, side: _Side) -> Paragraph | None:
    return paragraph(xml_chunks(text, side.inside))


def _xliff_slots(text: str, sequence: list[Token], languages: Languages) -> Iterator[Slot]:
    sides: dict[str, _Side] = {}
    open_side: _Side | None = None
    apart = 0  # depth of elements whose sources are not to be translated
    unit: Token | None = None
    kept: list[bool] = []  # of the elements around: whether they are not to be translated
    for token in sequence:
        name = local(token)
        step = {"open": 1, "close": -1}.get(token.kind, 0)
        if name in ("file", "group", "unit") and step > 0:
            kept.append(_is_kept(text, token, kept))
        elif name in ("file", "group", "unit") and step < 0 and kept:
            kept.pop()
        if name in ("xliff", "file") and token.kind == "open":
            yield from _target_language(text, token, languages)
        if name in ("alt-trans", "matches", "originalData", "notes"):
            apart += step
        elif apart:
            continue
        elif name in ("trans-unit", "segment") and token.kind == "open":
            sides, unit = {}, token
        elif name in ("trans-unit", "segment") and token.kind == "close" and unit is not None:
            if not _is_kept(text, unit, kept):
                yield from _unit(text, unit, sides)
        elif name in ("source", "target", "seg-source") and token.kind != "close":
            sides[name] = _Side(token)
            open_side = sides[name] if token.kind == "open" else None
        elif name in ("source", "target", "seg-source") and open_side is not None:
            open_side.end, open_side = token, None
        elif open_side is not None:
            open_side.inside.append(token)


def _is_kept(text: str, token: Token, around: Sequence[bool]) -> bool:
    """Whether an element is not to be translated, by its own attribute or the element around it."""
    said = attributes(text[token.start : token.end]).get("translate")
    return said.value == "no" if said else bool(around and around[-1])


def _target_language(text: str, token: Token, languages: Languages) -> Iterator[Slot]:
    """Adds the target language if the file names only the source language.

    Raises:
        DataError: the file has other languages.
    """
    known = attributes(text[token.start : token.end])
    for source, target in (("source-language", "target-language"), ("srclang", "trgLang")):
        if source not in known:
            continue
        check_language(known[source].value, languages.source, "source")
        if target.lower() in known:
            check_language(known[target.lower()].value, languages.target, "target")
        elif languages.target:
            added = f' {target}="{languages.target}"'
            at = token.end - 1
            yield Slot(at, at, DocumentSegment(""), partial(_constant, added), keep=False)


def _constant(text: str, _: Translated) -> str:
    return text


def _unit(text: str, unit: Token, sides: dict[str, _Side]) -> Iterator[Slot]:
    source, target = sides.get("source"), sides.get("target")
    if source is None:
        return
    known = attributes(text[unit.start : unit.end])
    state, unfinished = None, True
    if target is not None:
        state = attributes(text[target.begin.start : target.begin.end]).get("state")
        named = state or known.get("state")
        unfinished = bool(named and named.value in UNFINISHED)
    segmented = sides.get("seg-source", source)
    parts = _segments(segmented.inside, text) or [_UnitPart(segmented.inside)]
    draft = known.get("state") if target is not None and unfinished else None
    if draft and any(paragraph(xml_chunks(text, part.inside)) for part in parts):
        span = unit.start + draft.start, unit.start + draft.end
        done = partial(_constant, "translated")
        yield Slot(*span, DocumentSegment(""), done, keep=False)
    present = {part.number: part for part in _segments(target.inside, text)} if target else {}
    if target is not None and parts[0].number and {one.number for one in parts} <= present.keys():
        new = [
            (part, present[part.number], paragraph(xml_chunks(text, part.inside)))
            for part in parts
            if unfinished or not _has_text(text, present[part.number].inside)
        ]
        if state and any(content for *_, content in new) and local(unit) == "trans-unit":
            span = target.begin.start + state.start, target.begin.start + state.end
            yield Slot(*span, DocumentSegment(""), partial(_constant, REVIEW), keep=False)
        for part, there, content in new:
            tags = there.tags(text)
            if content is not None:
                yield _written(content, *tags, *there.span())
            elif part.inside:  # a number, a sign
                same = text[part.inside[0].start : part.inside[-1].end]
                copied = partial(_constant, f"{tags[0]}{same}{tags[1]}")
                yield Slot(*there.span(), DocumentSegment(""), copied, keep=False)
        return
    if target is not None and not unfinished and _has_text(text, target.inside):
        return
    prefix = source.begin.name.removesuffix("source")
    state_attribute = f' state="{REVIEW}"' if local(unit) == "trans-unit" else ""
    begin, end = f"<{prefix}target{state_attribute}>", f"</{prefix}target>"
    first, last = (target.begin.start, target.stop()) if target else (segmented.stop(),) * 2
    if target is None:
        begin = _space_before(text, source.begin) + begin
    yield from _rebuilt(text, segmented, parts, begin, end, first, last)


class _UnitPart(NamedTuple):
    """What is translated at once: a whole source, or a `mrk` of its segmentation.

    Attributes:
        begin, end: the tags of the mrk; without an `end` it is an empty element.
    """

    inside: Sequence[Token]
    begin: Token | None = None
    end: Token | None = None
    number: str = ""

    def span(self) -> tuple[int, int]:
        assert self.begin is not None
        return self.begin.start, (self.end or self.begin).end

    def tags(self, text: str) -> tuple[str, str]:
        assert self.begin is not None
        begin = text[self.begin.start : self.begin.end]
        if self.end is not None:
            return begin, text[self.end.start : self.end.end]
        return begin.removesuffix("/>").rstrip() + ">", f"</{self.begin.name}>"


def _segments(inside: Sequence[Token], text: str) -> list[_UnitPart]:
    """The outermost `mrk` elements that are segments, in order."""
    parts: list[_UnitPart] = []
    index = 0
    while index < len(inside):
        token = inside[index]
        index += 1
        if local(token) != "mrk" or token.kind not in ("open", "empty"):
            continue
        known = attributes(text[token.start : token.end])
        if "mtype" not in known or known["mtype"].value != "seg" or "mid" not in known:
            continue
        number = known["mid"].value
        if token.kind == "empty":
            parts.append(_UnitPart((), token, None, number))
        else:
            last = end_of(inside, index, token.name)
            parts.append(_UnitPart(inside[index : last - 1], token, inside[last - 1], number))
            index = last
    return parts


def _has_text(text: str, inside: Sequence[Token]) -> bool:
    """Whether there is anything but white space and the marks of segments."""
    return any(text[token.start : token.end].strip() for token in inside if local(token) != "mrk")


def _rebuilt(
    text: str, side: _Side, parts: Sequence[_UnitPart], begin: str, end: str, first: int, last: int
) -> Iterator[Slot]:
    """A target with the segments of the source, instead of the text between two places."""
    contents = [paragraph(xml_chunks(text, part.inside)) for part in parts]
    if not any(contents):
        return
    at = copied = side.begin.end
    for part, content in zip(parts, contents, strict=True):
        start, at = (part.inside[0].start, part.inside[-1].end) if part.inside else (at, at)
        if content is not None:
            yield _written(content, begin + text[copied:start], "", first, last)
            begin, first, copied = "", last, at
    close = begin + text[copied : side.end.start if side.end else at] + end
    yield Slot(last, last, DocumentSegment(""), partial(_constant, close), keep=False)


def _written(content: Paragraph, begin: str, end: str, first: int, last: int) -> Slot:
    """A translation of a segment's content between two texts."""

    labelled = Message.of(content.segment.text)  # the key of a menu's entry
    usual = content.segment.inlines or not labelled.accelerator or len(labelled.segments) != 1
    message = None if usual else labelled

    def write(translated: Translated) -> str:
        if message is None:
            inside = rendered(content.segment, translated, escape)
        else:
            inside = escape(message.written([translated]))
        return f"{begin}{content.before}{inside}{content.after}{end}"

    segment = content.segment if message is None else message.segments[0]
    return Slot(first, last, segment, write, keep=False)


def _space_before(text: str, token: Token) -> str:
    start = token.start
    while start and text[start - 1].isspace():
        start -= 1
    return text[start : token.start]


def _tmx_slots(text: str, sequence: list[Token], languages: Languages) -> Iterator[Slot]:
    source = languages.source
    variants: list[tuple[str, Token, _Side, Token]] = []
    variant, code, segment = None, "", None
    any_in_source = False
    for token in sequence:
        name, opens = local(token), token.kind == "open"
        raw = text[token.start : token.end]
        if name == "header" and token.kind != "close":
            attribute = attributes(raw).get("srclang")
            source = source or (attribute.value if attribute else "")
        elif name == "tu" and opens:
            variants = []
        elif name == "tu":
            any_in_source |= any(is_language(code, source) for code, *_ in variants)
            yield from _tu(text, variants, source, languages.target)
        elif name == "tuv" and opens:
            known = attributes(raw)
            value = known.get("xml:lang") or known.get("lang")
            variant, code = token, value.value if value else ""
        elif name == "tuv" and token.kind == "close" and variant and segment:
            variants.append((code, variant, segment, token))
            segment = None
        elif name == "seg":
            segment = segment if token.kind == "close" else _Side(token)
        elif segment is not None:
            segment.inside.append(token)
    if not any_in_source:
        raise DataError(
            "no unit of the TMX file is in the model's source language.",
            expected=source or "a language in the header: srclang",
        )


def _tu(
    text: str, variants: list[tuple[str, Token, _Side, Token]], source: str, target: str
) -> Iterator[Slot]:
    from_source = next((one for one in variants if is_language(one[0], source)), None)
    existing = next((one for one in variants if is_language(one[0], target)), None)
    if from_source is None:
        return
    if existing and any(token.kind == "text" for token in existing[2].inside):
        return
    content = _paragraph(text, from_source[2])
    if content is None:
        return
    begin, end = f'<tuv xml:lang="{target}"><seg>', "</seg></tuv>"
    if existing is not None:
        yield _written(content, begin, end, existing[1].start, existing[3].end)
    else:
        at = variants[-1][3].end
        yield _written(content, _space_before(text, from_source[1]) + begin, end, at, at)
