"""Findings as a figure: SVG and PNG, readable without colour, and no letter as an empty box."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.environment import Language
from jumok.errors import optional_import
from jumok.plot.paper import hangul_font
from jumok_lectures.findings import Bars, Chart, Findings, Grid, Panel
from jumok_lectures.judging import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008: colours that people with any common colour blindness tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")
NO_FONT = (
    "no font with Hangul was found, so the figure is labelled in English and its Korean words "
    "are numbered. Install one, for instance the package fonts-nanum (Debian, Ubuntu) or "
    "google-noto-sans-cjk-fonts (Fedora)."
)
PANEL_WIDTH, PANEL_HEIGHT = 6.0, 4.2


def draw(findings: Findings, file: Path, language: Language) -> str | None:
    """Writes file.svg and file.png.

    Returns:
        A note about the figure for the reader; None: there is none.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    font = hangul_font()
    pen = _Pen(language if font else "en", korean=font is not None)
    # One font's glyphs first, the other's where the first has none: 𝛼 and ≈ are not in Nanum.
    families = ["DejaVu Sans", *([font] if font else [])]
    with optional_import("drawing a lab's picture", extra="lab"):
        import matplotlib
    with matplotlib.rc_context(
        {
            "font.family": families,
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "jumok",
        }
    ):
        widths = [_width(panel) for panel in findings.panels]
        height = max(map(_height, findings.panels))
        with optional_import("drawing a lab's picture", extra="lab"):
            from matplotlib import figure as matplotlib_figure
        figure = matplotlib_figure.Figure(figsize=(sum(widths), height), layout="constrained")
        axes = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        for axis, panel in zip(axes, findings.panels, strict=True):
            pen.panel(figure, axis, panel)
        figure.savefig(file.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(file.with_suffix(".png"), dpi=110)
    return NO_FONT if font is None and (language == "ko" or pen.numbered) else None


def _width(panel: Panel) -> float:
    if isinstance(panel, Grid):
        return max(4.0, 1.8 + 0.5 * len(panel.columns))
    return PANEL_WIDTH


def _height(panel: Panel) -> float:
    if isinstance(panel, Grid):
        return max(PANEL_HEIGHT, 1.6 + 0.38 * len(panel.rows))
    if isinstance(panel, Bars):
        return max(PANEL_HEIGHT, 1.2 + 0.36 * len(panel.bars))
    return PANEL_HEIGHT


class _Pen:
    """Draws panels in a language, with or without a font for Hangul."""

    def __init__(self, language: Language, korean: bool) -> None:
        self.language, self.korean = language, korean
        self.numbered = False

    def panel(self, figure: "Figure", axis: "Axes", panel: Panel) -> None:
        axis.set_title(panel.title.of(self.language), loc="left")
        if isinstance(panel, Chart):
            self._chart(axis, panel)
        elif isinstance(panel, Bars):
            self._bars(axis, panel)
        else:
            self._grid(figure, axis, panel)

    def _chart(self, axis: "Axes", chart: Chart) -> None:
        for place, series in enumerate(chart.series):
            x, y = zip(*series.points, strict=True)
            colour = COLOURS[place % len(COLOURS)]
            axis.plot(
                x,
                y,
                color=colour,
                linestyle=DASHES[place % len(DASHES)],
                marker=MARKERS[place % len(MARKERS)],
                markersize=4.5,
                markevery=max(1, len(x) // 12),
                label=series.name.of(self.language),
            )
            if series.low is not None and series.high is not None:
                axis.fill_between(x, series.low, series.high, color=colour, alpha=0.15, lw=0)
        for name, height in chart.marks:
            axis.axhline(height, color="#555555", linewidth=0.9, linestyle=(0, (1, 2)))
            axis.annotate(
                name.of(self.language),
                (1.0, height),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
                fontsize=8.5,
                color="#555555",
            )
        if chart.log_x:
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if chart.log_y:
            axis.set_yscale("log")
        axis.set_ylim(bottom=chart.least, top=chart.most)
        axis.set_xlabel(chart.x_title.of(self.language))
        axis.set_ylabel(chart.y_title.of(self.language))
        axis.grid(color="#DDDDDD", linewidth=0.6)
        axis.set_axisbelow(True)
        if len(chart.series) > 1:
            axis.legend(frameon=False, fontsize=9)

    def _bars(self, axis: "Axes", bars: Bars) -> None:
        names = [self._label(name.of(self.language), "") for name, _ in bars.bars]
        values = [value for _, value in bars.bars]
        places = range(len(values))
        axis.barh(places, values, color=COLOURS[0], height=0.62, xerr=bars.spread, capsize=3)
        axis.set_yticks(places, names)
        axis.invert_yaxis()
        if bars.log_x:
            axis.set_xscale("log")
        for place, value in zip(places, values, strict=True):
            beyond = 0.0 if bars.spread is None else bars.spread[place]
            axis.annotate(
                number(value, bars.form),
                (value + beyond, place),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        axis.margins(x=0.16)
        axis.set_xlabel(bars.x_title.of(self.language))
        axis.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axis.set_axisbelow(True)

    def _grid(self, figure: "Figure", axis: "Axes", grid: Grid) -> None:
        image = axis.imshow(grid.values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        axis.set_xticks(range(len(grid.columns)), list(self._labels(grid.columns)), rotation=40)
        for tick in axis.get_xticklabels():
            tick.set_horizontalalignment("right")
            tick.set_rotation_mode("anchor")
        axis.set_yticks(range(len(grid.rows)), list(self._labels(grid.rows)))
        axis.set_xlabel(grid.column_title.of(self.language))
        axis.set_ylabel(grid.row_title.of(self.language))
        with optional_import("drawing a lab's picture", extra="lab"):
            from matplotlib import patches
        for row, column in grid.framed:
            frame = patches.Rectangle(
                (column - 0.47, row - 0.47), 0.94, 0.94, fill=False, edgecolor=COLOURS[1], lw=1.8
            )
            axis.add_patch(frame)
        figure.colorbar(image, ax=axis, shrink=0.8)

    def _labels(self, words: Sequence[str]) -> Iterable[str]:
        return (self._label(word, str(place)) for place, word in enumerate(words, start=1))

    def _label(self, word: str, number: str) -> str:
        """The word, or its number where it cannot be drawn."""
        if self.korean or word.isascii() or not any("가" <= letter <= "힣" for letter in word):
            return word
        self.numbered = True
        return number or "?"
