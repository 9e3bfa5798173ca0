"""The memory of a run's device: recomputed blocks, freed memory, advice when it is full."""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.errors import ConfigError, TrainingError
from jumok.layers.block import Stack

LARGE = 1 << 18  # bytes
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def recompute(model: nn.Module) -> None:
    """Recomputes the model's blocks for their gradients, instead of keeping them.

    Raises:
        ConfigError: the model has no blocks.
    """
    stacks = [module for module in model.modules() if isinstance(module, Stack) and len(module)]
    if not stacks:
        raise ConfigError(
            "training.recompute computes blocks again, and this model has none.",
            got="training.recompute = true",
            do="leave it out; a lower training.tokens_per_micro_batch needs less memory, too",
        )
    for stack in stacks:
        stack.recompute = True


def give_back_freed_memory() -> None:
    """Gives freed memory back to the system, now and from now on, where the C library is glibc.

    glibc keeps freed blocks of up to 32 MB, and a process grows to twice of what it uses. Tensors
    of LARGE bytes get memory of their own from now on, unless they fit into an earlier gap.
    """
    try:
        library = ctypes.CDLL(None)
        set_option, give_back = library.mallopt, library.malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    set_option(_MMAP_THRESHOLD, LARGE)
    set_option(_TRIM_THRESHOLD, LARGE)
    give_back(ctypes.c_size_t(0))


@contextmanager
def memory_explained(training: TrainingConfig, device: torch.device) -> Iterator[None]:
    """Raises a TrainingError that says what to lower when the memory of a GPU is full."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainingError(
            f"the memory of the GPU ({device}) is not enough for a micro-batch.",
            got=first_sentences(str(error)),
            do=advice(training),
        ) from error


def advice(training: TrainingConfig) -> str:
    """What to set when a GPU is full."""
    half = max(1, training.tokens_per_micro_batch // 2)
    lower = (
        f"--set training.tokens_per_micro_batch={half} (now {training.tokens_per_micro_batch}): "
        "half of it needs about half of the memory of a step, and gives the same model but for "
        "rounding"
    )
    return lower if training.recompute else f"{lower}; or --set training.recompute=true"


def first_sentences(text: str) -> str:
    """Of torch's message, what was asked for and what is free."""
    return " ".join(re.split(r"(?<=\.)\s+", text.strip())[:3])[:300]
