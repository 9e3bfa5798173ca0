"""Runs the Triton kernels in Triton's interpreter, on the processor, against their twins."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import triton.language as tl
from torch import nn
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from jumok.attention import fused
from jumok.attention.core import attend_with_weights, repeat_heads
from jumok.attention.masks import AttentionMask, Documents
from jumok.kernels.card import loss, norm, serving
from jumok.kernels.card.dropout import dropout_on_card
from jumok.kernels.cross_entropy import NO_TARGET, _row_losses
from jumok.kernels.noise import DropoutMask
from jumok.kernels.residual import add_norm_plainly

SEEDS = 5, 0xF1234567  # the second one is negative as a signed number
TYPES = torch.float32, torch.bfloat16
Some = tuple[torch.Tensor, ...]


def gradients(function: Callable[..., Some], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the function gives, and the gradients of its inputs for slopes that are all different.

    The last of several outputs is used twice as much as the first.
    """
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    found = function(*leaves)
    torch.manual_seed(2)
    used = [each for each in found if each.requires_grad]
    torch.autograd.backward(used, [torch.randn(each.shape).to(each.dtype) for each in used])
    return [*(each.detach() for each in found), *(each.grad for each in leaves)]  # type: ignore[misc]


def close(found: list[torch.Tensor], expected: list[torch.Tensor], of: object) -> None:
    """Within rounding: of the kernels' sums, and of what twins round on the way."""
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.dtype == other.dtype, (of, place)
        wide = one.dtype == torch.float32
        torch.testing.assert_close(
            one, other, rtol=1e-5 if wide else 2**-5, atol=1e-5 if wide else 0.1,
            msg=lambda text, place=place: f"{of}, {place}: {text}",
        )  # fmt: skip


def multiply_bfloat16() -> None:
    """The interpreter keeps bfloat16 as 16 bits, and would multiply these as if they were whole
    numbers.
    """
    plainly = InterpreterBuilder.create_dot

    def dot(self: object, one: Any, other: Any, *more: object) -> object:
        wide = [each if each.dtype != tl.bfloat16 else widened(each) for each in (one, other)]
        return plainly(self, *wide, *more)

    def widened(each: Any) -> object:
        return TensorHandle((each.data.astype(np.uint32) << 16).view(np.float32), tl.float32)

    InterpreterBuilder.create_dot = dot


def masks() -> None:
    for shape in ((7,), (3, 1001), (2, 3, 700)):  # less than a block, and several
        for seed in SEEDS:
            for dtype in TYPES:
                torch.manual_seed(1)
                states = [torch.randn(shape).to(dtype)]
                twin = gradients(of_mask(DropoutMask(0.3, seed).apply_plainly), states)
                for given in (seed, torch.tensor(seed)):
                    mask = DropoutMask(0.3, given)
                    found = gradients(of_mask(partial(dropout_on_card, mask=mask)), states)
                    for one, other in zip(found, twin, strict=True):
                        assert torch.equal(one == 0, other == 0), (shape, seed)
                    close(found, twin, ("dropout", shape, seed))
    print("dropout")


def of_mask(drop: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Some]:
    return lambda leaf: (drop(leaf),)


def norms() -> None:
    for dim in (16, 1100):
        for kind in (nn.LayerNorm, nn.RMSNorm):
            for seed in (None, SEEDS[1]):
                for dtype in TYPES:
                    for whole in (True, False):
                        one_norm(kind(dim, eps=1e-5), seed, dtype, whole)
    print("norms")


