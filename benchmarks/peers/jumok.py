"""This project: `jumok train` with peers/jumok.toml, once in bfloat16 and once in float32."""

import json
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.corpus import Corpus
from benchmarks.environments import FOLDER, OUR_COMMAND
from benchmarks.peers.trainer import Trainer
from benchmarks.watch import Job

RECIPE = FOLDER / "peers" / "jumok.toml"


class Progress:
    """A line of log.jsonl holds the real target tokens since the run began."""

    def __init__(self) -> None:
        self._before = 0

    def __call__(self, line: str, _now: float) -> float | None:
        record = json.loads(line)
        if record["kind"] != "step":
            return None
        done = record["tokens"] - self._before
        self._before = record["tokens"]
        return float(done)


def train_command(runs: Path, *overrides: str) -> list[str | Path]:
    """`jumok train` with the benchmark's recipe; the run's folder is runs/benchmark."""
    command: list[str | Path] = [*OUR_COMMAND, "train", RECIPE]
    for override in overrides:
        command += ["--set", override]
    return [*command, "--runs", runs]


def recipe_variables(corpus: Corpus) -> dict[str, str]:
    """What the recipe's $NAMES stand for."""
    return {"CORPUS": str(corpus.folder)}


def _prepare(precision: str, corpus: Corpus, folder: Path) -> Job:
    return Job(
        command=train_command(folder, f"training.precision={precision}"),
        folder=folder,
        read_progress=Progress(),
        progress=folder / "benchmark" / "log.jsonl",
        environment=recipe_variables(corpus),
    )


TRAINERS = tuple(
    Trainer(
        name=f"jumok-{precision}",
        tool=f"jumok {version('jumok')}",
        batching="exact source lengths, 4,096 tokens",
        precision=label,
        prepare=partial(_prepare, precision),
    )
    for precision, label in (("bf16", "bfloat16, float32 master"), ("fp32", "float32"))
)
