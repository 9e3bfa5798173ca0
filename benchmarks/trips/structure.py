"""What a document is made of besides its text, as libraries that jumok does not use read it.

Each function raises an error of the library if it cannot read the document, and returns what a
translation may not change, in no order: words of another language have another order.
"""

import io
import json
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

Parts = Counter[str]

SPOKEN = {"alt", "title", "placeholder", "aria-label", "content", "label", "value", "lang"}


def _html(content: bytes) -> Parts:
    import html5lib

    tree = html5lib.parse(content, namespaceHTMLElements=False)
    parts: Parts = Counter()
    for element in tree.iter():
        name = str(element.tag)
        kept = sorted((key, value) for key, value in element.attrib.items() if key not in SPOKEN)
        parts[f"{name} {kept}"] += 1
        if name in ("script", "style", "pre", "code", "textarea", "kbd", "svg"):
            parts["".join(element.itertext())] += 1
    return parts


def _markdown(content: bytes) -> Parts:
    from markdown_it import MarkdownIt

    text = content.decode("utf-8-sig")
    parts: Parts = Counter()
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text):
        parts[f"{token.type} {token.tag}"] += 1
        if token.type == "fence":
            parts[f"{token.info}\n{token.content}"] += 1
        for child in token.children or ():
            if child.type not in ("text", "text_special", "softbreak"):
                parts[f"{child.type} {sorted(child.attrs.items())}"] += 1
            if child.type in ("code_inline", "html_inline"):
                parts[child.content] += 1
    return parts


def _docx(content: bytes) -> Parts:
    import docx

    docx.Document(io.BytesIO(content))
    parts: Parts = Counter()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if not re.match(r"word/(document|header|foot)", name):
                parts[f"{name} {archive.read(name)!r}"] += 1
                continue
            for element in ElementTree.fromstring(archive.read(name)).iter():
                tag = element.tag.rpartition("}")[2]
                if tag not in ("r", "t", "rPr", "b", "i", "sz", "color", "vertAlign"):
                    parts[f"{name} {tag} {sorted(element.attrib.items())}"] += 1
    return parts


