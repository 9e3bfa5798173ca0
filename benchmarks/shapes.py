"""Documents with as much in them as a size allows: what readers and writers find hardest.

Each shape is a pattern that is repeated, between what makes a document of it.
"""

import io
import zipfile
from dataclasses import dataclass

from benchmarks.shapes_of_text import HTML, LINES, MARKDOWN

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@dataclass(frozen=True)
class Shape:
    """A kind of document.

    Attributes:
        format: as in `jumok.documents.catalog.FORMATS`.
        name: what there is much of.
        head, pump, middle, back, tail: the parts; `pump` and `back` are repeated equally often.
    """

    format: str
    name: str
    head: str
    pump: str
    middle: str = ""
    back: str = ""
    tail: str = ""

    def content(self, size: int) -> bytes:
        """A document of about so many bytes; of DOCX, in its XML."""
        text = self.text(size)
        return packed(text) if self.format == "docx" else text.encode()

    def text(self, size: int) -> str:
        """The text of such a document, or its XML."""
        around = len(self.head + self.middle + self.tail)
        count = max(1, (size - around) // len(self.pump + self.back))
        return self.head + self.pump * count + self.middle + self.back * count + self.tail


def packed(text: str) -> bytes:
    """A Word document with this XML."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", text)
    return file.getvalue()


SIGNS = "*[<&{\"\\ _`(:|$%#!'=-~^@./,"


def _shapes(
    format: str, begin: str, end: str, shapes: dict[str, tuple[str, ...]], text: str, after: str
) -> list[Shape]:
    """
    Args:
        text: the name of a shape in which texts stand; there each of SIGNS is repeated as well.
        after: what ends such a text.
    """
    signs = {f"signs {sign}": (shapes[text][0] + "cat ", sign, after) for sign in SIGNS}
    signs |= {f"words with {sign}": (shapes[text][0], f"{sign}cat ", after) for sign in SIGNS}
    made = []
    for name, parts in (shapes | signs).items():
        head, pump, middle, back, tail = (*parts, "", "", "", "")[:5]
        made.append(Shape(format, name, begin + head, pump, middle, back, tail + end))
    return made


RUN = "<w:r><w:t>cat </w:t></w:r>"
BOLD = "<w:r><w:rPr><w:b/></w:rPr><w:t>cat </w:t></w:r>"
DOCX = {
    "words": ("<w:p><w:r><w:t>", "cat ", "</w:t></w:r></w:p>"),
    "paragraphs": ("", f"<w:p>{RUN}</w:p>"),
    "runs": ("<w:p>", RUN, "</w:p>"),
    "formats of a word": ("<w:p>", (BOLD + RUN).replace(" <", "<"), "</w:p>"),
    "formats": ("<w:p>", BOLD + RUN, "</w:p>"),
    "tabs": ("<w:p><w:r>", "<w:t>cat </w:t><w:tab/>", "</w:r></w:p>"),
    "texts of a run": ("<w:p><w:r>", "<w:t>cat </w:t>", "</w:r></w:p>"),
    "notes": (f"<w:p>{RUN}<w:r>", "<w:footnoteReference/>", "</w:r></w:p>"),
    "notes between": ("<w:p><w:r>", "<w:t>cat </w:t><w:footnoteReference/>", "</w:r></w:p>"),
    "links": ("<w:p>", f"<w:hyperlink>{RUN}</w:hyperlink>{RUN}", "</w:p>"),
    "runs of a link": (f"<w:p>{RUN}<w:hyperlink>", RUN, "</w:hyperlink></w:p>"),
    "fields": ("<w:p>", f"<w:fldSimple>{RUN}</w:fldSimple>", "</w:p>"),
    "controls": ("<w:p>", f"<w:sdt><w:sdtContent>{RUN}</w:sdtContent></w:sdt>", "</w:p>"),
    "nested links": ("<w:p>" + RUN, "<w:hyperlink>", RUN, "</w:hyperlink>", "</w:p>"),
    "nested tables": ("", "<w:tbl>", f"<w:p>{RUN}</w:p>", "</w:tbl>"),
    "nested boxes": ("", "<w:p><w:r><w:pict>", f"<w:p>{RUN}</w:p>", "</w:pict></w:r></w:p>"),
    "boxes": ("<w:p>", f"<w:r><w:pict><w:p>{RUN}</w:p></w:pict></w:r>", "</w:p>"),
    "properties": ("<w:p><w:r><w:rPr>", "<w:b/>", f"</w:rPr><w:t>cat</w:t></w:r>{BOLD}</w:p>"),
    "raised": (
        f"<w:p>{RUN}",
        '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>1</w:t></w:r>',
        "</w:p>",
    ),
    "empty paragraphs": (f"<w:p>{RUN}</w:p>", "<w:p/>"),
    "bookmarks": ("<w:p>" + RUN, "<w:bookmarkStart/>", RUN + "</w:p>"),
    "bookmarks between": ("<w:p>" + RUN, f"<w:bookmarkStart/>{RUN}", "</w:p>"),
}
UNIT = "<trans-unit><source>cat</source></trans-unit>"
XLIFF = {
    "units": ("", UNIT),
    "units with targets": ("", UNIT.replace("</trans", "<target/></trans")),
    "words": ("<trans-unit><source>", "cat ", "</source></trans-unit>"),
    "elements": ("<trans-unit><source>cat ", "<g>cat</g> ", "</source></trans-unit>"),
    "codes": ("<trans-unit><source>cat ", "<x/>", "</source></trans-unit>"),
    "long codes": ("<trans-unit><source>cat ", "<ph>a</ph>", "</source></trans-unit>"),
    "pairs": ("<trans-unit><source>cat ", '<bx id="1"/>a <ex id="1"/>', "</source></trans-unit>"),
    "opened": ("<trans-unit><source>cat ", '<bx id="1"/>', "</source></trans-unit>"),
    "segments": (
        "<trans-unit><source>cat</source><seg-source>",
        '<mrk mtype="seg" mid="1">cat </mrk>',
        "</seg-source></trans-unit>",
    ),
    "segments without words": (
        "<trans-unit><source>cat</source><seg-source>cat",
        '<mrk mtype="seg" mid="1">1</mrk>',
        '<mrk mtype="seg" mid="1">cat</mrk></seg-source></trans-unit>',
    ),
    "nested segments": (
        "<trans-unit><source>cat</source><seg-source>",
        '<mrk mtype="seg" mid="1">',
        "cat",
        "</mrk>",
        "</seg-source></trans-unit>",
    ),
    "both segments": (
        "<trans-unit><source>cat</source><seg-source>",
        '<mrk mtype="seg" mid="1">cat </mrk>',
        "</seg-source><target>",
        '<mrk mtype="seg" mid="1"/>',
        "</target></trans-unit>",
    ),
    "nested": ("<trans-unit><source>cat ", "<g>", "cat", "</g>", "</source></trans-unit>"),
    "nested codes": ("<trans-unit><source>cat ", "<ph>", "", "</ph>", "</source></trans-unit>"),
    "groups": ("", "<group>", UNIT, "</group>"),
    "files": ("", '</body></file><file source-language="en"><body>', UNIT),
    "spaces": ("", "\n", UNIT),
    "comments": ("<trans-unit><source>cat ", "<!--a-->", "</source></trans-unit>"),
    "cdata": ("<trans-unit><source>cat ", "<![CDATA[a]]>", "</source></trans-unit>"),
    "references": ("<trans-unit><source>cat ", "&amp;", "</source></trans-unit>"),
}
TUV = '<tuv xml:lang="en"><seg>cat</seg></tuv>'
TMX = {
    "units": ("", f"<tu>{TUV}</tu>\n"),
    "variants": ("<tu>", TUV, "</tu>"),
    "words": ('<tu><tuv xml:lang="en"><seg>', "cat ", "</seg></tuv></tu>"),
    "elements": ('<tu><tuv xml:lang="en"><seg>cat ', "<hi>cat</hi> ", "</seg></tuv></tu>"),
    "codes": ('<tu><tuv xml:lang="en"><seg>cat ', "<ph>a</ph>", "</seg></tuv></tu>"),
    "nested": ('<tu><tuv xml:lang="en"><seg>cat ', "<hi>", "cat", "</hi>", "</seg></tuv></tu>"),
    "properties": (f"<tu>{TUV}", "<prop>a</prop>", "</tu>"),
    "spaces": ("", "\n", f"<tu>{TUV}</tu>"),
    "spaces between": ("<tu>", f"          {TUV}", "</tu>"),
    "comments": ('<tu><tuv xml:lang="en"><seg>cat ', "<!--a-->", "</seg></tuv></tu>"),
}
PO = {
    "entries": ("", 'msgid "cat"\nmsgstr ""\n\n'),
    "lines": ('msgid "cat"\n', '"cat\\n"\n', 'msgstr ""\n'),
    "words": ('msgid "', "cat ", '"\nmsgstr ""\n'),
    "a word": ('msgid "', "cat", '"\nmsgstr ""\n'),
    "placeholders": ('msgid "cat ', "%s ", '"\nmsgstr ""\n'),
    "percents": ('msgid "cat ', "%", '"\nmsgstr ""\n'),
    "zeros": ('msgid "cat %', "0", '"\nmsgstr ""\n'),
    "names": ('msgid "cat ', "%(", '"\nmsgstr ""\n'),
    "braces": ('msgid "cat ', "{", '"\nmsgstr ""\n'),
    "keys": ('msgid "cat ', "&a ", '"\nmsgstr ""\n'),
    "underlines": ('msgid "cat ', "_a", '"\nmsgstr ""\n'),
    "tags": ('msgid "cat ', "<b>a</b> ", '"\nmsgstr ""\n'),
    "angles": ('msgid "cat ', "<", '"\nmsgstr ""\n'),
    "comments": ("", "# cat\n", 'msgid "cat"\nmsgstr ""\n'),
    "places": ("", "#: a.c:1\n", 'msgid "cat"\nmsgstr ""\n'),
    "flags": ("", "#, fuzzy\n", 'msgid "cat"\nmsgstr ""\n'),
    "old": ("", '#~ msgid "cat"\n#~ msgstr ""\n\n'),
    "escapes": ('msgid "cat ', "\\\\", '"\nmsgstr ""\n'),
    "plurals": ("", 'msgid "cat"\nmsgid_plural "cats"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'),
    "forms": ('msgid "cat"\nmsgid_plural "cats"\n', 'msgstr[0] ""\n'),
    "blank lines": ("", "\n", 'msgid "cat"\nmsgstr ""\n'),
}
TIMES = "00:00:01,000 --> 00:00:02,000\n"
SRT = {
    "cues": ("", f"1\n{TIMES}cat\n\n"),
    "lines of a cue": (f"1\n{TIMES}", "cat\n"),
    "speakers": (f"1\n{TIMES}", "- cat\n"),
    "words": (f"1\n{TIMES}", "cat "),
    "times": ("", TIMES),
    "blank lines": (f"1\n{TIMES}", "  \n", f"cat\n\n1\n{TIMES}cat\n"),
    "spaces": (f"1\n{TIMES}", " ", "cat\n"),
    "styles": (f"1\n{TIMES}cat ", "{\\an8}"),
    "times of words": (f"1\n{TIMES}cat ", "<00:01> cat"),
    "tags": (f"1\n{TIMES}cat ", "<i>cat</i> "),
    "braces": (f"1\n{TIMES}cat ", "{"),
    "angles": (f"1\n{TIMES}cat ", "<"),
    "digits": (f"1\n{TIMES}cat\n", "1"),
    "arrows": (f"1\n{TIMES}cat\n\n", "1:11 --> "),
}
VTT = SRT | {
    "notes": ("", "NOTE cat\n\n", f"{TIMES}cat\n"),
    "styles": ("STYLE\n", "a {b: c}\n", f"\n{TIMES}cat\n"),
    "classes": (f"{TIMES}cat ", "<c.a.b>cat</c> "),
    "open classes": (f"{TIMES}cat ", "<c."),
    "nested classes": (f"{TIMES}", "<c>", "cat", "</c>"),
    "voices": (f"{TIMES}", "<v Bob>cat\n"),
    "ruby": (f"{TIMES}cat ", "<ruby>a<rt>b</rt></ruby> "),
    "references": (f"{TIMES}cat ", "&amp;"),
    "broken references": (f"{TIMES}cat ", "&a"),
    "settings": (TIMES.rstrip(), " a:b", "\ncat\n"),
    "a time": ("", "1:", "00.000 --> 00:01.000\ncat\n"),
}
DIALOGUE = "Dialogue: 0,0:00:01.00,0:00:02.00,"
EVENTS = "[Script Info]\n[Events]\nFormat: Layer, Start, End, Text\n"
ASS = {
    "events": ("", f"{DIALOGUE}cat\n"),
    "lines": (DIALOGUE, "cat\\N"),
    "styles": (f"{DIALOGUE}cat ", "{\\k20}cat "),
    "braces": (f"{DIALOGUE}cat ", "{"),
    "commas": (f"{DIALOGUE}cat", ","),
    "fields": ("Format: ", "a, ", "Text\nDialogue: ", "a,", "cat\n"),
    "sections": ("", "[a]\n"),
    "words": (DIALOGUE, "cat "),
}
PROPERTIES = {
    "messages": ("", "a.b=cat\n"),
    "words": ("a=", "cat "),
    "lines": ("a=", "cat \\\n"),
    "placeholders": ("a=cat ", "{0} "),
    "escapes": ("a=cat ", "\\u0041"),
    "comments": ("", "# cat\n", "a=cat\n"),
    "keys": ("", "a", "=cat\n"),
    "backslashes": ("a=cat ", "\\\\"),
}
STRINGS = {
    "messages": ("", '"a" = "cat";\n'),
    "words": ('"a" = "', "cat ", '";\n'),
    "comments": ("", "/* cat */\n", '"a" = "cat";\n'),
    "open comments": ("", "/* ", '"a" = "cat";\n'),
    "open messages": ("", '"a" = '),
    "one message": ("", '"a"'),
    "names": ("", "a = "),
    "escapes": ('"a" = "cat ', '\\"', '";\n'),
}
YAML = {
    "items": ("", "- cat\n"),
    "words": ("a: ", "cat "),
    "nested": ("", "[", "cat", "]"),
    "aliases": ("a: &a cat\nb: [*a", ", *a", "]\n"),
    "anchors": ("- cat\n", "- &a cat\n"),
    "blocks": ("a: |\n", "  cat\n"),
    "quoted": ('a: "', "cat\\n", '"\n'),
    "comments": ("", "# cat\n", "a: cat\n"),
    "items in a line": ("", "- ", "cat\n"),
    "keys": ("", "a:\n ", "cat"),
    "explicit keys": ("", "? ", "a"),
    "open maps": ("", "{a: "),
    "a key": ("", "a", ": cat\n"),
    "tags": ("a: ", "!a ", "cat\n"),
    "documents": ("a: cat\n", "---\na: cat\n"),
    "directives": ("", "%YAML 1.1\n", "---\na: cat\n"),
    "merged": ("a: &a {b: cat}\nc:\n", "  <<: *a\n"),
    "blank lines": ("a: |\n  cat\n", "\n", "  cat\n"),
    "folded": ("a: >\n", "  cat\n\n"),
}
JSON = {
    "messages": ('{"a": "cat"', ', "b": "cat"', "}"),
    "items": ('["cat"', ', "cat"', "]"),
    "words": ('{"a": "', "cat ", '"}'),
    "nested": ('{"a": ', "[", '"cat"', "]", "}"),
    "placeholders": ('{"a": "cat ', "{b} ", '"}'),
    "lines": ('{"a": "', "cat\\n", '"}'),
    "objects": ('{"a": ', '{"b":', '"cat"', "}", "}"),
    "open": ('{"a": ', '{"b":'),
    "numbers": ('{"a": "cat", "b": [1', ", 1", "]}"),
    "a number": ('{"a": "cat", "b": 1', "1", "}"),
    "escapes": ('{"a": "', "\\u0041", '"}'),
    "keys": ('{"a', "a", '": "cat"}'),
    "plurals": ('{"a": "', "{n, plural, other {", "cat", "}}", '"}'),
    "spaces": ('{"a":', " ", '"cat"}'),
}
PARAGRAPHS = {
    "words": ("", "cat "),
    "a word": ("", "cat"),
    "lines": ("", "cat\n"),
    "paragraphs": ("", "cat\n\n"),
    "items": ("", "- cat\n"),
    "spaces": ("cat", " ", "cat"),
    "indented": ("", "   cat\n"),
    "numbers": ("1", "1", ". cat\n"),
    "marks": ("", "> ", "cat\n"),
    "rules": ("cat\n", "---\n"),
    "hyphens": ("", "cat-\n"),
    "sentences": ("", "The cat. "),
    "returns": ("cat", "\r", "cat"),
}
NOTEBOOK = '{"cells": [', "]}"
CELL = '{"cell_type": "markdown", "source": ["cat"]}'
IPYNB = {
    "words": ('{"cell_type": "markdown", "source": ["', "cat ", '"]}'),
    "code": ('{"cell_type": "code", "outputs": [], "source": ["', "cat ", '"]}'),
    "outputs": (
        '{"cell_type": "code", "source": [], "outputs": [{}',
        ', {"output_type": "stream", "text": ["cat"]}',
        "]}",
    ),
    "nested": ('{"cell_type": "raw", "metadata": ', '{"a":', "1", "}", "}"),
    "images": (f'{CELL}, {{"cell_type": "markdown", "source": ["', "![a](data:b)", '"]}'),
    "cells": (CELL, f", {CELL}"),
    "lines": ('{"cell_type": "markdown", "source": ["cat"', ', "cat\\n"', "]}"),
}
XLIFF_ENDS = '<xliff version="1.2"><file source-language="en"><body>', "</body></file></xliff>"
TMX_ENDS = '<tmx><header srclang="en"/><body>', "</body></tmx>"
HEADER = 'msgid ""\nmsgstr "Language: \\n"\n\n'

SHAPES = [
    *_shapes("html", "<html><body>", "", HTML, "words", "</p>"),
    *_shapes("markdown", "", "", MARKDOWN, "words", ""),
    *_shapes(
        *("docx", f"<w:document {W}><w:body>", "</w:body></w:document>"),
        *(DOCX, "words", "</w:t></w:r></w:p>"),
    ),
    *_shapes("xliff", *XLIFF_ENDS, XLIFF, "words", "</source></trans-unit>"),
    *_shapes("tmx", *TMX_ENDS, TMX, "words", "</seg></tuv></tu>"),
    *_shapes("po", HEADER, "", PO, "words", '"\nmsgstr ""\n'),
    *_shapes("srt", "", "", SRT, "words", "\n"),
    *_shapes("vtt", "WEBVTT\n\n", "", VTT, "words", "\n"),
    *_shapes("ass", EVENTS, "", ASS, "words", "\n"),
    *_shapes("properties", "", "", PROPERTIES, "words", "\n"),
    *_shapes("strings", "", "", STRINGS, "words", '";\n'),
    *_shapes("yaml", "", "", YAML, "quoted", '"\n'),
    *_shapes("json", "", "", JSON, "words", '"}'),
    *_shapes("ipynb", *NOTEBOOK, IPYNB, "words", '"]}'),
    *_shapes("paragraphs", "", "", PARAGRAPHS, "words", ""),
    *_shapes("lines", "", "", LINES, "words", ""),
]
"""All of them; those of "lines" are no documents, but lines as `jumok translate` reads them."""
