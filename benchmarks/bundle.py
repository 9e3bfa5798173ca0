"""Small jumok bundles: one trained for a minute, which is decoded with and which `jumok info` reads;
and a language model with random weights, for what does not depend on what a model has learned.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import torch

from benchmarks.corpus import WORK, Corpus
from benchmarks.errors import BenchmarkError
from benchmarks.larger import LANGUAGE, POSITIONS, model_of
from benchmarks.peers.jumok import recipe_variables, train_command
from benchmarks.process import one_thread_environment, pinned
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.errors import BundleError

STEPS = 150

OVERRIDES = (
    "model.norm=post",  # the order that Marian has
    f"training.steps={STEPS}",
    "training.tokens_per_batch=1024",
    "training.schedule.warmup=50",
    f"validation.every={STEPS}",
    "validation.decode_pairs=8",
)


def trained_bundle(
    corpus: Corpus,
    core: int,
    environment: Mapping[str, str] | None = None,
    folder: str = "bundle",
) -> Path:
    """The bundle, trained on the first call and where this jumok cannot read the one that is there.

    Args:
        environment: Of the training process: another checkout's, where that one has to read the
            bundle, too (a newer jumok reads the bundles of an older one, not the other way round).
        folder: Below benchmarks/.work.

    Raises:
        BenchmarkError: training failed.
    """
    runs = WORK / folder
    bundle = runs / "benchmark" / "model"
    if not is_current(bundle):
        print("training a small model to decode with ...", file=sys.stderr)
        shutil.rmtree(runs, ignore_errors=True)
        runs.mkdir(parents=True)
        with (runs / "output.log").open("wb") as log:
            done = subprocess.run(
                pinned(train_command(runs, *OVERRIDES), core),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**(environment or one_thread_environment()), **recipe_variables(corpus)},
                check=False,
            )
        if done.returncode != 0:
            raise BenchmarkError(f"`jumok train` failed: see {runs / 'output.log'}")
    return bundle


def random_language_model() -> Path:
    """A small GPT of bytes (`benchmarks.larger.LANGUAGE`: 10.6 million weights)."""
    bundle = WORK / "language-model"
    if not is_current(bundle):
        shutil.rmtree(bundle, ignore_errors=True)
        torch.manual_seed(1)
        model = model_of(LANGUAGE, ByteTokenizer.size)
        config = BundleConfig(
            task="language-model",
            model=LANGUAGE.model_dump(),
            vocabulary_size=ByteTokenizer.size,
            max_tokens=POSITIONS,
            documents="file",
        )
        card = Card(name="random", date="2026-11-23")
        write_bundle(bundle, model.state_dict(), config, ByteTokenizer(), card)
    return bundle


def is_current(bundle: Path) -> bool:
    """Whether there is a bundle that this jumok reads; formats change from version to version."""
    try:
        read_bundle(bundle)
    except BundleError:
        return False
    return True
