"""Kills a run in changing numbers of processes, and compares its end with that of an unbroken one.

    python -m benchmarks.kills [--kills 10] [--seed 1]

A tiny recipe is trained in 4, 2, 1, 2, 4, ... processes. At a step that the seed draws, one of them
or all get SIGKILL, and the next number goes on with --resume. At the end every tensor of the state
must have the bits of a run in one process. Ten kills take some minutes: the tests make two.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from jumok.training import checkpoint

SECONDS = 240
COUNTS = 4, 2, 1, 2
RECIPE = """
name = "tiny"
[data]
validation_pairs = 11
[[data.train]]
source = "rows.en"
target = "rows.back"
[tokenizer]
kind = "char"
size = 64
byte_fallback = false
[model]
dim = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feedforward = 32
[training]
steps = 24
shares = 4
optimizer = "muon"
tokens_per_batch = 400
tokens_per_micro_batch = 100
precision = "fp32"
threads = 1
log_every = 1
checkpoint_every = 3
average = {kind = "ema"}
[validation]
every = 8
metric = "loss"
decode_pairs = 2
"""


def prepare(folder: Path) -> None:
    """Writes a tiny corpus and its recipe."""
    words, draw = "abcdefgh", random.Random(1)
    lines = ["".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(120)]
    (folder / "rows.en").write_text("\n".join(lines) + "\n")
    (folder / "rows.back").write_text("\n".join(line[::-1] for line in lines) + "\n")
    (folder / "tiny.toml").write_text(RECIPE)


def started(
    folder: Path,
    runs: str,
    *options: str,
    steps: int = 24,
    launcher: tuple[str, ...] = (),
    **variables: str,
) -> subprocess.Popen[str]:
    """`jumok train`, running."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", *launcher, "jumok", "train", "tiny.toml", "--runs", runs),
            *("--set", f"training.steps={steps}", *options),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JUMOK_THREADS": "1", **variables},
    )


def trained(folder: Path, runs: str, *options: str, **others: object) -> Mapping[str, torch.Tensor]:
    """The state of a run at its end."""
    process = started(folder, runs, *options, **others)  # type: ignore[arg-type]
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    return checkpoint.load(folder / runs / "tiny")[0].tensors


def children(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> list[int]:
    """The processes that it started, in the order of their ranks."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return sorted(map(int, listed.read_text().split())) if listed.exists() else []


def wait_for_steps(process: subprocess.Popen[str], log: Path, steps: int) -> None:
    """Returns when the log has so many lines, or the process has ended."""
    until = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < until:
        if log.exists() and log.read_bytes().count(b"\n") >= steps:
            return
        time.sleep(0.002)


def differing(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> list[str]:
    """The names of the tensors that are not the same."""
    names = sorted(one.keys() | other.keys())
    return [n for n in names if n not in one or n not in other or not torch.equal(one[n], other[n])]


def killed(
    folder: Path,
    steps: int,
    kills: int,
    seed: int,
    say: Callable[[str], None] = print,
    counts: tuple[int, ...] = COUNTS,
    launcher: tuple[str, ...] = (),
    last: Sequence[str] = ("--processes", "2"),
    settings: Sequence[str] = (),
) -> Mapping[str, torch.Tensor]:
    """The state of a run that was killed so often, in so many processes, and then finished.

    Args:
        launcher: of Python's modules, starts the processes at the end.
        last: options of the command at the end.
        settings: options of every command.
    """
    dice = random.Random(seed)
    home = folder / "killed" / "tiny"
    for number in range(kills):
        count = counts[number % len(counts)]
        options = [*settings, *(("--processes", str(count)) if count > 1 else ())]
        if (home / "config.json").exists():
            options.append("--resume")
        process = started(folder, "killed", *options, steps=steps)
        step = steps * (number + 1) // (kills + 2) + dice.randrange(3)
        wait_for_steps(process, home / "log.jsonl", step)
        time.sleep(dice.random() * 0.03)
        ranks = children(process) if count > 1 else [process.pid]
        some = ranks if dice.random() < 0.5 else [dice.choice(ranks)]
        for each in some:
            os.kill(each, signal.SIGKILL)
        _, errors = process.communicate(timeout=SECONDS)
        say(f"{count} processes, {len(some)} of them killed about step {step}")
        assert abs(process.returncode) in (128 + signal.SIGKILL, signal.SIGKILL), errors
    return trained(folder, "killed", *settings, *last, "--resume", steps=steps, launcher=launcher)


def main() -> int:
    """Prints each kill and the result; returns 1 if a bit differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, steps = Path(name), 12 * given.kills
        prepare(folder)
        whole = trained(folder, "whole", steps=steps)
        different = differing(whole, killed(folder, steps, given.kills, given.seed))
    print(f"{len(whole)} tensors, {len(different)} of them differ: {', '.join(different)}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
