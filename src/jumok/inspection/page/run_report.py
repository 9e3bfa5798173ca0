"""The training run of a model for the page: curves, scores, examples, commands.

It takes at most some 40 kB, however long the run was: a curve has at most `MOST_POINTS` points, and
there are at most `MOST_EXAMPLES` examples, whose texts are cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from jumok.bundle.card import Score
from jumok.data.files.run_log import LogRecord, RunLog, number_in

MOST_POINTS = 150
"""The most points of a curve: a longer one of training is averaged, of validation thinned."""
MOST_SCORES, MOST_EXAMPLES, MOST_LETTERS = 6, 12, 240
REPORT_DIGITS = 4

Point = tuple[int, float, float]
"""Step, minutes since the run began, value."""


@dataclass(frozen=True)
class UnseenExample:
    """An input that the model was not trained on, the model's output, and the reference."""

    source: str
    output: str
    reference: str


@dataclass(frozen=True)
class RunReport:
    """What is known of a run.

    Attributes:
        commands: what to type next, ready to be copied: to "look" inside the model, to "use" it,
            to "serve" it.
        scores: of data that training did not see; `on` says which.
        parameters: how many the model has; 0: not known.
    """

    log: RunLog
    commands: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[UnseenExample, ...] = ()
    scores: tuple[Score, ...] = ()
    parameters: int = 0

    def payload(self) -> dict[str, object]:
        """The same as plain JSON, of bounded size."""
        log = self.log
        records = [*log.steps, *log.validations]
        best = [each for each in log.validations if each.get("best")]
        names = log.scores[:MOST_SCORES]
        return {
            "name": log.name,
            "steps": max(record["step"] for record in records),
            "minutes": _report_number(max(record["seconds"] for record in records) / 60),
            "best": best[-1]["step"] if best else None,
            "parameters": self.parameters,
            "training": {name: averaged(log.steps, name) for name in ("loss", "learning_rate")},
            "validation": {name: thinned(log.validations, name) for name in ("loss", *names)},
            "tested": [
                [score.name, _report_number(score.value), score.on] for score in self.scores
            ],
            "examples": [
                [_shortened(text) for text in (each.source, each.output, each.reference)]
                for each in self.examples[:MOST_EXAMPLES]
            ],
            "commands": list(self.commands.items()),
        }


def averaged(records: Sequence[LogRecord], name: str) -> list[Point]:
    """The numbers of training: of a long log, means over equal stretches, at the end of each."""
    points = list(_finite_points(records, name))
    wide = -(-len(points) // MOST_POINTS) or 1
    means = []
    for start in range(0, len(points), wide):
        stretch = points[start : start + wide]
        step, minutes, _ = stretch[-1]
        means.append(
            (step, minutes, _report_number(sum(value for *_, value in stretch) / len(stretch)))
        )
    return means


def thinned(records: Sequence[LogRecord], name: str) -> list[Point]:
    """The numbers of validations: of a long log, every n-th, the best and the last."""
    kept = [each for each in records if number_in(each, name) is not None]
    apart = -(-len(kept) // (MOST_POINTS - 2)) or 1
    best = max((at for at, each in enumerate(kept) if each.get("best")), default=-1)
    chosen = [
        each for at, each in enumerate(kept) if at % apart == 0 or at in (best, len(kept) - 1)
    ]
    return list(_finite_points(chosen, name))


def _finite_points(records: Sequence[LogRecord], name: str) -> Iterator[Point]:
    for record in records:
        value = number_in(record, name)
        if value is not None and isfinite(value) and isfinite(record["seconds"]):
            yield record["step"], _report_number(record["seconds"] / 60), _report_number(value)


def _report_number(number: float) -> float:
    """Rounded to the digits that a figure or a table shows."""
    return float(f"{number:.{REPORT_DIGITS}g}")


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
