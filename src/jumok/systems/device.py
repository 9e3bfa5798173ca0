"""Where to compute."""

from typing import Literal

import torch

from jumok.errors import ConfigError

Precision = Literal["fp32", "bf16"]
DTYPES: dict[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}


def choose_device(wanted: str) -> torch.device:
    """The device of this name; "auto" is a GPU where there is one.

    Raises:
        ConfigError: no such device.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(
            "this device cannot be used.",
            expected="auto, cpu, cuda or cuda:0",
            got=f"{wanted!r}: {str(error).splitlines()[0]}",
            do="leave the device out, or name cpu",
        ) from error
    return device
