"""The results of a sweep: a row for each run, and for each group that differs in the seed alone."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from jumok.cli.output.cells import as_csv
from jumok.cli.scale.grid import Combination
from jumok.cli.scale.sweep_folder import SweepFolder
from jumok.data.files.atomic import write_durably
from jumok.data.files.run_log import number_in, run_log
from jumok.errors import MissingExtraError
from jumok.late import late_imports

with late_imports():
    from jumok import plot
    from jumok.plot import learning_curves, spread

if TYPE_CHECKING:
    from jumok.data.files.run_log import RunLog

SEED = "seed"


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        values: of the grid's keys.
        score: of the best validation by the recipe's metric; None: it was not finite.
        loss: of the same validation.
        step: of the same validation.
        minutes: of the whole run.
        folder: of the run.
    """

    name: str
    values: Mapping[str, str]
    score: float | None
    loss: float | None
    step: int
    minutes: float
    folder: str


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in their seed alone.

    Attributes:
        values: of the other keys.
        scores: of its finished runs.
        mean: of the scores.
        spread: their standard deviation (of a sample); None: there is one run.
        best: the name of the best run.
    """

    values: Mapping[str, str]
    scores: tuple[float, ...]
    mean: float
    spread: float | None
    best: str


def result_of(one: Combination, folder: SweepFolder) -> RunResult:
    """The result of a finished run, from its log.

    Raises:
        DataError: the log is missing.
    """
    log = run_log(folder.run(one.name))
    metric = one.config.validation.metric
    best = next((each for each in reversed(log.validations) if each.get("best")), None)
    return RunResult(
        name=one.name,
        values=one.values,
        score=None if best is None else number_in(best, metric),
        loss=None if best is None else best.get("loss"),
        step=0 if best is None else best["step"],
        minutes=max(each["seconds"] for each in log.steps + log.validations) / 60,
        folder=str(folder.run(one.name)),
    )


def groups_of(results: Iterable[RunResult], metric: str) -> list[RunGroup]:
    """The groups, the best mean first; runs without a score are left out."""
    runs: dict[tuple[tuple[str, str], ...], list[tuple[float, str]]] = {}
    for each in results:
        if each.score is not None:
            others = tuple((key, value) for key, value in each.values.items() if key != SEED)
            runs.setdefault(others, []).append((each.score, each.name))
    lower = metric == "loss"
    best = min if lower else max
    groups = [
        RunGroup(
            dict(values),
            tuple(score for score, _ in its),
            statistics.fmean(score for score, _ in its),
            statistics.stdev(score for score, _ in its) if len(its) > 1 else None,
            best(its)[1],
        )
        for values, its in runs.items()
    ]
    return sorted(groups, key=lambda group: group.mean, reverse=not lower)


def table_of(groups: Sequence[RunGroup], metric: str) -> Table:
    """One row a group, the best first."""
    keys = list(groups[0].values)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for key in keys:
        table.add_column(key.rpartition(".")[2] if _alone(key, keys) else key, no_wrap=True)
    for heading in (learning_curves.NAMES.get(metric, metric), "spread", "runs"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("best run", overflow="fold")
    for group in groups:
        table.add_row(
            *group.values.values(),
            f"{group.mean:.3f}",
            "-" if group.spread is None else f"{group.spread:.3f}",
            str(len(group.scores)),
            group.best,
        )
    return table


def _alone(key: str, keys: Sequence[str]) -> bool:
    last = key.rpartition(".")[2]
    return sum(other.rpartition(".")[2] == last for other in keys) == 1


def as_object(
    results: Sequence[RunResult], groups: Sequence[RunGroup], metric: str
) -> dict[str, object]:
    """The same for programs."""
    return {
        "metric": metric,
        "groups": [asdict(group) for group in groups],
        "runs": [asdict(each) for each in results],
    }


def write_results(
    folder: SweepFolder, results: Sequence[RunResult], groups: Sequence[RunGroup], metric: str
) -> list[Path]:
    """Writes results.csv and results.json."""
    keys = list(results[0].values)
    header = ("run", *keys, metric, *(["loss"] if metric != "loss" else []), "step", "minutes")
    rows = [
        (
            each.name,
            *each.values.values(),
            each.score,
            *([each.loss] if metric != "loss" else []),
            each.step,
            each.minutes,
        )
        for each in results
    ]
    files = folder.path / "results.csv", folder.path / "results.json"
    write_durably(files[0], as_csv(header, *rows).encode())
    text = json.dumps(as_object(results, groups, metric), ensure_ascii=False, indent=2)
    write_durably(files[1], f"{text}\n".encode())
    return list(files)


def write_figures(
    folder: SweepFolder,
    results: Sequence[RunResult],
    groups: Sequence[RunGroup],
    metric: str,
    form: str,
) -> tuple[list[Path], str]:
    """Draws the learning curves and the scores; also returns why not, if matplotlib is missing."""
    logs: list[RunLog] = [run_log(each.folder) for each in results]
    title = f"validation {learning_curves.NAMES.get(metric, metric)}"
    rows = [
        spread.ScoreRow(_label(group.values), group.scores, group.mean, group.spread)
        for group in groups
    ]
    files = [folder.path / f"curves.{form}", folder.path / f"scores.{form}"]
    try:
        plot.save(learning_curves.draw(logs, "steps"), files[0])
        plot.save(spread.draw_rows(rows, title), files[1])
    except MissingExtraError as error:
        return [], str(error)
    return files, ""


def _label(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in values.items()) or "all"
