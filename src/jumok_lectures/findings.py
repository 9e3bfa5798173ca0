"""What a lab finds: a table, pictures, whether the claim holds, and by how much."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from jumok.environment import Language
from jumok_lectures.judging import INTERVAL, STATES, Condition, State, mean, number, with_interval
from jumok_lectures.text import FAILS, HOLDS, OPEN, PARTLY, Text, joined
from jumok_lectures.workers import LabWorkers, Made

TableCell = float | int | str | Text | None
Outcome = Literal["holds", "fails", "partly", "open"]
VERDICTS: Mapping[Outcome, Text] = {"holds": HOLDS, "fails": FAILS, "partly": PARTLY, "open": OPEN}
ONLY: Mapping[State, Text] = {
    "met": Text("Its only condition is met.", "조건 1개를 충족합니다."),
    "unmet": Text("Its only condition is not met.", "조건 1개를 충족하지 않습니다."),
    "open": Text("Its only condition is undecided.", "조건 1개가 판단 불가입니다."),
}
ALL: Mapping[State, Callable[[int], Text]] = {
    "met": lambda total: Text(
        f"{_all(total)} conditions are met.", f"조건 {total}개를 모두 충족합니다."
    ),
    "unmet": lambda total: Text(
        f"None of the {total} conditions is met.",
        f"조건 {total}개 가운데 하나도 충족하지 않습니다.",
    ),
    "open": lambda total: Text(
        f"{_all(total)} conditions are undecided.", f"조건 {total}개가 모두 판단 불가입니다."
    ),
}
CONDITION_COLUMNS = (
    Text("condition of the claim", "주장의 조건"),
    Text("measured", "측정값"),
    Text("range of the seeds", "시드별 범위"),
    Text("needed", "기준"),
    Text("state", "판정"),
)


def _all(total: int) -> str:
    return "Both" if total == 2 else f"All {total}"


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


def verdict_of(states: Sequence[State]) -> Text:
    """The outcome in a sentence, and how many conditions are met; nothing without conditions."""
    outcome = outcome_of(states)
    if outcome is None:
        return Text("", "")
    return joined((VERDICTS[outcome], _counted(states)), " ")


def _counted(states: Sequence[State]) -> Text:
    """ "Conditions: 2 met, 2 undecided and 1 not met." """
    total = len(states)
    counts = {state: states.count(state) for state in STATES if state in states}
    if total == 1:
        return ONLY[states[0]]
    if len(counts) == 1:
        return ALL[states[0]](total)
    order = ("met", "open", "unmet")
    english = [f"{counts[state]} {STATES[state].en}" for state in order if state in counts]
    korean = [f"{counts[state]}개는 {STATES[state].ko}" for state in order if state in counts]
    listed = f"{', '.join(english[:-1])} and {english[-1]}"
    return Text(
        f"Conditions: {listed}.",
        f"조건 {total}개 가운데 {', '.join(korean)}입니다.",
    )


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
        said = verdict_of([each.state for each in self.conditions]).of(language)
        return f"{said} {self.sentence.of(language)}".strip()

    def judged(self, language: Language) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the conditions: what was measured, and what was needed."""
        rows = []
        for each in self.conditions:
            low, high = (number(edge(each.values), each.form) for edge in (min, max))
            between = f"{low} … {high}" if len(each.values) > 1 else ""
            state = (INTERVAL if each.state == "open" else STATES[each.state]).of(language)
            measured = with_interval(each.values, each.form)
            rows.append([each.name.of(language), measured, between, each.needed, state])
        return [column.of(language) for column in CONDITION_COLUMNS], rows


def cell_text(cell: TableCell, form: str, language: Language) -> str:
    """A cell as text; nothing where there is no value."""
    if cell is None:
        return ""
    if isinstance(cell, Text):
        return cell.of(language)
    return cell if isinstance(cell, str) else number(cell, form)


def table(findings: Findings, language: Language) -> tuple[list[str], list[list[str]]]:
    """Headings and rows as text."""
    forms = [column.form for column in findings.columns]
    return [column.name.of(language) for column in findings.columns], [
        [cell_text(cell, form, language) for cell, form in zip(row, forms, strict=True)]
        for row in findings.rows
    ]