def one_norm(
    module: nn.LayerNorm | nn.RMSNorm, seed: int | None, dtype: torch.dtype, whole: bool
) -> None:
    """Args: whole: whether the sum is used, too, as with the norm before, and not after."""
    torch.manual_seed(1)
    module.to(dtype)
    dim = module.weight.numel()
    parameters = [torch.randn(dim).to(dtype) for _ in module.parameters()]
    states = [torch.randn(3, 7, dim).to(dtype) + 0.5 for _ in range(2)]
    mask = None if seed is None else DropoutMask(0.3, seed)

    def fast(stream: torch.Tensor, update: torch.Tensor, *own: torch.Tensor) -> Some:
        bias = own[1] if len(own) > 1 else None
        assert module.eps is not None
        found = norm.add_norm_on_card(stream, update, own[0], bias, module.eps, mask)
        return found if whole else found[1:]

    def slow(stream: torch.Tensor, update: torch.Tensor, *own: torch.Tensor) -> Some:
        given = dict(zip((name for name, _ in module.named_parameters()), own, strict=True))

        def of(states: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = torch.func.functional_call(module, given, states)
            return result

        found = add_norm_plainly(stream, update, of, mask)  # type: ignore[arg-type]
        return found if whole else found[1:]

    everything = [*states, *parameters]
    name = type(module).__name__, dim, seed, dtype, whole
    close(gradients(fast, everything), gradients(slow, everything), name)
    if seed is not None:
        held = DropoutMask(0.3, torch.tensor(seed))
        bias = parameters[1] if len(parameters) > 1 else None
        assert module.eps is not None
        by_number = norm.add_norm_on_card(*states, parameters[0], bias, module.eps, mask)
        by_memory = norm.add_norm_on_card(*states, parameters[0], bias, module.eps, held)
        assert all(map(torch.equal, by_number, by_memory)), name


def losses() -> None:
    for vocabulary in (5, 101, 9000):  # a block, and several
        for dtype in TYPES:
            for smoothing in (0.0, 0.1):
                torch.manual_seed(1)
                logits = (torch.randn(13, vocabulary) * 5).to(dtype)
                targets = torch.arange(13) * 7 % vocabulary
                targets[3:5] = NO_TARGET
                summed, slope = _row_losses(logits, targets, smoothing, None)
                found = loss.row_losses(logits.clone(), targets, smoothing)
                torch.testing.assert_close(found[0], summed, rtol=1e-5, atol=1e-4)
                close([found[1]], [slope.to(dtype)], ("loss", vocabulary, dtype))
    for wrong in (-1, 7):
        found = loss.row_losses(torch.randn(2, 7), torch.tensor([3, wrong]), 0.1)
        assert found[0].isnan(), wrong
    assert loss.IGNORED == NO_TARGET
    print("losses")


NUMBERS = torch.tensor([[0] * 4 + [1] * 10 + [2] * 7, [3] * 9 + [4] * 2 + [5] * 10])
OFFSETS = torch.tensor([0, 4, 14, 21, 30, 32, 42, 42, 42], dtype=torch.int32)
NUMBERS_OF_KEYS = torch.tensor([[0] + [1] * 11 + [2] * 9, [3] * 12 + [4] + [5] * 8])
OFFSETS_OF_KEYS = torch.tensor([0, 1, 12, 21, 33, 34, 42, 42, 42], dtype=torch.int32)
MASKS: dict[str, AttentionMask | None] = {
    "all": None,
    "causal": AttentionMask(causal=True),
    "window": AttentionMask(causal=True, window=3),
    "padding": AttentionMask(real=torch.arange(21) < torch.tensor([[21], [5]])),
    "documents": AttentionMask(
        causal=True,
        documents=Documents(torch.tensor([[0] * 4 + [1] * 10 + [2] * 7, [3] * 20 + [4]])),
    ),
    "packed": AttentionMask(
        causal=True, window=5, documents=Documents(NUMBERS, OFFSETS, longest=10)
    ),
    "translated": AttentionMask(
        documents=Documents(NUMBERS, OFFSETS, 10),
        key_documents=Documents(NUMBERS_OF_KEYS, OFFSETS_OF_KEYS, 12),
    ),
    "nothing": AttentionMask(real=torch.arange(21) < torch.tensor([[21], [0]])),
}


def attentions() -> None:
    for name, mask in MASKS.items():
        queries = (21, 7) if name in ("all", "causal", "padding") else (21,)
        for shape in ((2, 1, 24, 40), (4, 2, 16, 16)):
            for length in queries:
                for drop in (None, DropoutMask(0.3, SEEDS[1])):
                    for dtype in TYPES:
                        one_attention((name, mask), shape, length, drop, dtype)
    print("attention")


def one_attention(
    named: tuple[str, AttentionMask | None],
    shape: tuple[int, int, int, int],
    queries: int,
    drop: DropoutMask | None,
    dtype: torch.dtype,
) -> None:
    """Args: shape: heads, those of keys, elements of keys and of values."""
    heads, shared, dim, value_dim = shape
    mask = named[1]
    torch.manual_seed(1)
    query, key, value = (
        torch.randn(2, length, count, width).to(dtype).transpose(1, 2)
        for length, count, width in (
            (queries, heads, dim), (21, shared, dim), (21, shared, value_dim),
        )
    )  # fmt: skip
    drawn = None if mask is None else mask.draw(queries, 21, torch.device("cpu"))

    def fast(*states: torch.Tensor) -> Some:
        found = fused.in_sentences(*states, mask, None, drop, 0.3)
        assert found is not None
        return (found,)

    def slow(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Some:
        key, value = repeat_heads(key, heads), repeat_heads(value, heads)
        return (attend_with_weights(query, key, value, drawn, None, drop, 0.3)[0],)

    of = named[0], shape, queries, drop, dtype
    close(gradients(fast, [query, key, value]), gradients(slow, [query, key, value]), of)


if __name__ == "__main__":
    multiply_bfloat16()
    serving.serves = lambda _: True
    masks()
    norms()
    losses()
    attentions()
