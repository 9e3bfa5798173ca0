"""The start time of commands that compute nothing, and of `jumok translate` and `jumok generate` to
their first answer.
"""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.bundle import trained_bundle
from benchmarks.corpus import joint_corpus
from benchmarks.environments import OURS, python_of
from benchmarks.larger import random_language_model
from benchmarks.options import Options
from benchmarks.process import one_thread_environment, pinned
from benchmarks.results import Row

ROUNDS = 9
SENTENCE = b"A man is walking.\n"


@dataclass(frozen=True)
class StartedCommand:
    """A command line that is timed.

    Attributes:
        given: what it reads from standard input.
    """

    name: str
    arguments: list[str | Path]
    given: bytes = b""


def run(options: Options) -> list[Row]:
    """One row a command: medians of `ROUNDS`. The commands take turns."""
    bundle = trained_bundle(joint_corpus(), options.core)
    translate: list[str | Path] = ["translate", bundle, "--batch", "1"]
    letters = random_language_model()
    generate: list[str | Path] = ["generate", letters, "A", "--max-tokens", "1", "--threads", "1"]
    commands = [
        StartedCommand("jumok --help", ["--help"]),
        StartedCommand("jumok info MODEL", ["info", bundle]),
        *(
            StartedCommand(
                f"jumok translate MODEL {more}".strip(), [*translate, *more.split()], SENTENCE
            )
            for more in ("", "--alignments", "--engine torch", "--engine torch --alignments")
        ),
        *(
            StartedCommand(f"jumok generate MODEL {more}".strip(), [*generate, *more.split()])
            for more in ("", "--engine torch")
        ),
    ]
    wanted = [command for command in commands if options.wants(command.name)]
    times: dict[str, list[float]] = {command.name: [] for command in wanted}
    for repeat in range((options.rounds or ROUNDS) + 1):  # the first time the bytecode is written
        for command in wanted:
            seconds = _time(command, options.core)
            if repeat:
                times[command.name].append(seconds)
    return [{"command": name, "wall_seconds": median(seconds)} for name, seconds in times.items()]


def _time(command: StartedCommand, core: int) -> float:
    """Seconds of one run."""
    line = pinned([python_of(OURS).with_name("jumok"), *command.arguments], core)
    begun = time.perf_counter()
    subprocess.run(
        line,
        input=command.given,
        stdout=subprocess.DEVNULL,
        env=one_thread_environment(),
        check=True,
    )
    return time.perf_counter() - begun
