"""JoeyNMT 2.3.0 as shipped: `python -m joeynmt train`, batches of 4,096 padded target tokens.

Its batches are random and its token budget counts padding, so an update holds fewer real tokens.
It refuses bfloat16 on a CPU ("Disable fp16"), hence float32 alone.
"""

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.corpus import SOURCE, TARGET, Corpus
from benchmarks.environments import python_of, version_of
from benchmarks.peers.trainer import (
    DIM,
    DROPOUT,
    HEADS,
    INNER,
    LAYERS,
    LEARNING_RATE,
    SMOOTHING,
    TOKENS_PER_UPDATE,
    Trainer,
)
from benchmarks.watch import Job

NEVER = 1_000_000
RATE = re.compile(r"Tokens per Sec: +(\d+)")


class Progress:
    """JoeyNMT prints target tokens per second since its previous line: times the seconds between.

    The clock cancels out: a core that is shared makes the rate smaller and the seconds longer.
    """

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, line: str, now: float) -> float | None:
        match = RATE.search(line)
        if not match and "EPOCH" not in line:
            return None
        seconds, self._last = now - self._last, now
        return float(match[1]) * seconds if match else None


def _prepare(corpus: Corpus, folder: Path) -> Job:
    settings = folder / "joeynmt.yaml"  # JSON is YAML too
    settings.write_text(json.dumps(configuration(corpus, folder), indent=1))
    return Job(
        command=[python_of("joeynmt"), "-m", "joeynmt", "train", settings, "--skip-test"],
        folder=folder,
        read_progress=Progress(),
    )


def configuration(corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Its settings for the benchmark's model, trained until somebody ends it."""
    return {
        "name": "multi30k",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 42,
        "data": {
            "train": str(corpus.folder / "train"),
            "dev": str(corpus.folder / "val"),
            "dataset_type": "plain",
            "src": _language(corpus, SOURCE),
            "trg": _language(corpus, TARGET),
        },
        "testing": {"beam_size": 1, "batch_size": 64, "eval_metrics": ["bleu"]},
        "training": {
            "optimizer": "adamw",
            "adam_betas": [0.9, 0.98],
            "learning_rate": LEARNING_RATE,
            "learning_rate_min": 0.0,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 4000,
            "clip_grad_norm": 1.0,
            "label_smoothing": SMOOTHING,
            "normalization": "tokens",
            "batch_size": TOKENS_PER_UPDATE,
            "batch_type": "token",
            "epochs": 1000,
            "validation_freq": NEVER,
            "logging_freq": 1,
            "overwrite": True,
            "early_stopping_metric": "ppl",
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": _stack(),
            "decoder": _stack(),
        },
    }


def _language(corpus: Corpus, language: str) -> dict[str, object]:
    return {
        "lang": language,
        "level": "bpe",
        "lowercase": False,
        "normalize": False,
        "max_length": 256,
        "voc_file": str(corpus.vocabulary),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(corpus.model)},
    }


def _stack() -> dict[str, object]:
    return {
        "type": "transformer",
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "embeddings": {"embedding_dim": DIM, "scale": True, "dropout": DROPOUT},
        "hidden_size": DIM,
        "ff_size": INNER,
        "dropout": DROPOUT,
        "layer_norm": "pre",
    }


TRAINERS = (
    Trainer(
        name="joeynmt",
        tool=f"JoeyNMT {version_of('joeynmt', 'joeynmt')}",
        batching="random, 4,096 padded tokens",
        precision="float32",
        prepare=_prepare,
    ),
)
