"""Training speed: each peer trains the same model on one core and is watched from outside."""

import shutil
import sys
from dataclasses import asdict

from benchmarks.corpus import WORK, Corpus, joint_corpus
from benchmarks.errors import BenchmarkError
from benchmarks.options import Options
from benchmarks.peers import eole, huggingface, joeynmt, jumok
from benchmarks.peers.trainer import Trainer
from benchmarks.results import Row
from benchmarks.watch import watch

TRAINERS = (*jumok.TRAINERS, *joeynmt.TRAINERS, *eole.TRAINERS, *huggingface.TRAINERS)
"""Every row of the table, in its order."""

WARM_UP_SECONDS = 8.0
"""CPU-seconds of training left out after the first progress: allocators, caches, compilation."""


def run(options: Options) -> list[Row]:
    """One row a trainer.

    A row holds what `Watched` holds, or under "failed" why there is no figure.
    """
    corpus = joint_corpus()
    return [_row(trainer, corpus, options) for trainer in TRAINERS if options.wants(trainer.name)]


def _row(trainer: Trainer, corpus: Corpus, options: Options) -> Row:
    print(f"training with {trainer.name} ...", file=sys.stderr)
    row: Row = {
        "name": trainer.name,
        "tool": trainer.tool,
        "batching": trainer.batching,
        "precision": trainer.precision,
    }
    folder = WORK / "train" / trainer.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        watched = watch(
            trainer.prepare(corpus, folder), options.core, options.seconds, WARM_UP_SECONDS
        )
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return row | {"failed": str(error).splitlines()[0]}
    return (
        row
        | asdict(watched.rate)
        | {
            "peak_bytes": watched.peak_bytes,
            "start_cpu_seconds": watched.start_cpu_seconds,
            "wall_seconds": watched.wall_seconds,
        }
    )