def _po(content: bytes) -> Parts:
    import polib

    text = content.decode(_charset_of_po(content))
    if shutil.which("msgfmt"):
        done = subprocess.run(
            ["msgfmt", "--check", "--use-fuzzy", "-o", "/dev/null", "-"],
            input=content,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise ValueError(done.stderr.decode())
    parts: Parts = Counter()
    catalog = polib.pofile(text)
    header = {**catalog.metadata, "Content-Type": ""}  # UTF-8 where the letters need it
    parts[str(sorted(header.items()))] += 1
    for entry in catalog:
        flags = sorted(flag for flag in entry.flags if flag != "fuzzy")
        own = entry.comment, entry.tcomment, entry.occurrences, entry.previous_msgid
        parts[f"{entry.msgctxt} {entry.msgid} {entry.msgid_plural} {own} {flags}"] += 1
        parts["obsolete"] += entry.obsolete
        if "finished" in entry.msgstr or entry.obsolete:
            parts[entry.msgstr] += 1
    return parts


def _charset_of_po(content: bytes) -> str:
    named = re.search(rb"charset=([\w-]+)", content)
    return named[1].decode() if named else "utf-8"


def _tree(content: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(content)


def _xliff(content: bytes) -> Parts:
    parts: Parts = Counter()
    for element in _tree(content).iter():
        tag = element.tag.rpartition("}")[2]
        own = sorted(item for item in element.attrib.items() if item[0] != "state")
        if tag in ("source", "seg-source", "note", "data"):
            parts[f"{tag} {own} {_whole(element)}"] += 1
        elif tag in (
            "trans-unit",
            "unit",
            "segment",
            "file",
            "alt-trans",
            "match",
            "internal-file",
        ):
            parts[f"{tag} {own} {len(element) if tag == 'alt-trans' else ''}"] += 1
    return parts


def lost_codes(content: bytes) -> list[str]:
    """The units whose target has other codes than the source."""
    return [
        f"{unit.get('id')} has {codes[1] or 'none'} for {codes[0] or 'none'}"
        for unit in _tree(content).iter()
        if unit.tag.endswith(("}trans-unit", "}segment")) and unit.get("translate") != "no"
        if unit.find("{*}target") is not None
        for codes in [[_codes(unit, each) for each in ("source", "target")]]
        if codes[0] != codes[1]
    ]


def _codes(unit: ElementTree.Element, name: str) -> list[str]:
    side = unit.find("{*}" + name)
    inside = [] if side is None else [code for code in side.iter() if code is not side]
    return sorted(
        f"{code.tag.rpartition('}')[2]} {sorted(code.attrib.items())}"
        for code in inside
        if code.get("mtype") != "seg"
    )


def _whole(element: ElementTree.Element) -> str:
    return (
        ElementTree.tostring(element, "unicode").partition(">")[2].removesuffix(element.tail or "")
    )


def _tmx(content: bytes) -> Parts:
    parts: Parts = Counter()
    for unit in _tree(content).iter("tu"):
        for variant in unit.findall("tuv"):
            language = variant.get("{http://www.w3.org/XML/1998/namespace}lang", "")
            text = "".join(variant.itertext())
            if not language.startswith("ko") or "finished" in text:
                parts[f"{unit.get('tuid')} {language} {_whole(variant)}"] += 1
        parts[
            f"{unit.get('tuid')} {_whole(unit).count('<prop')} {_whole(unit).count('<note')}"
        ] += 1
    return parts


def _cues(content: bytes) -> Parts:
    import pysubs2

    text = content.decode("utf-8-sig")
    parts: Parts = Counter()
    for event in pysubs2.SSAFile.from_string(text):
        parts[f"{event.start} {event.end} {event.type} {event.style} {event.name}"] += 1
        for tag in re.findall(r"\{[^{}]*\}", event.text):
            parts[tag] += 1
        if event.type == "Comment":
            parts[event.text] += 1
    for line in text.splitlines():
        if "-->" in line or line.startswith(("NOTE", "STYLE", "REGION", "Style:", ";", "fontname")):
            parts[line] += 1
    return parts


def _properties(content: bytes) -> Parts:
    import javaproperties

    text = content.decode("utf-8")
    parts: Parts = Counter(javaproperties.loads(text).keys())
    parts.update(line for line in text.splitlines() if line.lstrip().startswith(("#", "!")))
    return parts


def _strings(content: bytes) -> Parts:
    text = content.decode("utf-8-sig")
    value = r'"(?:[^"\\]|\\.)*"'
    whole = re.compile(
        rf"(?P<comment>/\*.*?\*/|//[^\n]*)|\s+|(?P<key>{value}|[\w.]+)\s*=\s*{value}\s*;", re.DOTALL
    )
    parts: Parts = Counter()
    at = 0
    while at < len(text):
        match = whole.match(text, at)
        if match is None:
            raise ValueError(f"no entry at {text[at : at + 60]!r}")
        parts[str(match["comment"] or match["key"])] += 1
        at = match.end()
    return parts


def _yaml(content: bytes) -> Parts:
    import yaml

    parts = Counter(_keys(yaml.safe_load(content)))
    text = content.decode("utf-8-sig")
    parts.update(line.strip() for line in text.splitlines() if line.strip().startswith("#"))
    return parts


def _json(content: bytes) -> Parts:
    return Counter(_keys(json.loads(content.decode("utf-8-sig"))))


def _keys(node: object, path: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _keys(value, f"{path}/{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _keys(value, f"{path}/{number}")
    else:
        yield f"{path} {type(node).__name__}"
        if not isinstance(node, str):
            yield str(node)


def _ipynb(content: bytes) -> Parts:
    import nbformat

    book = json.loads(content)
    nbformat.validate(book)
    parts: Parts = Counter()
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = type(cell["source"]).__name__
        parts[json.dumps(cell)] += 1
    parts[json.dumps(book["metadata"])] += 1
    return parts


def _paragraphs(content: bytes) -> Parts:
    text = content.decode()
    return Counter({"paragraphs": len(re.split(r"\n\s*\n", text.strip()))})


STRUCTURES: dict[str, Callable[[bytes], Parts]] = {
    "html": _html,
    "markdown": _markdown,
    "docx": _docx,
    "po": _po,
    "xliff": _xliff,
    "tmx": _tmx,
    "srt": _cues,
    "vtt": _cues,
    "ass": _cues,
    "properties": _properties,
    "strings": _strings,
    "yaml": _yaml,
    "json": _json,
    "ipynb": _ipynb,
    "paragraphs": _paragraphs,
}


def _html_text(content: bytes) -> str:
    import html5lib

    tree = html5lib.parse(content, namespaceHTMLElements=False)
    return str(ElementTree.tostring(tree, "unicode"))


def _rendered(content: bytes) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table"]).render(content.decode("utf-8-sig"))


def _pairs(content: bytes) -> str:
    import javaproperties

    return str(list(javaproperties.loads(content.decode()).items()))


def _loaded(content: bytes) -> str:
    import yaml

    return str(yaml.safe_load(content))


def _loaded_json(content: bytes) -> str:
    return str(json.loads(content))


def _unescaped(content: bytes) -> str:
    return re.sub(r"\\[Uu]([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), content.decode())


def _cells(content: bytes) -> str:
    book = json.loads(content)
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = _rendered("".join(cell["source"]).encode())
    return str(book).replace("\\n", "")


def _lines(content: bytes) -> str:
    return re.sub(r"\\[Nn]", "", content.decode())


CANONICAL: dict[str, Callable[[bytes], str]] = {
    "html": _html_text,
    "markdown": _rendered,
    "srt": _lines,
    "vtt": _lines,
    "ass": _lines,
    "paragraphs": _lines,
    "properties": _pairs,
    "yaml": _loaded,
    "json": _loaded_json,
    "strings": _unescaped,
    "ipynb": _cells,
}
"""What readers of a format see of a document, white space aside: escapes and line ends may differ
where a text has changed. The other formats have to have the same bytes.
"""


def canonical(format: str, content: bytes) -> str:
    """The document in a form in which equal ones are equal."""
    if format not in CANONICAL:
        return repr(content)
    return "".join(CANONICAL[format](content).split())
