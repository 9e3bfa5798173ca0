"""The device that systems compute on."""

from typing import Literal

import torch

from jumok.errors import ConfigError

KINDS = ("cpu", "cuda")
PrecisionName = Literal["fp32", "bf16"]
DTYPES: dict[PrecisionName, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}


def choose_device(wanted: str) -> torch.device:
    """The device of this name; "auto" is a GPU if there is one.

    Raises:
        ConfigError: the device does not exist.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = wanted.partition(":")[0]
    if kind not in KINDS:
        raise _unusable(wanted, "jumok computes on CPUs and on GPUs with CUDA only")
    if kind == "cuda" and not torch.cuda.is_available():
        raise _unusable(wanted, "torch finds no GPU with CUDA on this machine")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise _unusable(wanted, str(error).splitlines()[0]) from error
    return device


def _unusable(wanted: str, why: str) -> ConfigError:
    return ConfigError(
        "this device cannot be used.",
        expected="auto, cpu, cuda or cuda:0",
        got=f"{wanted!r}: {why}",
        do="leave the device out, or use cpu",
    )
