"""What nanoGPT reaches on tiny Shakespeare in the processor minutes of a record run.

    git clone https://github.com/karpathy/nanoGPT
    python -m benchmarks.nanogpt --checkout nanoGPT --minutes 22

Its own train.py with its own configuration for this text, on one core, twice: with the sizes that
its README gives for a processor, and with those of the recipe shakespeare-modern. It trains as many
steps as the minutes allow, which two short runs say; the schedule is as long. The loss is that of
its evaluation, 50 random batches of the last tenth of the text, at every tenth of the run.
Evaluating does not count.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.corpus import data_folder
from benchmarks.errors import BenchmarkError
from benchmarks.process import children_seconds, one_thread_environment

SIZES: dict[str, dict[str, float]] = {
    "its README's for a processor": {
        "n_layer": 4, "n_head": 4, "n_embd": 128, "block_size": 64, "batch_size": 12,
        "dropout": 0.0,
    },
    "those of shakespeare-modern": {
        "n_layer": 6, "n_head": 4, "n_embd": 256, "block_size": 256, "batch_size": 32,
        "dropout": 0.2,
    },
}  # fmt: skip
SHORT = 5, 25
"""The steps of the two short runs."""
EVALUATED = 50


def main() -> None:
    """Train with each of the sizes, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nanogpt", description=__doc__)
    parser.add_argument(
        "--checkout", type=Path, required=True, help="of github.com/karpathy/nanoGPT"
    )
    parser.add_argument("--minutes", type=float, required=True, help="processor minutes")
    parser.add_argument("--only", choices=list(SIZES), nargs="+", default=list(SIZES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "nanoGPT"
        shutil.copytree(given.checkout, folder)
        text = folder / "data" / "shakespeare_char"
        shutil.copy(data_folder() / "lm" / "tinyshakespeare.txt", text / "input.txt")
        run(folder, [text / "prepare.py"])
        for name in given.only:
            print(line(folder, name, given.minutes), flush=True)


def line(folder: Path, name: str, minutes: float) -> str:
    """Trains with these sizes, and says what it gave."""
    sizes = SIZES[name]
    times = [trained(folder, sizes, steps, 1)[0] for steps in SHORT]
    a_step = (times[1] - times[0]) / (SHORT[1] - SHORT[0])
    steps = int(60 * minutes / a_step)
    seconds, losses = trained(folder, sizes, steps, EVALUATED)
    return (
        f"{name}: {steps:,} steps of {a_step:.3f} processor seconds, validation loss "
        f"{losses[-1]:.3f}, {min(losses):.3f} at its best; {seconds / 60:.1f} processor minutes "
        "with start and evaluation"
    )


def trained(
    folder: Path, sizes: Mapping[str, float], steps: int, evaluated: int
) -> tuple[float, list[float]]:
    """The processor seconds of a run, and its validation losses, at every tenth of it."""
    options = {
        "max_iters": steps, "lr_decay_iters": steps, "warmup_iters": min(100, steps // 10),
        "eval_interval": max(1, steps // 10), "eval_iters": evaluated, "log_interval": 1000,
    }  # fmt: skip
    words = [f"--{key}={value}" for key, value in {**sizes, **options}.items()]
    fixed = ["--device=cpu", "--compile=False", "--dtype=float32"]
    seconds, text = run(folder, ["train.py", "config/train_shakespeare_char.py", *fixed, *words])
    losses = [float(each) for each in re.findall(r"val loss ([\d.]+)", text)]
    if not losses:
        raise BenchmarkError(f"nanoGPT printed no validation loss:\n{text}")
    return seconds, losses


def run(folder: Path, words: list[str | Path]) -> tuple[float, str]:
    """The processor seconds of a program of nanoGPT, and what it printed."""
    before = children_seconds()
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env=one_thread_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(map(str, words))} ended with an error:\n{done.stderr}")
    return children_seconds() - before, done.stdout


if __name__ == "__main__":
    main()
