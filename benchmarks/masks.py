"""What a mask saves: attention with it, compared with attention without a mask, and with torch's.

    python -m benchmarks.masks

One forward and one backward pass of attention alone, in the number format of training on this
machine, one thread, processor time, the best of twenty rounds. At a ratio of 1 a mask saves
nothing.
"""

import argparse
from collections.abc import Callable
from time import thread_time

import torch
import torch.nn.functional as F

from jumok.attention.core import attend
from jumok.attention.masks import AttentionMask, Documents
from jumok.shapes import Float, Tensor
from jumok.training.precision import choose_precision

LOOK_AHEAD = AttentionMask(causal=True)


def packed(length: int, each: int) -> AttentionMask:
    """Texts of `each` tokens side by side in a row, every one with a look-ahead mask."""
    numbers = (torch.arange(length) // each)[None]
    return AttentionMask(causal=True, documents=Documents(numbers))


CPU = torch.device("cpu")
Case = tuple[int, int, int, int, AttentionMask]  # rows, heads, tokens, width of a head, mask
CASES: dict[str, Case] = {
    "look-ahead, 64 tokens": (16, 4, 64, 32, LOOK_AHEAD),
    "look-ahead, 128 tokens": (8, 4, 128, 64, LOOK_AHEAD),
    "look-ahead, 512 tokens": (2, 4, 512, 64, LOOK_AHEAD),
    "window of 64 of 512 tokens": (2, 4, 512, 64, AttentionMask(causal=True, window=64)),
    "five captions of 23 in a row": (11, 4, 115, 32, packed(115, 23)),
}


def seconds(
    of: Callable[..., Tensor],
    inputs: list[Float[Tensor, "rows heads tokens dim"]],
    mask: AttentionMask | Tensor | None,
    rounds: int,
) -> float:
    """Processor time of a pass and one back."""
    best = float("inf")
    for _ in range(rounds):
        start = thread_time()
        attended = of(*inputs, mask)
        attended.backward(torch.ones_like(attended))
        best = min(best, thread_time() - start)
    return best


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    precision = choose_precision("auto", CPU)
    head = "| mask | ms | time / without a mask | time / torch |\n|---|---|---|---|"
    print(f"{precision.reason}\n\n{head}")
    for name, (rows, heads, tokens, dim, mask) in CASES.items():
        shape = rows, heads, tokens, dim
        inputs = [torch.randn(shape, dtype=precision.dtype, requires_grad=True) for _ in range(3)]
        ours, whole = (seconds(attend, inputs, each, rounds) for each in (mask, None))
        drawn = mask.draw(tokens, tokens, CPU)
        theirs = seconds(F.scaled_dot_product_attention, inputs, drawn, rounds)
        print(f"| {name} | {ours * 1e3:.2f} | {ours / whole:.2f} | {ours / theirs:.2f} |")


if __name__ == "__main__":
    main()
