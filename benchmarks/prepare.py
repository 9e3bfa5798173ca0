"""A corpus too large for memory: written, prepared, and trained on.

Not held to one core: preparation uses two, and cleaning (`jumok prepare`) one.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cleaning import write_corpus
from benchmarks.corpus import WORK, data_folder, joint_corpus
from benchmarks.environments import FOLDER, OUR_COMMAND, OURS, python_of
from benchmarks.errors import BenchmarkError
from benchmarks.options import Options
from benchmarks.peers.jumok import recipe_variables, train_command
from benchmarks.process import one_thread_environment
from benchmarks.results import Row

TRAINING_STEPS = 20
SMALLWORLD = ("write smallworld", "token ids to disk", f"train {TRAINING_STEPS} updates")
CLEANED = "jumok prepare, all filters"


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end: seconds, CPU-seconds, peak resident bytes, its output."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run(options: Options) -> list[Row]:
    """Writing smallworld pairs, turning them into token ids, training on them; and `jumok prepare`.

    The first three need one another, so all of them run if one of their rows is wanted.
    """
    folder = WORK / "prepare"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows: list[Row] = []
    if any(map(options.wants, SMALLWORLD)):
        rows += smallworld(folder, options.pairs)
    if options.wants(CLEANED):
        print("cleaning pairs of Tatoeba ...", file=sys.stderr)
        cleaned = clean(folder / "cleaned", options.pairs)
        rows.append(_row(CLEANED, options.pairs, cleaned))
    return [row for row in rows if options.wants(str(row["what"]))]


def smallworld(folder: Path, pairs: int) -> list[Row]:
    """The rows of SMALLWORLD."""
    source, target, tokenizer = (folder / name for name in ("train.en", "train.ko", "joint.model"))
    print(f"writing {pairs:,} smallworld pairs ...", file=sys.stderr)
    written = _finish([*OUR_COMMAND, "smallworld", folder, "--pairs", str(pairs)], folder)
    print("preparing them ...", file=sys.stderr)
    worker = FOLDER / "workers" / "jumok_prepare.py"
    written_ids = _finish(
        [python_of(OURS), worker, source, target, tokenizer, folder / ".cache"], folder
    )
    figures = json.loads(written_ids.output.splitlines()[-1])
    times = {key: figures[key] for key in ("wall_seconds", "cpu_seconds")}
    print("training on them ...", file=sys.stderr)
    trained = _finish(
        train_command(
            folder,
            f'data.train=[{{source="{source}", target="{target}"}}]',
            f'tokenizer.path="{tokenizer}"',
            f"training.steps={TRAINING_STEPS}",
            "validation.decode_pairs=1",
        ),
        folder,
    )
    finished = written, replace(written_ids, **times), trained
    return [_row(what, pairs, each) for what, each in zip(SMALLWORLD, finished, strict=True)]


def _row(what: str, pairs: int, finished: Finished) -> Row:
    return {
        "what": what,
        "pairs": pairs,
        "wall_seconds": finished.wall_seconds,
        "cpu_seconds": finished.cpu_seconds,
        "peak_bytes": finished.peak_bytes,
    }


def clean(folder: Path, pairs: int) -> Finished:
    """`jumok prepare` with all filters, one task after another, in one process."""
    folder.mkdir()
    tatoeba = data_folder() / "tatoeba" / "eng-fra.tsv.gz"
    return prepared(write_corpus(folder, tatoeba, pairs), folder / "prepared", folder)


def prepared(recipe: Path, output: Path, folder: Path) -> Finished:
    """`jumok prepare` of a recipe, in one process; its log is in `folder`."""
    options: list[str | Path] = ["--output", output, "--tasks", "4", "--at-once", "1"]
    return _finish([*OUR_COMMAND, "prepare", recipe, *options], folder)


def _finish(command: list[str | Path], folder: Path) -> Finished:
    """Run to the end; the output of a command that fails stays in output.log."""
    begun = time.perf_counter()
    output = folder / "output.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=one_thread_environment() | recipe_variables(joint_corpus()),
        )
        _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise BenchmarkError(f"{' '.join(map(str, command))} failed: see {output}")
    return Finished(
        wall_seconds=time.perf_counter() - begun,
        cpu_seconds=used.ru_utime + used.ru_stime,
        peak_bytes=used.ru_maxrss * 1024,
        output=output.read_text(errors="replace"),
    )
