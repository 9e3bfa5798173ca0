"""Learning curves: the losses and the validation scores of one run or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jumok.data.run_log import LOG, read_log
from jumok.errors import DataError, Place
from jumok.plot.paper import MUTED, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Over = Literal["steps", "minutes"]
Points = list[tuple[float, float]]

# Okabe and Ito 2008: seven colours that all colour vision tells apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
NAMES = {
    "bleu": "BLEU",
    "bleu-4": "BLEU-4",
    "chrf": "chrF",
    "cider-d": "CIDEr-D",
    "macro-f1": "macro-F1",
}
"""Names of scores as papers write them; the log has small letters."""
NO_SCORE = {"kind", "step", "best", "seconds", "took"}


@dataclass(frozen=True)
class RunLog:
    """What training wrote of a run.

    Attributes:
        name: the folder's.
        steps: the records of training, in order.
        validations: those of validation.
    """

    name: str
    steps: list[dict[str, Any]]
    validations: list[dict[str, Any]]

    @property
    def scores(self) -> list[str]:
        """The names of what validation measured besides the loss."""
        names = [name for record in self.validations for name in record if name not in NO_SCORE]
        return [name for name in dict.fromkeys(names) if name != "loss"]

    def points(self, kind: Literal["training", "validation"], name: str, over: Over) -> Points:
        """(step or minute, value) of each record that has this number."""
        records = self.steps if kind == "training" else self.validations
        return [
            (record["step"] if over == "steps" else record["seconds"] / 60, record[name])
            for record in records
            if isinstance(record.get(name), int | float)
        ]


def run_log(folder: Path | str) -> RunLog:
    """The log of the run in this folder.

    Raises:
        DataError: the folder is not that of a run, or the run has not logged a step yet.
    """
    folder = Path(folder)
    file = folder / LOG
    if not file.is_file():
        raise DataError(
            "there is no log of a run.",
            expected=f"a run's folder with {LOG}, such as runs/first",
            place=Place(folder),
        )
    records = list(read_log(file))
    steps, validations = (
        [record for record in records if record["kind"] == kind] for kind in ("step", "validation")
    )
    if not steps and not validations:
        raise DataError("the run has not logged a step yet.", place=Place(file))
    return RunLog(folder.resolve().name, steps, validations)


def curves(*runs: Path | str, over: Over = "steps") -> "Figure":
    """The loss of training and validation, and each validation score, of these runs.

    The training loss is the thin line: it includes dropout and label smoothing, so it may end above
    the validation loss.

    Args:
        runs: the folders of the runs.
        over: the horizontal axis.

    Raises:
        DataError: a folder is not that of a run.
        MissingExtraError: matplotlib is not installed.
    """
    logs = [run_log(run) for run in runs]
    scores = list(dict.fromkeys(name for log in logs for name in log.scores))
    figure = new_figure(4.2 * (1 + len(scores)), 3.2)
    panels: Sequence[Axes] = figure.subplots(1, 1 + len(scores), squeeze=False)[0]
    for axes, name in zip(panels, ["loss", *scores], strict=True):
        for number, log in enumerate(logs):
            colour = COLOURS[number % len(COLOURS)]
            dashed = "--" if number >= len(COLOURS) else "-"
            if name == "loss":
                _line(axes, log.points("training", name, over), colour, dashed, width=0.8)
            checked = log.points("validation", name, over)
            _line(axes, checked, colour, dashed, width=1.6, label=log.name)
        title = "loss; thin: training" if name == "loss" else f"validation {NAMES.get(name, name)}"
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("step" if over == "steps" else "minutes", color=MUTED)
        axes.spines[["top", "right"]].set_visible(False)
    if len(logs) > 1:
        panels[0].legend(frameon=False, fontsize=8)
    return finish(figure)


def _line(
    axes: "Axes", points: Points, colour: str, style: str, width: float, label: str = ""
) -> None:
    along, values = zip(*points, strict=True) if points else ((), ())
    marker = "o" if label else ""
    axes.plot(
        along, values, style, color=colour, linewidth=width, marker=marker, markersize=2.5,
        label=label or None,
    )  # fmt: skip
