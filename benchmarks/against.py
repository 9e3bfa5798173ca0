"""Compares the speed of this checkout of jumok with that of another one, in turns on one core.

    git worktree add ../before v0.1.0
    python -m benchmarks.against ../before

Training: `jumok train` with benchmarks/peers/jumok.toml for a number of steps, in CPU-seconds per
target token, start-up excluded. Translation: the same sentences with the same bundle. A ratio is
the median over rounds of (the other's seconds / ours): above 1 this checkout is faster.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bundle import trained_bundle
from benchmarks.corpus import WORK, Corpus, data_folder, joint_corpus
from benchmarks.environments import FOLDER
from benchmarks.errors import BenchmarkError
from benchmarks.measure import median_ratio
from benchmarks.peers.jumok import RECIPE, recipe_variables
from benchmarks.process import one_thread_environment, pinned, stop

HERE = Path(__file__).parents[1]
CASES = (  # name, beam, batch, sentences
    ("greedy, batch 32", 1, 32, 64),
    ("greedy, batch 1", 1, 1, 16),
    ("beam 4, batch 32", 4, 32, 32),
    ("beam 4, batch 1", 4, 1, 8),
)
WARM_UP = 10  # steps at the beginning of a training run that are not measured


def main() -> None:
    """Print one row a case: the ratio, and this checkout's median."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("other", type=Path, help="another checkout of jumok")
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        help="rounds of training; there are ten times as many of translation",
    )
    parser.add_argument("--steps", type=int, default=30, help="steps of each training run")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    given = parser.parse_args()
    corpus = joint_corpus()
    checkouts = {"this": HERE, "other": given.other.resolve()}
    print("| case | other / this | seconds, this |\n|---|---|---|", flush=True)
    translate(checkouts, corpus, 10 * given.rounds, given.core)
    for precision in ("bf16", "fp32"):
        train(checkouts, corpus, precision, given)


def translate(checkouts: dict[str, Path], corpus: Corpus, rounds: int, core: int) -> None:
    """Both checkouts translate the same sentences with the same bundle, in turn."""
    bundle = trained_bundle(corpus, core, environment_of(checkouts["other"]), "bundle-of-other")
    texts = (data_folder() / "multi30k" / "test_2016_flickr.en").read_text().splitlines()
    with ExitStack() as stack:
        workers = {}
        for name, checkout in checkouts.items():
            worker = FOLDER / "workers" / "jumok_translating.py"
            process = subprocess.Popen(
                pinned([sys.executable, worker, bundle], core),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment_of(checkout),
                start_new_session=True,
            )
            stack.callback(stop, process)
            workers[name] = process
        for case, beam, batch, sentences in CASES:
            request = {"texts": texts[:sentences], "beam": beam, "batch": batch}
            asked = [
                {name: ask(worker, request) for name, worker in workers.items()}
                for _ in range(rounds + 1)
            ][1:]
            seconds = {name: [each[name]["cpu_seconds"] for each in asked] for name in workers}
            say(case, seconds, asked[-1]["this"]["texts"] == asked[-1]["other"]["texts"])


def train(
    checkouts: dict[str, Path], corpus: Corpus, precision: str, given: argparse.Namespace
) -> None:
    """Both checkouts train the same recipe, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in checkouts}
    losses: dict[str, float] = {}
    for _ in range(given.rounds):
        for name, checkout in checkouts.items():
            records = trained(checkout, corpus, precision, given.steps, given.core)
            first, last = records[WARM_UP - 1], records[-1]
            spent = last["cpu_seconds"] - first["cpu_seconds"]
            seconds[name].append(spent / (last["tokens"] - first["tokens"]))
            losses[name] = last["loss"]
    say(f"train, {precision}, seconds a token", seconds, losses["this"] == losses["other"])


def trained(
    checkout: Path, corpus: Corpus, precision: str, steps: int, core: int
) -> list[dict[str, Any]]:
    """The step records in the log of one short run."""
    runs = WORK / "against"
    shutil.rmtree(runs, ignore_errors=True)
    command: list[str | Path] = [
        sys.executable, "-c", "from jumok.cli.main import run; run()", "train", RECIPE,
        "--set", f"training.precision={precision}", "--set", f"training.steps={steps}",
        "--set", f"validation.every={steps}", "--set", "validation.decode_pairs=8", "--runs", runs,
    ]  # fmt: skip
    done = subprocess.run(
        pinned(command, core),
        env=environment_of(checkout) | recipe_variables(corpus),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkError(f"`jumok train` of {checkout} failed: {done.stderr.decode()[-2000:]}")
    lines = (runs / "benchmark" / "log.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == "step"]


def environment_of(checkout: Path) -> dict[str, str]:
    """One thread, and the package of this checkout."""
    return one_thread_environment() | {"PYTHONPATH": str(checkout / "src")}


def ask(worker: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """The answer of one worker."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write((json.dumps(request) + "\n").encode())
    worker.stdin.flush()
    line = worker.stdout.readline()
    if not line:
        raise BenchmarkError("a checkout gave no answer: its error is above")
    return json.loads(line)


def say(case: str, seconds: dict[str, list[float]], same: bool) -> None:
    """Prints one row, which also says if the results differ."""
    ratio = median_ratio(seconds["other"], seconds["this"])
    print(
        f"| {case}{'' if same else ' (results differ)'} | {ratio:.3f} x "
        f"| {median(seconds['this']):.3g} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
