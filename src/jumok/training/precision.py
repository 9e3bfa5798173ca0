"""The number format of training: the one that is faster on this machine, by measurement."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch

from jumok.errors import ConfigError


@dataclass(frozen=True)
class NumberFormat:
    """The format of weights and activations, and why it was chosen."""

    dtype: torch.dtype
    reason: str


def choose_precision(
    setting: Literal["auto", "bf16", "fp32"], device: torch.device
) -> NumberFormat:
    """bf16 where it multiplies at least 1.3 times as fast as fp32, and fp32 otherwise.

    Below 1.3 the casts cost more than the gain. Master weights and moments are fp32 either way.

    Raises:
        ConfigError: bf16 on a GPU that has no such products.
    """
    if setting == "bf16" and not multiplies_bfloat16(device):
        raise ConfigError(
            "this GPU does not multiply bfloat16.",
            expected="compute capability 8.0 (Ampere) or newer",
            got=f"{torch.cuda.get_device_name(device)}, "
            f"{'.'.join(map(str, torch.cuda.get_device_capability(device)))}",
            do="--set training.precision=fp32; jumok does not train in float16",
        )
    if setting == "bf16":
        return NumberFormat(torch.bfloat16, "bfloat16 (set in the recipe)")
    if setting == "fp32":
        return NumberFormat(torch.float32, "float32 (set in the recipe)")
    ratio = gain_of_bfloat16(device)
    if ratio >= 1.3:
        return NumberFormat(
            torch.bfloat16,
            f"bfloat16 (matrix products {ratio:.1f}x faster than float32 on this machine)",
        )
    return NumberFormat(
        torch.float32, f"float32 (bfloat16 would be only {ratio:.1f}x as fast on this machine)"
    )


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether the device has products of bfloat16, which torch otherwise emulates."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= (8, 0)


@cache  # a device does not change, and a process may train many models
def gain_of_bfloat16(device: torch.device) -> float:
    """How many times as fast as in float32 a product is."""
    usual = product_seconds(torch.float32, device)
    return usual / product_seconds(torch.bfloat16, device, hopeless=4 * usual)


def product_seconds(
    dtype: torch.dtype,
    device: torch.device,
    size: int | None = None,
    hopeless: float = float("inf"),
) -> float:
    """Seconds for one size x size matrix product: the fastest of seven, after one to warm up.

    A GPU gets larger matrices: a small product takes as long as its call. A CPU is measured in one
    thread and by that thread's clock, whatever other processes do.

    Args:
        hopeless: seconds; if the first two both take longer, no more are timed.
    """
    on_cpu = device.type == "cpu"
    size = size or (512 if on_cpu else 4096)
    now = time.thread_time if on_cpu else time.perf_counter
    left = torch.ones(size, size, dtype=dtype, device=device)
    fastest = float("inf")
    with one_thread():
        for repeat in range(8):
            start = now()
            product = left @ left
            float(product[0, 0])  # waits for a device that works on its own
            if repeat:
                fastest = min(fastest, now() - start)
                if repeat > 1 and fastest > hopeless:
                    break
    return fastest


@contextmanager
def one_thread() -> Iterator[None]:
    """While entered, torch computes a product in one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
