"""Trains a recipe with several seeds: its scores, and how much they vary by chance.

    python -m benchmarks.seeds recipes/translit.toml
    python -m benchmarks.seeds recipes/nsmc.toml --seeds 1 2 3 --set training.threads=1

Every run is one `jumok train`, then each `jumok evaluate` that the recipe's header names, with the
run's own folder in it. Runs are kept as NAME-s1, NAME-s2, ...; an existing one is not trained
again. {seed} and {runs} in a --set are replaced by those of the run. The output is the number of
parameters, the wall time and the processor time of training, and the mean, the sample standard
deviation and the values of each score; a score of a second evaluation is marked (2). For a recipe
that names no evaluation, the scores are those of its validation.
"""

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.corpus import data_folder
from benchmarks.environments import OUR_COMMAND
from benchmarks.process import children_seconds

Facts = dict[str, Any]


def main() -> None:
    """Train and evaluate what is missing, and print the table."""
    arguments = _arguments()
    name = arguments.recipe.stem
    facts = []
    for seed in arguments.seeds:
        run = arguments.runs / f"{name}-s{seed}"
        kept = run / "seeds.json"
        if not kept.is_file():
            changes = [
                change.format(seed=seed, runs=arguments.runs.resolve()) for change in arguments.set
            ]
            fact = _train(arguments.recipe, run, [f"seed={seed}", *changes])
            kept.write_text(json.dumps(fact, indent=2))
        fact = json.loads(kept.read_text())
        fact["scores"] = _evaluate(arguments.recipe, run) or fact["scores"]
        print(json.dumps({"run": run.name} | fact), flush=True)
        facts.append(fact)
    print(table(name, facts))


def table(name: str, facts: list[Facts]) -> str:
    """The runs as lines of text: what they cost, then a line a score."""
    first = facts[0]
    minutes = [fact["cpu_seconds"] / 60 for fact in facts]
    clock = [fact["seconds"] / 60 for fact in facts]
    lines = [
        f"{name}: {first['parameters']:,} parameters, "
        f"{statistics.mean(minutes):.1f} processor minutes, "
        f"{statistics.mean(clock):.1f} on the clock"
    ]
    for score in first["scores"]:
        values = [fact["scores"][score] for fact in facts]
        spread = f" ± {statistics.stdev(values):.3g}" if len(values) > 1 else ""
        each = ", ".join(f"{value:.4g}" for value in values)
        lines.append(f"  {score}: {statistics.mean(values):.4g}{spread}  ({each})")
    return "\n".join(lines)


def evaluations(recipe: Path, run: Path) -> list[list[str]]:
    """The evaluations a recipe's header names, their arguments, for the model in the folder run."""
    whole = recipe.read_text(encoding="utf-8")
    header = re.sub(r"\\\n#\s*", "", whole.split("\nname = ")[0])
    name = tomllib.loads(whole)["name"]
    ours = re.sub(rf"\bruns/{re.escape(name)}(?=/)", str(run), header)
    data = {"JUMOK_DATA": str(data_folder())}
    return [
        shlex.split(re.sub(r"\$(\w+)", lambda match: data[match[1]], command))
        for command in re.findall(r"^#\s+jumok (evaluate .*)$", ours, re.MULTILINE)
    ]


def _train(recipe: Path, run: Path, changes: list[str]) -> Facts:
    before, started = children_seconds(), time.perf_counter()
    sets = [word for change in changes for word in ("--set", change)]
    jumok("train", str(recipe), "--name", run.name, "--runs", str(run.parent), *sets)
    seconds = time.perf_counter() - started
    info = json.loads(jumok("info", str(run / "model"), "--json"))
    return {
        "parameters": info["sizes"]["parameters"],
        "seconds": seconds,
        "cpu_seconds": children_seconds() - before,
        "scores": {score["name"]: score["value"] for score in info["card"]["scores"]},
    }


def _evaluate(recipe: Path, run: Path) -> dict[str, float]:
    scores = {}
    for number, words in enumerate(evaluations(recipe, run), start=1):
        kept = run / f"evaluation-{number}.json"
        if not kept.is_file():
            kept.write_text(jumok(*words, "--json", "--output", str(run / f"output-{number}.txt")))
        for score in json.loads(kept.read_text())["scores"]:
            named = f"{score['name']} {score['on']}".strip()
            scores[named if named not in scores else f"{named} ({number})"] = score["value"]
    return scores


def jumok(*words: str | Path) -> str:
    """The output of one command; its progress goes to our own stderr."""
    environment = os.environ | {"JUMOK_DATA": str(data_folder())}
    print("$ jumok", *words, file=sys.stderr, flush=True)
    return subprocess.run(
        [*OUR_COMMAND, *map(str, words)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ).stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seeds", description=__doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--runs", type=Path, default=Path("runs/seeds"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
