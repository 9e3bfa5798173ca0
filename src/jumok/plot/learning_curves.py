"""Learning curves: the losses and the validation scores of one run or several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.data.files.run_log import Over, Points, RunLog, run_log
from jumok.errors import optional_import
from jumok.plot.paper import MUTED, new_figure, with_fonts

with optional_import("drawing figures", extra="plot"):
    from matplotlib import lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008: seven colours that all colour vision tells apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
NAMES = {
    "bleu": "BLEU",
    "bleu-4": "BLEU-4",
    "chrf": "chrF",
    "cider-d": "CIDEr-D",
    "macro-f1": "macro-F1",
}
"""Names of scores as papers write them; the log has them in lower case."""


def curves(*runs: Path | str, over: Over = "steps") -> "Figure":
    """The training and validation loss of runs, and each of their validation scores.

    A ring marks the validation whose model was kept. The training loss includes dropout and label
    smoothing, so it may end above the validation loss.

    Raises:
        DataError: a folder is not a run.
        MissingExtraError: matplotlib is not installed.
    """
    return draw_curves(list(map(run_log, runs)), over)


def draw_curves(logs: Sequence[RunLog], over: Over) -> "Figure":
    """The figure of `curves`, of logs that were read before."""
    scores = list(dict.fromkeys(name for log in logs for name in log.scores))
    figure = new_figure(4.2 * (1 + len(scores)), 3.2)
    panels: Sequence[Axes] = figure.subplots(1, 1 + len(scores), squeeze=False)[0]
    for axes, name in zip(panels, ["loss", *scores], strict=True):
        for number, log in enumerate(logs):
            checked = COLOURS[(number + (len(logs) == 1)) % len(COLOURS)]
            style = "--" if number >= len(COLOURS) else "-"
            if name == "loss":
                colour = COLOURS[number % len(COLOURS)]
                _line(axes, log.points("training", name, over), colour, style, width=0.8)
            points = log.points("validation", name, over)
            _line(axes, points, checked, style, width=1.6, label=log.name)
            _mark_best(axes, log, name, over, checked)
        axes.set_title(
            "loss (nats)" if name == "loss" else f"validation {NAMES.get(name, name)}",
            fontsize=9, loc="left",
        )  # fmt: skip
        axes.set_xlabel("step" if over == "steps" else "minutes", color=MUTED)
        if axes.dataLim.ymin >= 0:
            axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    _legend(panels[0], logs)
    return with_fonts(figure)


def _mark_best(axes: "Axes", log: RunLog, name: str, over: Over, colour: str) -> None:
    """A ring around the value of the validation whose model was kept."""
    kept = [record for record in log.validations if record.get("best")]
    points = RunLog(log.name, [], kept[-1:]).points("validation", name, over)
    if points:
        axes.scatter(*points[0], s=60, facecolors="none", edgecolors=colour, zorder=3)


def _legend(axes: "Axes", logs: Sequence[RunLog]) -> None:
    """The runs, where there are several, and what the kinds of lines are."""
    one = len(logs) == 1
    handles = [] if one else axes.get_legend_handles_labels()[0]
    first, second = (COLOURS[0], COLOURS[1]) if one else (MUTED, MUTED)
    kinds = [
        lines.Line2D([], [], color=first, linewidth=0.8, label="training"),
        *([lines.Line2D([], [], color=second, linewidth=1.6, label="validation")] if one else []),
        lines.Line2D(
            [], [], color=second, marker="o", fillstyle="none", markersize=7, linestyle="none",
            label="kept",
        ),
    ]  # fmt: skip
    axes.legend(handles=[*handles, *kinds], frameon=False, fontsize=8)


def _line(
    axes: "Axes", points: Points, colour: str, style: str, width: float, label: str = ""
) -> None:
    along, values = zip(*points, strict=True) if points else ((), ())
    marker = "o" if label else ""
    axes.plot(
        along, values, style, color=colour, linewidth=width, marker=marker, markersize=2.5,
        label=label or None,
    )  # fmt: skip
