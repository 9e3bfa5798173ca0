"""Eole 0.6.4 as shipped: `eole train`, buckets of similar length, 4,096 padded target tokens."""

import json
import re
from functools import partial
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
REPORT_EVERY = 2
SPECIALS = ["<blank>", "<unk>", "<s>", "</s>"]
TOKENS_PER_BATCH = re.compile(r"Step +\d+/.*bsz: +\d+/ *(\d+)/")


def read_progress(line: str, _now: float) -> float | None:
    """Eole prints the mean of real target tokens a batch over its `report_every` last batches."""
    match = TOKENS_PER_BATCH.search(line)
    return float(match[1]) * REPORT_EVERY if match else None


def _prepare(precision: str, corpus: Corpus, folder: Path) -> Job:
    settings = configuration(precision, corpus, folder, write_vocabulary(corpus, folder))
    file = folder / "eole.yaml"  # JSON is YAML too
    file.write_text(json.dumps(settings, indent=1))
    return Job(
        command=[python_of("eole").with_name("eole"), "train", "--config", file],
        folder=folder,
        read_progress=read_progress,
    )


def write_vocabulary(corpus: Corpus, folder: Path) -> Path:
    """The subwords in the form that Eole reads.

    The text is cut into them beforehand, so no tokenizer runs inside the measured stretch.
    """
    vocabulary = folder / "vocabulary.txt"
    pieces = corpus.vocabulary.read_text().splitlines()
    vocabulary.write_text("".join(f"{piece}\t1\n" for piece in SPECIALS + pieces))
    return vocabulary


def configuration(precision: str, corpus: Corpus, folder: Path, vocabulary: Path) -> dict[str, Any]:
    """Its settings for the benchmark's model, trained until somebody ends it."""
    return {
        "seed": 42,
        "src_vocab": str(vocabulary),
        "share_vocab": True,
        "src_vocab_size": 8000,
        "tgt_vocab_size": 8000,
        "save_data": str(folder / "data"),
        "overwrite": True,
        "report_every": REPORT_EVERY,
        "data": {
            "train": {
                "path_src": str(corpus.pieces("train", SOURCE)),
                "path_tgt": str(corpus.pieces("train", TARGET)),
                "transforms": [],
            },
        },
        "model": {
            "layers": LAYERS,
            "hidden_size": DIM,
            "word_vec_size": DIM,
            "transformer_ff": INNER,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"position_encoding": True},
            "encoder": {"encoder_type": "transformer", **_stack()},
            "decoder": {"decoder_type": "transformer", **_stack()},
        },
        "training": {
            "model_path": str(folder / "model"),
            "world_size": 1,
            "gpu_ranks": [],
            "num_workers": 0,
            "bucket_size": 29_000,  # the corpus; the default of 262,144 holds it nine times
            "compute_dtype": precision,
            "batch_type": "tokens",
            "batch_size": TOKENS_PER_UPDATE,
            "normalization": "tokens",
            "optim": "adamw",
            "adam_beta2": 0.98,
            "learning_rate": LEARNING_RATE,
            "max_grad_norm": 1.0,
            "label_smoothing": SMOOTHING,
            "dropout": [DROPOUT],
            "attention_dropout": [0.0],
            "param_init_method": "xavier_uniform",
            "train_steps": NEVER,
            "valid_steps": NEVER,
            "save_checkpoint_steps": NEVER,
            # A diagnostic of Eole's that costs time and that no other row computes.
            "log_attention_entropy": False,
        },
    }


def _stack() -> dict[str, object]:
    return {
        "heads": HEADS,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "add_final_linear_bias": True,
        "position_encoding_type": "SinusoidalInterleaved",
    }


TRAINERS = tuple(
    Trainer(
        name=f"eole-{precision}",
        tool=f"Eole {version_of('eole', 'eole')}",
        batching="length buckets, 4,096 padded tokens",
        precision=label,
        prepare=partial(_prepare, precision),
    )
    for precision, label in (("fp32", "float32"), ("bf16", "bfloat16 autocast"))
)
