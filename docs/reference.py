"""`make docs`: the reference of jumok's public names from their docstrings, as HTML pages."""

import sys
import warnings
from pathlib import Path

import pdoc

import jumok

MODULES = (
    "jumok.plot",
    "jumok_lectures",
    "jumok.parts",
    "jumok.kinds",
    "jumok.plugins",
    "jumok.attention.interfaces",
    "jumok.layers.interfaces",
    "jumok.positions.interfaces",
    "jumok.data.files.tables",
    "jumok.decoding.options",
    "jumok.errors",
)
"""The modules whose names users meet, besides `jumok` itself."""


def build(folder: Path) -> None:
    """Writes the pages.

    Raises:
        UserWarning: a public name cannot be found or documented.
    """
    for name in jumok.__all__:  # they are imported when they are first used
        setattr(jumok, name, getattr(jumok, name))
    pdoc.render.configure(docformat="google", footer_text=f"jumok {jumok.__version__}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("jumok", r"!jumok\..+", *MODULES, output_directory=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
