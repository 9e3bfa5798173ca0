"""Documents that look like real ones, made from the templates of this folder by a seed.

A template is a head, fragments and a tail, apart by a line of "%%%%". In it § is a sentence, № a
number that rises, and ⏱ the times of a cue.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benchmarks.trips import word

FOLDER = Path(__file__).parent
WORDS = (FOLDER / "words.txt").read_text("utf-8").split()
TEMPLATES = {
    "html": "html",
    "markdown": "md",
    "mdx": "mdx",
    "hugo": "md",
    "docx": "docx",
    "po": "po",
    "xliff": "xlf",
    "xliff2": "xlf",
    "sdlxliff": "sdlxliff",
    "tmx": "tmx",
    "srt": "srt",
    "vtt": "vtt",
    "ass": "ass",
    "properties": "properties",
    "strings": "strings",
    "yaml": "yml",
    "json": "json",
    "ipynb": "ipynb",
    "paragraphs": "txt",
}
"""The templates, and the suffixes of their files."""

FORMATS = {"mdx": "markdown", "hugo": "markdown", "xliff2": "xliff", "sdlxliff": "xliff"}
"""The formats of the templates that are not called by them."""

CHARSETS = {
    "po": ("utf-8", "utf-8", "iso-8859-1", "euc-kr"),
    "tmx": ("utf-8", "utf-8", "utf-16"),
    "xliff": ("utf-8", "utf-8", "utf-16"),
    "html": ("utf-8", "utf-8", "windows-1252", "euc-kr"),
}
MARKED = {"html", "markdown", "srt", "vtt", "ass", "json", "yaml", "strings", "paragraphs"}
"""The formats in which programs write a byte order mark before UTF-8."""


@dataclass(frozen=True)
class Trip:
    """A document.

    Attributes:
        name: as of a file.
        charset: that it is written in.
    """

    name: str
    format: str
    content: bytes
    charset: str = "utf-8"


def trips(count: int, seed: int) -> Iterator[Trip]:
    """Documents of all templates in turn."""
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        template = list(TEMPLATES)[number % len(TEMPLATES)]
        yield _trip(draw, template, f"{number}-{template}.{TEMPLATES[template]}")


def _trip(draw: random.Random, template: str, name: str) -> Trip:
    format = FORMATS.get(template, template)
    if template == "docx":
        return Trip(name, format, word.letter(draw, lambda: sentence(draw)))
    charset = draw.choice(CHARSETS.get(format, ("utf-8",)))
    text = filled(draw, template, charset)
    if template == "ipynb":
        return Trip(name, format, _notebook(draw, text))
    end = draw.choice(("\n", "\n", "\r\n"))
    text = draw.choice((text, text.rstrip("\n"), text + "\n")) if template != "strings" else text
    text = text.replace("\n", end)
    if charset == "windows-1252":
        text = text.replace('"utf-8"', '"windows-1252"')
    elif charset == "euc-kr":
        text = text.replace('<meta charset="utf-8">', "<meta charset=euc-kr>")
    content = text.encode(charset, "ignore")
    if charset == "utf-8" and format in MARKED and draw.random() < 0.2:
        content = b"\xef\xbb\xbf" + content
    return Trip(name, format, content, charset)


def sentence(draw: random.Random) -> str:
    """Some words, rarely very many; a sign at the end."""
    many = draw.choice((1, 2, 3, 5, 8, 12, 70)) if draw.random() < 0.4 else draw.randint(2, 9)
    words = draw.choices(WORDS, k=many)
    if not any(letter.isascii() and letter.isalpha() for letter in words[0]):
        words[0] = "Here"
    text = " ".join(words)
    return text[:1].upper() + text[1:] + draw.choice((".", ".", "", "!", "?", ":", " (see below)."))


_ESCAPES: dict[str, Callable[[str], str]] = {
    "yaml": lambda text: text.replace(":", ";").replace("%", "").replace("“", "").rstrip(),
    "properties": lambda text: text.replace(":", ";"),
    "po": lambda text: text.replace("%", " percent"),
    "html": lambda text: escape(text, quote=True),
}


def filled(draw: random.Random, template: str, charset: str) -> str:
    """The template with sentences in it: most of the fragments, in another order, some twice."""
    parts = (FOLDER / f"{template}.txt").read_text("utf-8").split("%%%%\n")
    head, *middle, tail = parts
    chosen = draw.sample(middle, draw.randint(len(middle) // 2, len(middle)))
    pieces, number, second = [], 0, 1
    for piece in "\0".join([head, *chosen, *draw.choices(middle, k=2), tail]):
        if piece == "§":
            words = sentence(draw).encode(charset, "ignore").decode(charset)
            pieces.append(_ESCAPES.get(template, str)(" ".join(words.split()) or "Here"))
        elif piece == "⏱":
            second += 3
            stop = "," if template == "srt" else "."
            times = (f"00:{at // 60:02}:{at % 60:02}{stop}250" for at in (second, second + 2))
            pieces.append(" --> ".join(times))
        elif piece == "№":
            pieces.append(str(number))
        elif piece == "\0":
            number += 1
        else:
            pieces.append(piece)
    return "".join(pieces).replace("CHARSET", charset)


def _notebook(draw: random.Random, text: str) -> bytes:
    """A notebook of these lines: cells of Markdown, of code with outputs, a raw one."""
    cells: list[dict[str, object]] = []
    for number, block in enumerate(text.split("\n- ")):
        source = block.splitlines(keepends=True)
        own: dict[str, object] = {"id": f"cell-{number}"}
        if draw.random() < 0.3:
            own["attachments"] = {"image.png": {"image/png": "iVBORw0KGgo="}}
        joined: object = source if draw.random() < 0.7 else "".join(source)
        cells.append({"cell_type": "markdown", **own, "metadata": {}, "source": joined})
        output = {"output_type": "stream", "name": "stdout", "text": ["# kept\n", "é\u2028"]}
        cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "id": f"code-{number}",
                "metadata": {"tags": ["kept"]},
                "outputs": [output] if draw.random() < 0.5 else [],
                "source": ["# kept\n", "print(1e5, 1.0)"],
            }
        )
    book = {
        "cells": cells,
        "metadata": {"kernelspec": {"display_name": "Python 3", "name": "python3"}, "x": 1e5},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    indent = draw.choice((1, 1, 2, None))
    written = json.dumps(book, indent=indent, ensure_ascii=draw.random() < 0.3)
    return (written + draw.choice(("\n", ""))).encode()
