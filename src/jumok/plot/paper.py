"""Matplotlib for every figure: the page's colours, and a font that has the letters."""

import json
import re
from collections.abc import Iterable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy.typing as npt

from jumok.data.files.atomic import atomic_file
from jumok.data.files.formats import FIGURE_SUFFIXES
from jumok.errors import ConfigError, DataError, optional_import
from jumok.inspection.page.source import source_folder

with optional_import("drawing figures", extra="plot"):
    import matplotlib
    from matplotlib import colors, font_manager, text
    from matplotlib import figure as matplotlib_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage

HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
HANGUL_FILES = (
    "NanumBarunGothic", "NanumGothic", "NotoSansCJK", "NotoSansKR", "malgun",
    "AppleSDGothicNeo", "AppleGothic", "UnDotum",
)  # fmt: skip
INK, MUTED, GOLD = "#1c1e26", "#5a5f70", "#c2410c"
CELL = 0.42
"""Side of a cell with a number in it, in inches."""


@cache
def stops(table: Literal["STOPS", "DIVERGING"] = "STOPS") -> tuple[tuple[int, int, int], ...]:
    """Five colours on light paper, the page's own table: of 0 to 1, or of -1 to 1."""
    script = (source_folder() / "colours.js").read_text(encoding="utf-8")
    match = re.search(rf"\bconst {table} = {{\s+light: (\[\[[\d, \[\]]+\]\])", script)
    assert match, "web/colours.js keeps the colours"
    return tuple(tuple(colour) for colour in json.loads(match[1]))


def shade(place: int) -> tuple[float, ...]:
    """One of the stops as an RGB colour of matplotlib, 0 to 1."""
    return tuple(channel / 255 for channel in stops()[place])


@cache
def effect() -> str:
    """The page's colour of what was measured by taking something away, on light paper."""
    script = (source_folder() / "colours.js").read_text(encoding="utf-8")
    match = re.search(r'\bconst EFFECT = { light: "(#[0-9a-f]{6})"', script)
    assert match, "web/colours.js keeps the colours"
    return match[1]


def colours() -> "Colormap":
    """The page's colours from 0 to 1: lightness falls monotonically, for all colour vision."""
    return _colormap("jumok", stops())


def diverging_colours() -> "Colormap":
    """The page's colours from -1 to 1: blue, the paper's colour at 0, orange."""
    return _colormap("jumok diverging", stops("DIVERGING"))


def _colormap(name: str, colours: Iterable[tuple[int, int, int]]) -> "Colormap":
    shades = [tuple(channel / 255 for channel in colour) for colour in colours]
    return colors.LinearSegmentedColormap.from_list(name, shades, N=1021)


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of this size in inches, in no window and not registered with pyplot.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure: Figure = _figure_class()(figsize=(width, height), layout="constrained")
    return figure


@cache
def _figure_class() -> "type[Figure]":
    """A figure that a notebook displays, whether or not pyplot is imported."""

    class NotebookFigure(matplotlib_figure.Figure):
        def _repr_png_(self) -> bytes:
            stream = BytesIO()
            self.savefig(stream, format="png", dpi=144, bbox_inches="tight")
            return stream.getvalue()

    return NotebookFigure


def draw_map(axes: "Axes", values: npt.ArrayLike, most: float = 1.0) -> "AxesImage":
    """Weights on a scale from 0 to `most`: to 1 as in all figures, if nothing else is wanted."""
    image = axes.imshow(values, cmap=colours(), vmin=0.0, vmax=most, aspect="equal")
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    return image


def colour_bar(
    figure: "Figure | SubFigure", image: "AxesImage", axes: "Axes | Iterable[Axes]", title: str
) -> None:
    """One bar for all panels; they have one scale."""
    bar = figure.colorbar(image, ax=axes, shrink=0.7, aspect=24, label=title)
    bar.outline.set_visible(False)


def hangul_font() -> str | None:
    """A font of this machine that has Hangul; None where there is none.

    The font files are searched: matplotlib's own list dates from its first import.
    """
    known_fonts = font_manager.fontManager
    files = {Path(file).stem: file for file in sorted(font_manager.findSystemFonts())}
    for beginning in HANGUL_FILES:
        for stem, file in files.items():
            if stem.startswith(beginning) and not stem.endswith(("Bold", "Light", "UltraLight")):
                known = {font.fname: font.name for font in known_fonts.ttflist}
                if file not in known:
                    known_fonts.addfont(file)
                return next(font.name for font in known_fonts.ttflist if font.fname == file)
    return None


def font_families(texts: Iterable[str]) -> list[str]:
    """The fonts for these texts: the second has the letters that the first lacks.

    Raises:
        DataError: the texts contain Hangul, and no font has it.
    """
    match = HANGUL.search(" ".join(texts))
    if not match:
        return ["DejaVu Sans"]
    font = hangul_font()
    if font is None:
        raise DataError(
            "no font on this machine has Hangul, and the figure would show empty boxes.",
            expected=f"a font for {match[0]!r}, such as {', '.join(HANGUL_FILES[1:4])}",
            do="install one, then draw again: apt install fonts-nanum, or fonts-noto-cjk (Debian, "
            "Ubuntu); dnf install google-noto-sans-cjk-fonts (Fedora)",
        )
    return ["DejaVu Sans", font]


def with_fonts(figure: "Figure") -> "Figure":
    """Gives every text of the figure a font that has its letters."""
    texts = [each for each in figure.findobj(text.Text) if isinstance(each, text.Text)]
    fonts = font_families(each.get_text() for each in texts)
    for each in texts:
        # Text between dollar signs is plain text here, not a formula.
        each.set_parse_math(False)
        each.set_fontfamily(fonts)
    return figure


def save(figure: "Figure", file: Path | str) -> None:
    """Writes the figure as SVG or PDF, with text as text, or as PNG.

    Raises:
        ConfigError: another kind of file.
        DataError: the file cannot be written.
    """
    path = Path(file)
    if path.suffix not in FIGURE_SUFFIXES:
        raise ConfigError(
            "a figure is written as SVG, PDF or PNG.",
            expected=" ".join(FIGURE_SUFFIXES),
            got=str(file),
        )
    # The same figure gives the same file: no date, no random names.
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
    with (
        matplotlib.rc_context(
            {"svg.fonttype": "none", "svg.hashsalt": "jumok", "pdf.fonttype": 42}
        ),
        atomic_file(path) as part,
    ):
        form = path.suffix
        figure.savefig(part, format=form[1:], dpi=160, metadata=dated[form])
