"""Hugging Face MarianMTModel from scratch: its model class in a plain PyTorch loop.

260 random sentences a batch are about 4,096 real target tokens, padded to the longest: the loop
most people write. Sorted batches and `attn_implementation="eager"` (faster than its default here)
are the best we could get out of it without changing the library.
"""

import json
import re
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.corpus import SOURCE, TARGET, VOCABULARY, Corpus
from benchmarks.environments import FOLDER, python_of, version_of
from benchmarks.peers.trainer import (
    DIM,
    DROPOUT,
    HEADS,
    INNER,
    LAYERS,
    LEARNING_RATE,
    SMOOTHING,
    Trainer,
)
from benchmarks.watch import Job

SENTENCES = 260
TOKENS = re.compile(r"^tokens (\d+) ")


@dataclass(frozen=True)
class Way:
    """How the loop batches, computes and attends; the keys are those of the worker's settings."""

    batching: str
    precision: str
    attention: str


def read_progress(line: str, _now: float) -> float | None:
    match = TOKENS.search(line)
    return float(match[1]) if match else None


def _prepare(way: Way, corpus: Corpus, folder: Path) -> Job:
    file = folder / "settings.json"
    file.write_text(json.dumps(settings(way, corpus), indent=1))
    worker = FOLDER / "workers" / "huggingface_training.py"
    return Job(
        command=[python_of("huggingface"), worker, file],
        folder=folder,
        read_progress=read_progress,
    )


def settings(way: Way, corpus: Corpus) -> dict[str, object]:
    """What the worker reads, for the benchmark's model."""
    return {
        "source": str(corpus.ids("train", SOURCE)),
        "target": str(corpus.ids("train", TARGET)),
        "sentences": SENTENCES,
        "vocabulary": VOCABULARY,
        "layers": LAYERS,
        "dim": DIM,
        "heads": HEADS,
        "inner": INNER,
        "dropout": DROPOUT,
        "smoothing": SMOOTHING,
        "learning_rate": LEARNING_RATE,
        **asdict(way),
    }


def _trainer(name: str, way: Way) -> Trainer:
    return Trainer(
        name=name,
        tool=f"Hugging Face Marian {version_of('huggingface', 'transformers')}, {way.attention}",
        batching=f"{way.batching}, {SENTENCES} sentences",
        precision="bfloat16 autocast" if way.precision == "bfloat16" else "float32",
        prepare=partial(_prepare, way),
    )


BEST = Way("sorted", "bfloat16", "eager")
"""The fastest of them."""

TRAINERS = (
    _trainer("huggingface-fp32", Way("random", "float32", "sdpa")),
    _trainer("huggingface-bf16", Way("random", "bfloat16", "sdpa")),
    _trainer("huggingface-sorted", Way("sorted", "bfloat16", "sdpa")),
    _trainer("huggingface-sorted-eager", BEST),
)
