"""Learning curves: the losses and the validation scores of one run or several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.data.files.run_log import Over, Points, RunLog, run_log
from jumok.plot.paper import MUTED, new_figure, with_fonts

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
    """The loss of training and validation, and each validation score, of these runs.

    The training loss is the thin line: it includes dropout and label smoothing, so it may end above
    the validation loss.

    Raises:
        DataError: a folder is not that of a run.
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
            colour = COLOURS[number % len(COLOURS)]
            style = "--" if number >= len(COLOURS) else "-"
            if name == "loss":
                _line(axes, log.points("training", name, over), colour, style, width=0.8)
            checked = log.points("validation", name, over)
            _line(axes, checked, colour, style, width=1.6, label=log.name)
        title = "loss; thin: training" if name == "loss" else f"validation {NAMES.get(name, name)}"
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("step" if over == "steps" else "minutes", color=MUTED)
        axes.spines[["top", "right"]].set_visible(False)
    if len(logs) > 1:
        panels[0].legend(frameon=False, fontsize=8)
    return with_fonts(figure)


def _line(
    axes: "Axes", points: Points, colour: str, style: str, width: float, label: str = ""
) -> None:
    along, values = zip(*points, strict=True) if points else ((), ())
    marker = "o" if label else ""
    axes.plot(
        along, values, style, color=colour, linewidth=width, marker=marker, markersize=2.5,
        label=label or None,
    )  # fmt: skip
