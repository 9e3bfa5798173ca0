"""A small jumok bundle, trained for a minute: what is decoded with, and what `jumok info` reads."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.corpus import WORK, Corpus
from benchmarks.errors import BenchmarkError
from benchmarks.peers.jumok import recipe_variables, train_command
from benchmarks.process import one_thread_environment, pinned
from jumok.bundle.reading import read_bundle
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


def is_current(bundle: Path) -> bool:
    """Whether there is a bundle that this jumok reads; formats change from version to version."""
    try:
        read_bundle(bundle)
    except BundleError:
        return False
    return True
