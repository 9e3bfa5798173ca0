"""Runs the Triton kernels in Triton's interpreter, on the processor, against their twins."""

import torch

from jumok.kernels.card.dropout import dropout
from jumok.kernels.noise import DropoutMask


def both(shape: tuple[int, ...], seed: int, dtype: torch.dtype) -> list[list[torch.Tensor]]:
    """The states after dropout and their gradient, by the kernel and by its twin."""
    mask = DropoutMask(0.3, seed)
    torch.manual_seed(1)
    states, slope = torch.randn(2, *shape).to(dtype)
    found = []
    for drop in (
        lambda leaf: dropout(leaf, mask.p, mask.threshold, mask.seed),
        mask.apply_plainly,
    ):
        leaf = states.clone().requires_grad_()
        dropped = drop(leaf)
        dropped.backward(slope)
        assert leaf.grad is not None
        found.append([dropped.detach(), leaf.grad])
    return found


def main() -> None:
    for shape in ((7,), (3, 1001), (2, 3, 700)):  # less than a block, and several
        for seed in (5, 0xF1234567):  # the second one is negative as a signed number
            for kernel, twin in zip(*both(shape, seed, torch.float32), strict=True):
                assert torch.equal(kernel, twin), (shape, seed)
            for kernel, twin in zip(*both(shape, seed, torch.bfloat16), strict=True):
                assert torch.equal(kernel == 0, twin == 0), (shape, seed)
                torch.testing.assert_close(kernel, twin, atol=0, rtol=2**-7)
    print("the same masks")


if __name__ == "__main__":
    main()
