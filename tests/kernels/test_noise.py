"""Dropout masks: the published hash, the promised share, and no two alike."""

import math

import pytest
import torch

from jumok.kernels import native
from jumok.kernels.activation import dropout
from jumok.kernels.noise import DropoutMask, Noise, mix

GOLDEN = 0x9E3779B9  # 2^32 divided by the golden ratio
CPU = torch.device("cpu")
COUNT = 200_000


def lowbias32(x: int) -> int:
    """The finaliser as its author prints it."""
    x ^= x >> 16
    x = x * 0x7FEB352D % 2**32
    x ^= x >> 15
    x = x * 0x846CA68B % 2**32
    return x ^ x >> 16


@pytest.mark.parametrize("number", [0, 1, 2, 1031, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_mix_is_the_published_finaliser(number):
    assert mix(number) == lowbias32(number)


@pytest.mark.parametrize("seed", [0, 7, 0xFFFFFFFF])
def test_keep_follows_the_formula_one_element_at_a_time(seed):
    keep = DropoutMask(0.3, seed).keep(1031, CPU)
    by_hand = [lowbias32((i * GOLDEN + seed) % 2**32) >= 0.3 * 2**32 for i in range(1031)]
    assert keep.tolist() == by_hand


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernel_draws_the_same_mask_bit_by_bit(p, dtype):
    mask = DropoutMask(p, 0xDEADBEEF)
    ones = torch.ones(31, 2113, 16, dtype=dtype)  # a million: all bits of the hash count
    assert native.serves(ones)
    assert torch.equal(dropout(ones, mask), mask.apply(ones))
    assert torch.equal(dropout(ones, mask).flatten() > 0, mask.keep(ones.numel(), CPU))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_kept_share_is_one_minus_p(p):
    share = DropoutMask(p, 12345).keep(COUNT, CPU).double().mean()
    assert abs(share - (1 - p)) < 5 * math.sqrt(p * (1 - p) / COUNT)  # five standard deviations


def test_masks_of_neighbouring_seeds_are_independent():
    """Two masks with p = 1/2 agree in half of all places, as two fair coins would."""
    noise = Noise()
    noise.rekey(1, 2, 3)
    masks = [noise.mask(0.5).keep(COUNT, CPU) for _ in range(5)]
    masks += [DropoutMask(0.5, seed).keep(COUNT, CPU) for seed in (0, 1, 2)]
    for i, one in enumerate(masks):
        for other in masks[:i]:
            agreement = (one == other).double().mean()
            assert abs(agreement - 0.5) < 5 * math.sqrt(0.25 / COUNT)


@pytest.mark.parametrize("distance", [1, 16, 31, 257])
def test_elements_of_a_mask_are_independent_of_each_other(distance):
    keep = DropoutMask(0.5, 99).keep(COUNT, CPU)
    agreement = (keep[distance:] == keep[:-distance]).double().mean()
    assert abs(agreement - 0.5) < 5 * math.sqrt(0.25 / (COUNT - distance))


def test_apply_keeps_the_expected_value():
    dropped = DropoutMask(0.75, 5).apply(torch.ones(COUNT))
    assert set(dropped.unique().tolist()) == {0.0, 4.0}  # 1 / (1 - 0.75)


def test_rekeyed_noise_repeats_its_masks_and_other_keys_give_others():
    noise = Noise()

    def seeds(*key: int) -> list[int]:
        noise.rekey(*key)
        return [noise.mask(0.1).seed for _ in range(7)]

    first = seeds(1, 2, 3)
    assert seeds(1, 2, 3) == first
    everything = first + seeds(1, 2, 4) + seeds(1, 3, 2) + seeds(2, 1, 3) + seeds(0, 0, 0)
    assert len(set(everything)) == 35
