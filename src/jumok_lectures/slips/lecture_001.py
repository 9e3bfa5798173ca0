"""Slips of lecture 001. Source of what is right: Vaswani et al. 2017, section 3.5."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from jumok.positions.sinusoidal import sinusoids
from jumok.shapes import Float, Tensor
from jumok_lectures.slips.slip import Slip, between, each, slip
from jumok_lectures.texts import Texts

T = Texts("slips_001")

LENGTH, WIDTH = 512, 512
WORDS, STATE = 8, 64


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note, except for the mask (`masking.py`)."""
    return [periodic(), index_of_the_pair(), only_the_word_before(seeds)]


def nearest(codes: Float[Tensor, "length dim"]) -> float:
    """The least distance between the codes of two positions."""
    gaps = torch.cdist(codes[None], codes[None], compute_mode="donot_use_mm_for_euclid_dist")[0]
    return float(gaps.fill_diagonal_(math.inf).min())


def periodic() -> Slip:
    """One wave comes back to where it was; what tells positions apart are many of them."""
    codes = sinusoids(LENGTH, WIDTH).double()
    one, all_of_them = nearest(codes[:, :2]), nearest(codes)
    return slip(
        T,
        "periodic",
        {"one period": one, "all": all_of_them},
        one < 0.01 < 0.1 < all_of_them,
        length=LENGTH,
        one=one,
        all_of_them=all_of_them,
        width=WIDTH // 2,
    )


def index_of_the_pair() -> Slip:
    """With i up to d_model the dimensions 2i and 2i + 1 are twice as many as there are."""
    written, right = 2 * WIDTH, len(range(0, WIDTH, 2)) * 2
    longest = [math.tau * 10_000 ** (2 * last / WIDTH) for last in (WIDTH - 1, WIDTH // 2 - 1)]
    return slip(
        T,
        "index_of_the_pair",
        {"numbers as written": written, "numbers": right, "longest waves": longest},
        right == WIDTH != written,
        width=WIDTH,
        written=written,
        right=right,
        longest=longest,
    )


def only_the_word_before(seeds: Sequence[int]) -> Slip:
    """An RNN's state carries every word so far: a change of the first one arrives at the last."""

    def moved(generator: torch.Generator) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            cell = nn.GRU(STATE, STATE, batch_first=True)
            words = torch.randn(1, WORDS, STATE)
            other = words.clone()
            other[0, 0] = torch.randn(STATE)
            before, after = cell(words)[0][0, -1], cell(other)[0][0, -1]
        return float((after - before).norm() / before.norm())

    changes = each(seeds, moved)
    span = between(changes, ".1%")
    return slip(
        T,
        "only_the_word_before",
        {"change of the last state": changes},
        min(changes) > 1e-4,
        words=WORDS,
        span=span,
    )
