"""What a lab finds: a table, pictures, whether the claim holds, and by how much."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from jumok.lab.text import FAILS, HOLDS, PARTLY, Language, Text

TableCell = float | int | str | Text | None
Outcome = Literal["holds", "fails", "partly"]
VERDICTS: Mapping[Outcome, Text] = {"holds": HOLDS, "fails": FAILS, "partly": PARTLY}


@dataclass(frozen=True)
class Setting:
    """The settings of a lab.

    Attributes:
        seeds: one run each; labs without chance, and those too long for it, take the first.
        full: the long form.
        cache: a folder where labs keep prepared data for each other.
        data: where real corpora are; None where there are none.
        encoder: a model that a lab reads instead of training one; None: it trains.
        say: called with each line of progress.
    """

    seeds: tuple[int, ...]
    full: bool
    cache: Path
    data: Path | None = None
    encoder: Path | None = None
    say: Callable[[str], None] = field(default=lambda _: None)

    @property
    def seed(self) -> int:
        """The first seed."""
        return self.seeds[0]


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


@dataclass(frozen=True)
class Findings:
    """The results of a lab.

    Attributes:
        figures: every number the sentence rests on, by name; plain JSON.
        outcome: whether the claim holds, by thresholds that the lab states.
        sentence: by how much; computed from the figures.
        panels: the picture, from left to right.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell]]
    figures: Mapping[str, object]
    outcome: Outcome
    sentence: Text
    panels: Sequence[Panel]

    def verdict(self, language: Language) -> str:
        """One or two sentences: does the claim hold here, and by how much."""
        return f"{VERDICTS[self.outcome].of(language)} {self.sentence.of(language)}"


def judged(holds: bool, in_part: bool = False) -> Outcome:
    """The outcome in words."""
    return "holds" if holds else "partly" if in_part else "fails"


def written(cell: TableCell, form: str, language: Language) -> str:
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
        [written(cell, form, language) for cell, form in zip(row, forms, strict=True)]
        for row in findings.rows
    ]


def mean(values: Sequence[float]) -> float:
    """The mean; of the seeds, mostly."""
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> float:
    """The standard deviation over seeds; 0 where there is one alone."""
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    variance = sum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return float(variance**0.5)
