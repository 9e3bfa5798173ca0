"""What a lab finds: a table, pictures, whether the claim holds, and by how much."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from jumok.environment import Language
from jumok_lectures.judging import STATES, Condition, State, mean, with_interval
from jumok_lectures.text import FAILS, HOLDS, OPEN, PARTLY, Text
from jumok_lectures.workers import LabWorkers, Made

TableCell = float | int | str | Text | None
Outcome = Literal["holds", "fails", "partly", "open"]
VERDICTS: Mapping[Outcome, Text] = {"holds": HOLDS, "fails": FAILS, "partly": PARTLY, "open": OPEN}
CONDITION_COLUMNS = (
    Text("condition of the claim", "주장의 조건"),
    Text("measured", "측정값"),
    Text("range", "범위"),
    Text("needed", "기준"),
    Text("", ""),
)


@dataclass(frozen=True)
class Setting:
    """The settings of a lab.

    Attributes:
        seeds: one run each; labs without chance take the first.
        full: the long form.
        cache: a folder where labs keep prepared data for each other.
        data: where real corpora are; None where there are none.
        encoder: a model that a lab reads instead of training one; None: it trains.
        say: called with each line of progress.
        workers: the processes that train; by default the calling one, alone.
    """

    seeds: tuple[int, ...]
    full: bool
    cache: Path
    data: Path | None = None
    encoder: Path | None = None
    say: Callable[[str], None] = field(default=lambda _: None)
    workers: LabWorkers = field(default_factory=LabWorkers)

    @property
    def seed(self) -> int:
        """The first seed."""
        return self.seeds[0]

    def map(self, jobs: Mapping[str, Sequence[Callable[[], Made]]]) -> dict[str, list[Made]]:
        """What every job makes, by name, side by side; mostly one a seed.

        Jobs can be pickled: they are partial functions of modules.
        """
        made = iter(self.workers.map(_call, [job for own in jobs.values() for job in own]))
        return {name: [next(made) for _ in own] for name, own in jobs.items()}

    def every_seed(
        self, work: Callable[..., Made], names: Iterable[str], *values: object
    ) -> dict[str, list[Made]]:
        """work(name, seed, *values) with every seed, by name."""
        return self.map(
            {name: [partial(work, name, seed, *values) for seed in self.seeds] for name in names}
        )


def _call(job: Callable[[], Made]) -> Made:
    return job()


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers are written in `form`, for instance ".2f"."""

    name: Text
    form: str = ""


@dataclass(frozen=True)
class Series:
    """A named line of (x, y) points; `low` and `high` are the band around it, if there is one."""

    name: Text
    points: Sequence[tuple[float, float]]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    @classmethod
    def of_seeds(
        cls, name: Text, points: Mapping[int, Sequence[float]] | Mapping[float, Sequence[float]]
    ) -> "Series":
        """The means at each x of what the seeds gave, with their range as a band."""
        means = [(float(x), mean(seeds)) for x, seeds in points.items()]
        low, high = ([edge(seeds) for seeds in points.values()] for edge in (min, max))
        return cls(name, means, low, high)


@dataclass(frozen=True)
class Chart:
    """Lines over common axes.

    Attributes:
        log_x, log_y: whether an axis counts in powers.
        least, most: the ends of the y axis; None fits the points.
        marks: horizontal lines with a name, such as the largest value there can be.
    """

    title: Text
    x_title: Text
    y_title: Text
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    least: float | None = None
    most: float | None = None
    marks: Sequence[tuple[Text, float]] = ()


@dataclass(frozen=True)
class Bars:
    """A bar for each name, with the numbers written at their ends.

    Attributes:
        spread: half the length of the line over each bar; None draws none.
    """

    title: Text
    x_title: Text
    bars: Sequence[tuple[Text, float]]
    spread: Sequence[float] | None = None
    form: str = ".2f"
    log_x: bool = False


@dataclass(frozen=True)
class Grid:
    """Weights from 0 to 1, the darker the more; rows attend to columns.

    Attributes:
        framed: cells (row, column) that are known to be right.
    """

    title: Text
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    row_title: Text
    column_title: Text
    framed: Sequence[tuple[int, int]] = ()


Panel = Chart | Bars | Grid


def outcome_of(states: Sequence[State]) -> Outcome | None:
    """What the conditions' states make of the claim; None where there are no conditions."""
    if not states:
        return None
    if all(state == "met" for state in states):
        return "holds"
    if "met" in states:
        return "partly"
    return "open" if "open" in states else "fails"


@dataclass(frozen=True)
class Findings:
    """The results of a lab.

    Attributes:
        figures: every number the sentence rests on, by name; plain JSON.
        conditions: what has to be so for the claim to hold; none where there is no claim to judge.
        sentence: by how much it holds; computed from the figures.
        panels: the picture, from left to right.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell]]
    figures: Mapping[str, object]
    conditions: Sequence[Condition]
    sentence: Text
    panels: Sequence[Panel]

    @property
    def outcome(self) -> Outcome | None:
        """Whether the claim holds; None where there are no conditions."""
        return outcome_of([each.state for each in self.conditions])

    def verdict(self, language: Language) -> str:
        """One or two sentences: does the claim hold here, and by how much."""
        sentence = self.sentence.of(language)
        return f"{VERDICTS[self.outcome].of(language)} {sentence}" if self.outcome else sentence

    def judged(self, language: Language) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the conditions: what was measured, and what was needed."""
        rows = []
        for each in self.conditions:
            low, high = (format(edge(each.values), each.form) for edge in (min, max))
            between = f"{low} … {high}" if len(each.values) > 1 else ""
            state = STATES[each.state].of(language)
            measured = with_interval(each.values, each.form)
            rows.append([each.name.of(language), measured, between, each.needed, state])
        return [column.of(language) for column in CONDITION_COLUMNS], rows


def cell_text(cell: TableCell, form: str, language: Language) -> str:
    """A cell as text; nothing where there is no value."""
    if cell is None:
        return ""
    if isinstance(cell, Text):
        return cell.of(language)
    return cell if isinstance(cell, str) else format(cell, form)


def table(findings: Findings, language: Language) -> tuple[list[str], list[list[str]]]:
    """Headings and rows as text."""
    forms = [column.form for column in findings.columns]
    return [column.name.of(language) for column in findings.columns], [
        [cell_text(cell, form, language) for cell, form in zip(row, forms, strict=True)]
        for row in findings.rows
    ]
