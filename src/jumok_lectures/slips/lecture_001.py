"""Slips of lecture 001. Source of what is right: Vaswani et al. 2017, section 3.5."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from jumok.positions.sinusoidal import sinusoids
from jumok.shapes import Float, Tensor
from jumok_lectures.slips.slip import Slip, between, each
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
    return Slip(
        "001:82",
        "Positional Encoding함수는 sequential property를 나타내주기 위해 주기성을 가진다",
        T("periodic_right"),
        T("periodic_computed", length=LENGTH, one=one, all_of_them=all_of_them, width=WIDTH // 2),
        {"one period": one, "all": all_of_them},
        one < 0.01 < 0.1 < all_of_them,
    )


def index_of_the_pair() -> Slip:
    """With i up to d_model the dimensions 2i and 2i + 1 are twice as many as there are."""
    written, right = 2 * WIDTH, len(range(0, WIDTH, 2)) * 2
    longest = [math.tau * 10_000 ** (2 * last / WIDTH) for last in (WIDTH - 1, WIDTH // 2 - 1)]
    return Slip(
        "001:92",
        "i: 임베딩 벡터에서 차원의 인덱스",
        T("index_of_the_pair_right"),
        T("index_of_the_pair_computed", width=WIDTH, written=written, right=right, longest=longest),
        {"numbers as written": written, "numbers": right, "longest waves": longest},
        right == WIDTH != written,
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

    found = each(seeds, moved)
    span = between(found, ".1%")
    return Slip(
        "001:341",
        "입력 단어를 매 시점마다 순차적으로 입력 받아 예측 시기 바로 이전 단어만 참고함",
        T("only_the_word_before_right"),
        T("only_the_word_before_computed", words=WORDS, span=span),
        {"change of the last state": found},
        min(found) > 1e-4,
    )
