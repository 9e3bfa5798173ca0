"""How many processor minutes a recipe needs to reach a score, over several seeds.

    python -m benchmarks.records recipes/shakespeare.toml --below 1.70 1.65
    python -m benchmarks.records recipes/multi30k-en-de.toml --score BLEU --above 37.0 38.5 \
        --set validation.every=250

Every run is one `jumok train`, which keeps each validated model. The first one that has the score
counts, and the time is the processor time of the steps until then, on all threads together;
preparing, validating and writing are not part of it. "loss" is that of the validation. Any other
score is that of the evaluation which the recipe's header names, made with each kept model. Runs are
kept as NAME-s1, NAME-s2, ...; an existing one is not trained again.
"""

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.seeds import evaluations, jumok

LOSS = "loss"


@dataclass(frozen=True)
class Kept:
    """A validated model of a run.

    Attributes:
        step: after which it was validated.
        minutes: processor time of the steps until then.
        score: its loss, or its score in the recipe's evaluation.
    """

    step: int
    minutes: float
    score: float


def main() -> None:
    """Train and evaluate what is missing, and print the table."""
    given = _arguments()
    runs = []
    for seed in given.seeds:
        run = given.runs / f"{given.recipe.stem}-s{seed}"
        if not (run / "finished").is_file():
            changes = [f"seed={seed}", "validation.keep=all", *given.set]
            sets = [word for change in changes for word in ("--set", change)]
            jumok("train", str(given.recipe), "--name", run.name, "--runs", str(run.parent), *sets)
            (run / "finished").touch()
        runs.append(kept_models(given.recipe, run, given.score))
    targets = given.below if given.score == LOSS else given.above
    print(table(given.recipe.stem, given.score, targets, runs))


def kept_models(recipe: Path, run: Path, score: str) -> list[Kept]:
    """The validated models of a run, in order."""
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    seconds, kept = 0.0, []
    for record in records:
        seconds = record.get("cpu_seconds", seconds)
        if "took" in record:
            step = record["step"]
            value = record["loss"] if score == LOSS else _evaluated(recipe, run, step, score)
            kept.append(Kept(step, seconds / 60, value))
    return kept


def reached(models: list[Kept], target: float, score: str) -> Kept | None:
    """The first model that has the target."""
    return next((model for model in models if better(model.score, target, score)), None)


def better(value: float, target: float, score: str) -> bool:
    """Whether a score is at least as good as the target; a loss is better if it is smaller."""
    return value <= target if score == LOSS else value >= target


def table(name: str, score: str, targets: list[float], runs: list[list[Kept]]) -> str:
    """The runs as lines of text: a line for each target, then what each run had at its best."""
    lines = [f"{name}, {len(runs)} runs"]
    for target in targets:
        firsts = [reached(models, target, score) for models in runs]
        minutes = [first.minutes for first in firsts if first is not None]
        each = ", ".join(
            "not reached" if first is None else f"{first.minutes:.1f} (step {first.step})"
            for first in firsts
        )
        if len(minutes) == len(runs):
            each = f"{_mean(minutes, '.1f')} processor minutes: {each}"
        lines.append(f"  {score} {target:g}: {each}")
    choose = min if score == LOSS else max
    best = [choose(models, key=lambda model: model.score) for models in runs]
    each = ", ".join(f"{model.score:.4g} ({model.minutes:.1f} minutes)" for model in best)
    lines.append(f"  best {score}: {_mean([model.score for model in best], '.4g')}: {each}")
    return "\n".join(lines)


def _mean(values: list[float], form: str) -> str:
    spread = f" ± {statistics.stdev(values):.2g}" if len(values) > 1 else ""
    return f"{statistics.mean(values):{form}}{spread}"


def _evaluated(recipe: Path, run: Path, step: int, score: str) -> float:
    model = run / "steps" / f"{step:06d}"
    report = run / f"evaluation-{step:06d}.json"
    if not report.is_file():
        words, *_ = evaluations(recipe, run)
        words = [str(model) if word == str(run / "model") else word for word in words]
        report.write_text(jumok(*words, "--json", "--output", str(run / f"output-{step:06d}.txt")))
    scores: list[dict[str, Any]] = json.loads(report.read_text())["scores"]
    return next(each["value"] for each in scores if each["name"] == score)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--score", default=LOSS, help="the score's name. Default: loss")
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--below", type=float, nargs="+", metavar="LOSS")
    wanted.add_argument("--above", type=float, nargs="+", metavar="SCORE")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--runs", type=Path, default=Path("runs/records"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    if (given.score == LOSS) != (given.below is not None):
        parser.error("--below is for the loss, --above for --score NAME")
    return given


if __name__ == "__main__":
    main()
