"""This checkout of jumok against another one: do the recipes train as they did, digit by digit?

    git worktree add ../before v0.1.0
    python -m benchmarks.same_steps ../before
    python -m benchmarks.same_steps ../before --recipes nsmc-mlm nsmc-pretrained --steps 50

Each recipe is trained for a few steps by both checkouts, side by side with one thread each, and
validated once. Printed are the number of steps whose loss is equal in every digit, and whether the
validation scores are. Where both are equal, so are the scores of whole runs; where they are not,
`python -m benchmarks.seeds` shows whether the score has changed.
"""

import argparse
import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.against import HERE, environment_of
from benchmarks.corpus import WORK, data_folder
from benchmarks.errors import BenchmarkError
from benchmarks.process import stop

Record = dict[str, Any]


def main() -> None:
    """Print one row a recipe; exit with 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_steps", description=__doc__)
    parser.add_argument("other", type=Path, help="another checkout of jumok")
    parser.add_argument(
        "--recipes", nargs="*", help="default: all that both checkouts have, in order"
    )
    parser.add_argument("--steps", type=int, default=10)
    given = parser.parse_args()
    checkouts = {"this": HERE, "other": given.other.resolve()}
    runs = WORK / "same_steps"
    shutil.rmtree(runs, ignore_errors=True)
    print("| recipe | equal losses | equal validation |\n|---|---|---|", flush=True)
    recipes = given.recipes or names(checkouts["other"])
    same = [row(name, checkouts, runs, given.steps) for name in recipes]
    sys.exit(0 if all(same) else 1)


def names(other: Path) -> list[str]:
    """The recipes of both checkouts; one that begins with another one's model comes after it."""
    ours, theirs = (
        {path.stem for path in (each / "recipes").glob("*.toml")} for each in (HERE, other)
    )
    return sorted(ours & theirs, key=lambda name: (name.endswith("-pretrained"), name))


def row(name: str, checkouts: dict[str, Path], runs: Path, steps: int) -> bool:
    """Train `name` in both checkouts, and print what agrees."""
    with ExitStack() as stack:  # where one fails, the other is stopped, too
        started = {}
        for which, checkout in checkouts.items():
            started[which] = begin(name, checkout, runs / which, steps)
            stack.callback(stop, started[which])
        logs = {which: records(name, runs / which, process) for which, process in started.items()}
    ours, theirs = (
        [each["loss"] for each in logs[which] if each["kind"] == "step"]
        for which in ("this", "other")
    )
    equal = sum(map(float.__eq__, ours, theirs))
    scores = [scores_of(logs[which]) for which in ("this", "other")]
    validated = "yes" if scores[0] == scores[1] else f"no: {scores[0]}, before {scores[1]}"
    print(f"| {name} | {equal} of {max(len(ours), len(theirs))} | {validated} |", flush=True)
    return equal == len(ours) == len(theirs) > 0 and scores[0] == scores[1]


def begin(name: str, checkout: Path, runs: Path, steps: int) -> subprocess.Popen[bytes]:
    """Start training; each checkout reads its own recipe."""
    runs.mkdir(parents=True, exist_ok=True)
    changes = [
        f"training.steps={steps}", f"validation.every={steps}",
        "training.log_every=1", "training.threads=1",
    ]  # fmt: skip
    if name.endswith("-pretrained"):
        encoder = runs / name.replace("-pretrained", "-mlm") / "model"
        changes.append(f"model.pretrained={encoder}")
    command: list[str | Path] = [
        sys.executable, "-c", "from jumok.cli.main import run; run()", "train",
        checkout / "recipes" / f"{name}.toml", "--name", name, "--runs", runs,
        *(word for change in changes for word in ("--set", change)),
    ]  # fmt: skip
    environment = environment_of(checkout) | {"JUMOK_DATA": str(data_folder())}
    with (runs / f"{name}.txt").open("wb") as output:
        return subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True
        )


def records(name: str, runs: Path, process: subprocess.Popen[bytes]) -> list[Record]:
    """What the run has logged.

    Raises:
        BenchmarkError: it has failed.
    """
    if process.wait() != 0:
        raise BenchmarkError(f"training failed: {(runs / f'{name}.txt').read_text()[-2000:]}")
    lines = (runs / name / "log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def scores_of(log: list[Record]) -> Record:
    """The last validation without its times."""
    last = [each for each in log if each["kind"] == "validation"][-1]
    return {key: value for key, value in last.items() if key not in ("kind", "took", "seconds")}


if __name__ == "__main__":
    main()
