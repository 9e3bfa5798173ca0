"""How tests stop a run, and compare what two runs have left."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from jumok.data.files.run_log import read_log
from jumok.training import checkpoint
from tests.training.tiny import assert_same_bits

TIMES = {"seconds", "step_seconds", "cpu_seconds", "memory", "took"}


class Killed(BaseException):
    """As if the process were gone."""


def killed_at(recorder: Callable[..., Any], step: int) -> Any:
    """A Log that raises Killed at this step."""

    def kill(reached: int) -> None:
        if reached == step:
            raise Killed

    return recorder(kill)


def stop_at(step: int) -> Callable[[int], None]:
    """Sends this process SIGTERM while it makes `step`."""
    return lambda now: os.kill(os.getpid(), signal.SIGTERM) if now == step else None


def final_state(home: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any], Any]:
    """Everything of the last checkpoint that a resume must reproduce; times differ of course."""
    saved = checkpoint.read(home / checkpoint.CURRENT)
    timeless = {k: v for k, v in saved.run["progress"].items() if not k.endswith("seconds")}
    # Copies, as the tensors are windows into the file.
    tensors = {name: tensor.clone() for name, tensor in saved.tensors.items()}
    return tensors, timeless, saved.run["cursor"]


def records(home: Path) -> list[dict[str, Any]]:
    """The log but for times."""
    lines = read_log(home / "log.jsonl")
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


def assert_same_end(one: Path, other: Path) -> None:
    """Two runs ended with the same bits, and logged the same."""
    (tensors, *rest), (others, *other_rest) = final_state(one), final_state(other)
    assert rest == other_rest
    assert_same_bits(tensors, others)
    models = [(home / "model" / "model.safetensors").read_bytes() for home in (one, other)]
    assert models[0] == models[1]
    assert records(one) == records(other)
