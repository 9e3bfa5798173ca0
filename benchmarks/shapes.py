"""Documents with as much in them as a size allows: what readers and writers find hardest.

Each shape is a pattern that is repeated, between what makes a document of it.
"""

import io
import zipfile
from dataclasses import dataclass

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


def _shapes(format: str, begin: str, end: str, shapes: dict[str, tuple[str, ...]]) -> list[Shape]:
    made = []
    for name, parts in shapes.items():
        head, pump, middle, back, tail = (*parts, "", "", "", "")[:5]
        made.append(Shape(format, name, begin + head, pump, middle, back, tail + end))
    return made


HTML = {
    "words": ("<p>", "cat "),
    "a word": ("<p>", "cat"),
    "blocks": ("", "<p>cat</p>"),
    "inlines": ("<p>", "<b>cat</b> dog "),
    "inlines of a word": ("<p>", "<b>cat</b>dog"),
    "images in a word": ("<p>cat", "<img src=a>cat"),
    "unclosed inlines": ("<p>cat ", "<b>cat "),
    "unopened inlines": ("<p>cat ", "cat</b> "),
    "crossed inlines": ("<p>cat ", "<b>cat <i>dog</b> ox</i> "),
    "nested inlines": ("<p>cat ", "<b>a ", "cat", " dog</b>"),
    "nested blocks": ("", "<div>", "cat", "</div>"),
    "unclosed blocks": ("", "<div>cat"),
    "images": ("<p>cat ", "<img src=a>"),
    "spoken": ("<p>cat ", "<img alt='cat'>"),
    "code": ("<p>cat ", "<code>a</code> "),
    "nested code": ("<p>cat ", "<code>", "a", "</code>"),
    "unclosed code": ("<p>cat ", "<code>cat "),
    "superscripts": ("<p>cat ", "<sup>1</sup> "),
    "unclosed superscripts": ("<p>cat ", "<sup>1 "),
    "unread": ("<p>cat ", "<pre>"),
    "scripts": ("<p>cat ", "<script>a</script>"),
    "unclosed scripts": ("<p>cat ", "<script>a"),
    "attributes": ("<p ", "a=b ", ">cat</p>"),
    "attributes of an inline": ("<p>cat <i ", "a='b' ", ">cat</i> dog"),
    "a name of an attribute": ("<p>cat <i ", "a", ">cat</i> dog"),
    "quotes": ("<p>", '<a"'),
    "both quotes": ("<p>", "<a\"'"),
    "angles": ("<p>cat ", "<"),
    "tags without end": ("<p>cat ", "<a "),
    "ends without name": ("<p>cat ", "</"),
    "comments": ("<p>cat ", "<!--a-->"),
    "unclosed comments": ("<p>cat ", "<!--"),
    "declarations": ("<p>cat ", "<!a>"),
    "cdata": ("<p>cat ", "<![CDATA[a]]>"),
    "unclosed cdata": ("<p>cat ", "<![CDATA["),
    "references": ("<p>cat ", "&amp;"),
    "broken references": ("<p>cat ", "&a"),
    "numbers of characters": ("<p>cat ", "&#65"),
    "a number of a character": ("<p>cat &#", "1", ";"),
    "spaces": ("<p>cat", " ", "cat"),
    "languages": ("<html lang=en>", "<html lang=en>", "cat"),
    "untranslated": ("<p>cat ", "<b translate=no>cat</b> "),
    "drawn": ("<p>cat ", "<svg><a>b</a></svg> "),
    "unclosed drawn": ("<p>cat ", "<svg>"),
}
MARKDOWN = {
    "words": ("", "cat "),
    "a word": ("", "cat"),
    "paragraphs": ("", "cat\n\n"),
    "lines": ("", "cat\n"),
    "breaks": ("", "cat  \n"),
    "quotations": ("", ">", " cat\n"),
    "quoted lines": ("", "> cat\n"),
    "lazy quotations": ("> cat\n", "cat\n"),
    "items": ("", "- cat\n"),
    "numbers": ("", "1. cat\n"),
    "items in a line": ("", "- ", "cat\n"),
    "brackets": ("", "[", "cat"),
    "closing brackets": ("cat", "]"),
    "half links": ("", "[cat]("),
    "links": ("", "[a](b) "),
    "links with titles": ("", '[a](b "c") '),
    "half titles": ("", '[a](b "'),
    "references": ("[a]: b\n\n", "[a] "),
    "full references": ("[a]: b\n\n", "[a][a] "),
    "half references": ("[a]: b\n\n", "[a]("),
    "definitions": ("cat\n\n", "[a]: b\n"),
    "nested links": ("", "[", "a", "](b)"),
    "nested images": ("", "![", "a", "](b)"),
    "emphasis": ("", "*a* "),
    "emphasis in a word": ("", "**a**b"),
    "open emphasis": ("", "*a **a "),
    "close emphasis": ("a", "a* a** "),
    "nested emphasis": ("a ", "*a **b ", "cat", " b** a*"),
    "underlines": ("", "_a __a "),
    "stars": ("a", "*", "a"),
    "tildes": ("", "~~a "),
    "code": ("", "`a` "),
    "backticks": ("cat ", "` `` "),
    "one backtick": ("cat `", "`a`` "),
    "autolinks": ("", "<http://a.b> "),
    "half autolinks": ("", "<http://a "),
    "tags": ("cat ", "<a "),
    "whole tags": ("cat ", "<b>cat</b> "),
    "declarations": ("cat ", "<!a"),
    "instructions": ("cat ", "<?"),
    "comments": ("cat ", "<!--"),
    "cdata": ("cat ", "<![CDATA["),
    "tables": ("|a|b|\n|-|-|\n", "|a|\n"),
    "cells": ("|a|b|\n|-|-|\n|", "a|", "\n"),
    "columns": ("|", "a|", "\n|", "-|", "\n"),
    "bars in cells": ("|a|b|\n|-|-|\n|", "a\\|", "|b|\n"),
    "fences": ("cat\n", "```\na\n```\n"),
    "open fences": ("cat\n", "```a\n~~~\n"),
    "escapes": ("cat ", "\\*"),
    "entities": ("cat ", "&amp;"),
    "half entities": ("cat ", "&a"),
    "math": ("cat ", "$a$ "),
    "half math": ("cat ", "$a "),
    "double dollars": ("cat ", "$$"),
    "math blocks": ("cat\n\n", "$$\n"),
    "footnotes": ("cat\n\n", "[^a]: b\n\n"),
    "half footnotes": ("cat ", "[^"),
    "definition lists": ("", "cat\n: dog\n\n"),
    "directives": ("", ":::\n"),
    "admonitions": ("", "!!! a\n"),
    "shortcodes": ("cat ", "{{< a >}}"),
    "half shortcodes": ("cat ", "{{"),
    "template tags": ("cat ", "{%"),
    "attributes": ("# cat ", "{#"),
    "emoji": ("cat ", ":a"),
    "highlights": ("cat ", "=="),
    "front matter": ("---\n", "a: b\n", "cat"),
    "tabs": ("- cat\n", "\t- cat\n"),
    "spaces": ("cat", " ", "cat"),
    "html": ("", "<div>cat</div>\n"),
    "html blocks": ("", "<div>\ncat\n\n"),
    "headings": ("", "# cat\n"),
    "underlined headings": ("", "cat\n===\n"),
    "hashes": ("", "#", " cat"),
    "rules": ("cat\n", "- "),
}
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
}
JSON = {
    "messages": ('{"a": "cat"', ', "b": "cat"', "}"),
    "items": ('["cat"', ', "cat"', "]"),
    "words": ('{"a": "', "cat ", '"}'),
    "nested": ('{"a": ', "[", '"cat"', "]", "}"),
    "placeholders": ('{"a": "cat ', "{b} ", '"}'),
    "lines": ('{"a": "', "cat\\n", '"}'),
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
}
NOTEBOOK = '{"cells": [', "]}"
CELL = '{"cell_type": "markdown", "source": ["cat"]}'
IPYNB = {
    "cells": (CELL, f", {CELL}"),
    "lines": ('{"cell_type": "markdown", "source": ["cat"', ', "cat\\n"', "]}"),
}
XLIFF_ENDS = '<xliff version="1.2"><file source-language="en"><body>', "</body></file></xliff>"
HEADER = 'msgid ""\nmsgstr "Language: \\n"\n\n'

SHAPES = [
    *_shapes("html", "<html><body>", "", HTML),
    *_shapes("markdown", "", "", MARKDOWN),
    *_shapes("docx", f"<w:document {W}><w:body>", "</w:body></w:document>", DOCX),
    *_shapes("xliff", *XLIFF_ENDS, XLIFF),
    *_shapes("tmx", '<tmx><header srclang="en"/><body>', "</body></tmx>", TMX),
    *_shapes("po", HEADER, "", PO),
    *_shapes("srt", "", "", SRT),
    *_shapes("vtt", "WEBVTT\n\n", "", SRT),
    *_shapes("ass", EVENTS, "", ASS),
    *_shapes("properties", "", "", PROPERTIES),
    *_shapes("strings", "", "", STRINGS),
    *_shapes("yaml", "", "", YAML),
    *_shapes("json", "", "", JSON),
    *_shapes("ipynb", *NOTEBOOK, IPYNB),
    *_shapes("paragraphs", "", "", PARAGRAPHS),
]
"""All of them."""
