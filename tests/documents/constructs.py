"""Constructs of documents, and their treatment; `python -m tests.documents.constructs` writes the
tables of docs/documents.md and docs/documents.ko.md."""

import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
HEADS = {
    "en": "| `--format` | translated constructs | kept constructs |\n|---|---|---|\n",
    "ko": "| `--format` | 번역하는 요소 | 그대로 두는 요소 |\n|---|---|---|\n",
}


class Construct(NamedTuple):
    """A construct, and a document with it.

    Attributes:
        en, ko: its name.
        kept: it is left as it is; otherwise its text is translated.
        capitals: the document, translated into capitals.
    """

    format: str
    en: str
    ko: str
    kept: bool
    source: str
    capitals: str

    def name(self, language: str) -> str:
        return self.ko if language == "ko" else self.en


def constructs() -> list[Construct]:
    """All constructs, in the order of the table."""
    formats = tomllib.loads((Path(__file__).parent / "constructs.toml").read_text("utf-8"))
    return [Construct(format, **one) for format, every in formats.items() for one in every]


def document(language: str) -> Path:
    return DOCS / ("documents.md" if language == "en" else f"documents.{language}.md")


def table(language: str) -> str:
    """The table in Markdown, a row for each format."""
    rows = []
    for format, every in groupby(constructs(), lambda one: one.format):
        names: dict[bool, list[str]] = {False: [], True: []}
        for one in every:
            if one.name(language) not in names[one.kept]:
                names[one.kept].append(one.name(language))
        rows.append(f"| {format} | {'<br>'.join(names[False])} | {'<br>'.join(names[True])} |\n")
    return HEADS[language] + "".join(rows)


def with_table(text: str, language: str) -> str:
    """The page with this table in place of its own."""
    head = HEADS[language]
    before, _, rest = text.partition(head)
    rows = re.match(r"(?:\|.*\n)*", rest)
    assert rows
    return before + table(language) + rest[rows.end() :]


if __name__ == "__main__":
    for code in HEADS:
        page = document(code)
        page.write_text(with_table(page.read_text("utf-8"), code), "utf-8")
