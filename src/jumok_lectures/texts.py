"""The texts of a lab in both languages, from sentences/NAME.toml.

A text is a template of `str.format`. Its values may be texts themselves, of which each language
takes its own, and lists of one number a seed, which are written with their interval.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Any

from jumok.environment import Language
from jumok_lectures.entry import Quote
from jumok_lectures.findings import Bars, Chart, Column, Findings, Grid, Panel, Series, TableCell
from jumok_lectures.judging import Condition, half_width, in_words, mean, number
from jumok_lectures.text import Text

HOME = Path(__file__).parent / "sentences"


class _Writer(Formatter):
    """Writes the values of a template in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def format_field(self, value: Any, form: str) -> str:
        if isinstance(value, Text):
            value = value.of(self.language)
        elif isinstance(value, list | tuple):
            return in_words(value, form or ".2f")
        elif isinstance(value, float):
            return number(value, form)
        return str(format(value, form))


def filled(entry: Mapping[str, str], values: Mapping[str, object]) -> Text:
    """The text of an entry; without values it is no template, and braces are braces."""
    if not values:
        return Text(entry["en"], entry["ko"])
    return Text(
        _Writer("en").vformat(entry["en"], (), values),
        _Writer("ko").vformat(entry["ko"], (), values),
    )


class Texts:
    """The texts of a file.

    Args:
        name: of the file, without its suffix.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def read(self) -> dict[str, Any]:
        """All of the file."""
        return tomllib.loads((HOME / f"{self.name}.toml").read_text("utf-8"))

    def __call__(self, key: str, /, **values: object) -> Text:
        """The text of a key, filled in."""
        return filled(self.read[key], values)

    def chosen(self, table: str, key: str, /) -> Text:
        """One text of a table whose key is computed."""
        return filled(self.read[table][key], {})

    def named(self, key: str, /, **values: object) -> dict[str, Text]:
        """The texts of a table, in its order."""
        return {name: filled(entry, values) for name, entry in self.read[key].items()}

    def quote(self, line: str) -> Quote:
        """The note's words on a line of it; several on one line are 12, 12b and 12c."""
        return Quote(self.read["note"], int(line.rstrip("bc")), self.read["quotes"][line])

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table."""
        return tuple(_column(entry, {}) for entry in self.read["columns"])

    def column(self, key: str, /, **values: object) -> Column:
        """One column of the table."""
        return _column(self.read["column"][key], values)

    def findings(
        self,
        *,
        rows: Sequence[Sequence[TableCell]],
        figures: Mapping[str, object],
        conditions: Sequence[Condition],
        panels: Sequence[Panel],
        columns: Sequence[Column] | None = None,
        **values: object,
    ) -> Findings:
        """What a lab finds: its columns and its sentence are the file's.

        Args:
            columns: where they depend on what was measured.
            values: of the sentence.
        """
        sentence = filled(self.read["sentence"], values)
        return Findings(columns or self.columns, rows, figures, conditions, sentence, panels)

    def chart(
        self,
        series: Sequence[Series],
        number: str = "",
        *,
        title: Text | None = None,
        x: Text | None = None,
        y: Text | None = None,
        log_x: bool = False,
        log_y: bool = False,
        least: float | None = None,
        most: float | None = None,
        marks: Sequence[tuple[Text, float]] = (),
    ) -> Chart:
        """Lines with the chart's title and axes."""
        heading = title or self(f"chart_title{number}")
        x, y = x or self(f"chart_x{number}"), y or self(f"chart_y{number}")
        return Chart(heading, x, y, series, log_x, log_y, least, most, marks)

    def grid(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        values: Sequence[Sequence[float]],
        *,
        title: Text | None = None,
        framed: Sequence[tuple[int, int]] = (),
    ) -> Grid:
        """Weights with the grid's titles."""
        heading, row, column = title or self("grid_title"), self("grid_row"), self("grid_column")
        return Grid(heading, rows, columns, values, row, column, framed)

    def bars(
        self,
        bars: Iterable[tuple[Text, Sequence[float] | float]],
        number: str = "",
        *,
        title: Text | None = None,
        x: Text | None = None,
        form: str = ".2f",
        log_x: bool = False,
    ) -> Bars:
        """A bar for a number, or for what each seed gave: their mean, with its interval."""
        names, values = zip(*bars, strict=True)
        alone = all(isinstance(each, float | int) for each in values)
        seeds = [[each] if isinstance(each, float | int) else each for each in values]
        return Bars(
            title or self(f"bars_title{number}"),
            x or self(f"bars_x{number}"),
            list(zip(names, map(mean, seeds), strict=True)),
            None if alone else [half_width(each) or 0.0 for each in seeds],
            form,
            log_x,
        )

    def bound(self, key: str, /) -> float:
        """What the values of a condition have to be above, or below."""
        entry = self.read["conditions"][key]
        bound: float = entry["above"] if "above" in entry else entry["below"]
        return bound

    @property
    def bounds(self) -> dict[str, float]:
        """The bound of every condition."""
        return {key: self.bound(key) for key in self.read.get("conditions", {})}

    def condition(self, key: str, measured: Sequence[float], /, **values: object) -> Condition:
        """A condition of the claim, with what was measured of it."""
        entry = self.read["conditions"][key]
        return Condition(
            filled(entry, values),
            measured,
            self.bound(key),
            above="above" in entry,
            form=entry.get("form", ".2f"),
        )


def _column(entry: Mapping[str, str], values: Mapping[str, object]) -> Column:
    return Column(filled(entry, values), entry.get("form", ""))
