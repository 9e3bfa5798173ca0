"""What every peer is asked to train, and the form in which it says how to start that."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Corpus
from benchmarks.watch import Job

LAYERS = 3
DIM = 256
HEADS = 4
INNER = 1024
DROPOUT = 0.1
SMOOTHING = 0.1
TOKENS_PER_UPDATE = 4096
LEARNING_RATE = 0.001


@dataclass(frozen=True)
class Trainer:
    """One way to train the benchmark's model: a row of the table.

    `name` is what `--only` takes; `prepare(corpus, folder)` writes the tool's configuration into
    the empty folder and returns the job.
    """

    name: str
    tool: str
    batching: str
    precision: str
    prepare: Callable[[Corpus, Path], Job]
