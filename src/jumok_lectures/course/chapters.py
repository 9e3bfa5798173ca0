"""The chapters: docs/course/NN-name.md and NN-name.ko.md, and notebooks made of them."""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path

from jumok.environment import Language
from jumok.errors import ConfigError, Location

FENCE = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
FIGURE = re.compile(r"!\[([^\]]*)\]\(figures/([\w.-]+)\)")
LINK = re.compile(r"\]\((?!https?:|#|attachment:)([^)]+)\)")
ONLINE = "https://github.com/jumok/jumok/blob/main/docs/course/"
INSTALL = """%pip install --quiet jumok --extra-index-url https://download.pytorch.org/whl/cpu
%env JUMOK_LANG={language}"""
"""The first cell of a notebook; where jumok is installed, pip asks no index."""


def home() -> Path:
    """The folder of the chapters: in the installed package, or in the checkout."""
    package = Path(__file__).parent
    places = [package / "pages", package.parents[2] / "docs" / "course"]
    return next((place for place in places if place.is_dir()), places[0])


@dataclass(frozen=True)
class Chapter:
    """A chapter.

    Attributes:
        number: "00".
        name: "00-attention-in-twenty-minutes", of its files.
    """

    number: str
    name: str

    def text(self, language: Language) -> str:
        """The Markdown."""
        suffix = ".ko.md" if language == "ko" else ".md"
        return (home() / f"{self.name}{suffix}").read_text("utf-8")

    def title(self, language: Language) -> str:
        """The heading, with the number."""
        return self.text(language).partition("\n")[0].removeprefix("# ")

    def code(self, language: Language) -> list[str]:
        """The code, cell by cell."""
        return FENCE.findall(self.text(language))


def chapters() -> list[Chapter]:
    """All chapters, in their order."""
    files = sorted(home().glob("[0-9][0-9]-*.md"))
    names = [file.stem for file in files if not file.stem.endswith(".ko")]
    return [Chapter(name[:2], name) for name in names]


def find(number: str) -> Chapter:
    """The chapter of this number.

    Raises:
        ConfigError: there is none.
    """
    for chapter in chapters():
        if number.zfill(2) == chapter.number:
            return chapter
    raise ConfigError(
        "there is no such chapter.",
        expected=", ".join(each.number for each in chapters()),
        got=number,
        do="jumok course lists the chapters",
    )


def notebook(chapter: Chapter, language: Language) -> str:
    """The chapter as a notebook of Jupyter (nbformat 4.5), without outputs.

    Its first cell installs jumok, and chooses the language of the checks.
    """
    parts = FENCE.split(chapter.text(language))
    cells = [{**_code(INSTALL.format(language=language)), "id": "install"}]
    for number, part in enumerate(parts):
        source = part.strip("\n")
        if source:
            cell = _code(source) if number % 2 else _markdown(source)
            cells.append({**cell, "id": f"cell-{number}"})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    contents = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(contents, ensure_ascii=False, indent=1) + "\n"


def _code(source: str) -> dict[str, object]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _markdown(source: str) -> dict[str, object]:
    """A cell of text; its figures are in it, and its links lead to the documents online."""
    figures = {
        name: {"image/svg+xml": base64.b64encode((home() / "figures" / name).read_bytes()).decode()}
        for _, name in FIGURE.findall(source)
    }
    source = FIGURE.sub(r"![\1](attachment:\2)", source)
    source = LINK.sub(lambda link: f"]({ONLINE}{link[1]})", source)
    cell: dict[str, object] = {"cell_type": "markdown", "metadata": {}, "source": source}
    return {**cell, "attachments": figures} if figures else cell


def write_notebook(chapter: Chapter, language: Language, folder: Path) -> Path:
    """Writes the notebook into a folder.

    Raises:
        ConfigError: it is there already, perhaps with answers.
    """
    file = folder / f"{chapter.name}.ipynb"
    contents = notebook(chapter, language)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(contents)
    except FileExistsError as error:
        raise ConfigError(
            "the notebook exists, perhaps with your answers.",
            do="open it, or rename it first",
            place=Location(file),
        ) from error
    return file
