"""The device of each process: of several on one machine, each has a GPU of its own."""

import torch

from jumok.errors import ConfigError
from jumok.systems.device import choose_device
from jumok.training.ranks import Ranks


def local_device(setting: str, ranks: Ranks) -> torch.device:
    """The device that this process trains on.

    Args:
        setting: the recipe's `training.device`.

    Raises:
        ConfigError: the device does not exist, or this process has none of its own.
    """
    device = choose_device(setting)
    if ranks.count == 1 or device.type == "cpu":
        return device
    if device.index is not None:
        raise ConfigError(
            f"{ranks.count} processes cannot train on one GPU.",
            expected='training.device = "cuda" or "auto": each process takes a GPU of its own',
            got=f'"{setting}"',
        )
    gpus = torch.cuda.device_count()
    if ranks.local_rank >= gpus:
        raise ConfigError(
            f"process {ranks.local_rank} of this machine has no GPU of its own.",
            expected=f"at most {gpus} processes on this machine, which has so many GPUs",
            do="start fewer, or --set training.device=cpu",
        )
    own = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(own)  # NCCL sends from the current one
    return own
