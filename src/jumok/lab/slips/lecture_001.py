"""Slips of lecture 001. Source of what is right: Vaswani et al. 2017, section 3.5."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from jumok.lab.slips.slip import Slip, between, each
from jumok.lab.text import Text
from jumok.positions.sinusoidal import sinusoids
from jumok.shapes import Float, Tensor

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
        Text(
            "what repeats does not tell positions apart; many frequencies together do, the "
            "slowest of which does not repeat",
            "주기적인 것은 위치를 구별하지 못함. 여러 진동수를 함께 써야 구별되고, 가장 느린 것은 "
            "되풀이되지 않음",
        ),
        Text(
            f"least distance of two of {LENGTH} positions: {one:.0e} with one period, "
            f"{all_of_them:.2f} with all {WIDTH // 2}",
            f"위치 {LENGTH}개 중 두 위치의 최소 거리: 주기가 하나이면 {one:.0e}, "
            f"{WIDTH // 2}개를 모두 쓰면 {all_of_them:.2f}",
        ),
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
        Text(
            "i counts pairs, from 0 to d_model / 2 - 1; 2i and 2i + 1 are the dimensions",
            "i는 쌍의 인덱스(0부터 d_model / 2 - 1까지). 차원은 2i와 2i + 1",
        ),
        Text(
            f"d_model = {WIDTH}: {written:,} numbers a position as written, {right:,} by pairs; "
            f"longest wave {longest[0]:,.0f} and {longest[1]:,.0f} positions",
            f"d_model = {WIDTH}: 위치마다 노트대로라면 {written:,}개, 쌍으로는 {right:,}개. "
            f"가장 긴 파장은 위치 {longest[0]:,.0f}개와 {longest[1]:,.0f}개",
        ),
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
        Text(
            "its state depends on all words so far, on early ones less",
            "상태에는 앞의 모든 단어가 반영됨. 먼 단어일수록 적게",
        ),
        Text(
            f"another first of {WORDS} words changes an untrained GRU's last state by {span.en}; "
            "if only the word before counted, by 0",
            f"단어 {WORDS}개 중 첫 단어를 바꾸면 학습 전 GRU의 마지막 상태가 {span.ko}만큼 바뀜. "
            "바로 앞 단어만 본다면 0이어야 함",
        ),
        {"change of the last state": found},
        min(found) > 1e-4,
    )
