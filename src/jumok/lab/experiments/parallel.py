"""No for-loop over the sequence.

An RNN's state at t needs the one at t - 1, so its steps follow one another; self-attention computes
all positions in a few matrix products, but of n x n scores. Tried: the time of a training step
(forward and backward) of one layer of each, by length, on one core.

Source: Vaswani et al. 2017, table 1; lectures 000, 002.
"""

import math
import time
from collections.abc import Callable

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.noise import Noise
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition
from jumok.lab.text import Text
from jumok.shapes import States, Tensor
from jumok.training.precision import one_thread

WIDTH, HEADS, BATCH = 64, 4, 2
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
FULL_LENGTHS = (*LENGTHS, 4096)
SENTENCE = 64  # the claim is of sentences: up to this length attention must be faster
REPEATS = 5

Layer = Callable[[States], Tensor]


def step_seconds(layer: Layer, length: int) -> float:
    """Seconds of this thread for a forward and a backward pass: the fastest of REPEATS."""
    states = torch.randn(BATCH, length, WIDTH, requires_grad=True)
    fastest = math.inf
    for repeat in range(REPEATS + 1):
        start = time.thread_time()
        layer(states).sum().backward()
        if repeat:  # the first one warms up
            fastest = min(fastest, time.thread_time() - start)
    return fastest


def slope(lengths: tuple[int, ...], seconds: list[float]) -> float:
    """The power of n by which time grows over the last three lengths: 1 is linear, 2 quadratic."""
    return math.log(seconds[-1] / seconds[-3]) / math.log(lengths[-1] / lengths[-3])


def crossing(lengths: tuple[int, ...], attention: list[float], rnn: list[float]) -> float | None:
    """The length from which attention is slower, between two measured ones by powers.

    None: it never is.
    """
    ratios = [math.log(a / b) for a, b in zip(attention, rnn, strict=True)]
    for place in range(1, len(ratios)):
        before, after = ratios[place - 1], ratios[place]
        if before <= 0.0 < after:
            share = -before / (after - before)
            return lengths[place - 1] * (lengths[place] / lengths[place - 1]) ** share
    return None


def run(setting: Setting) -> Findings:
    """Times one GRU layer and one layer of self-attention of the same width."""
    torch.manual_seed(setting.seed)
    lengths = FULL_LENGTHS if setting.full else LENGTHS
    gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
    looking = MultiHeadAttention(WIDTH, HEADS, WIDTH // HEADS, WIDTH // HEADS, Noise())

    def recur(states: States) -> Tensor:
        return gru(states)[0]

    def attend(states: States) -> Tensor:
        return looking(states, states)

    with one_thread():
        rnn = [step_seconds(recur, length) for length in lengths]
        attention = [step_seconds(attend, length) for length in lengths]
    return report(lengths, rnn, attention)


def report(lengths: tuple[int, ...], rnn: list[float], attention: list[float]) -> Findings:
    """Who is faster where, and how the times grow."""
    meet = crossing(lengths, attention, rnn)
    short = [a < b for n, a, b in zip(lengths, attention, rnn, strict=True) if n <= SENTENCE]
    growth = slope(lengths, rnn), slope(lengths, attention)
    at = lengths.index(SENTENCE)
    times = rnn[at] / attention[at]
    where = "beyond the longest length" if meet is None else f"at a length of about {meet:.0f}"
    where_ko = "측정한 가장 긴 길이를 넘어야" if meet is None else f"길이 약 {meet:.0f}부터"
    return Findings(
        columns=(
            Column(Text("length", "길이"), "d"),
            Column(Text("GRU (ms)", "GRU (ms)"), ".2f"),
            Column(Text("self-attention (ms)", "셀프 어텐션 (ms)"), ".2f"),
            Column(Text("GRU / attention", "GRU / 어텐션"), ".2f"),
            Column(Text("sequential steps: GRU", "순차 단계 수: GRU"), "d"),
            Column(Text("sequential steps: attention", "순차 단계 수: 어텐션"), "d"),
        ),
        rows=[
            [n, 1e3 * a, 1e3 * b, a / b, n, 1]
            for n, a, b in zip(lengths, rnn, attention, strict=True)
        ],
        figures={
            "lengths": list(lengths),
            "gru_seconds": rnn,
            "attention_seconds": attention,
            "crossing": meet,
            "growth": {"gru": growth[0], "attention": growth[1]},
        },
        conditions=[Condition(Text("faster", "더 빠름"), [float(each)], 0.5) for each in short],
        sentence=Text(
            f"On one core self-attention is {times:.1f} times as fast as a GRU at length "
            f"{SENTENCE}; at the longest lengths the GRU's time grows as the length to the power "
            f"of {growth[0]:.1f} and attention's to the power of {growth[1]:.1f}, and attention "
            f"becomes slower {where}.",
            f"코어 하나에서 길이가 {SENTENCE}일 때 셀프 어텐션은 GRU보다 {times:.1f}배 빠릅니다. "
            f"길이가 가장 긴 구간에서 GRU의 시간은 길이의 {growth[0]:.1f}제곱에, 어텐션의 시간은 "
            f"{growth[1]:.1f}제곱에 비례해 늘어납니다. 계산량이 길이의 제곱에 비례하므로 "
            f"어텐션은 {where_ko} GRU보다 느려집니다.",
        ),
        panels=(
            Chart(
                Text("Forward and backward, one layer, one core", "순전파와 역전파, 1층, 코어 1개"),
                Text("length of the sequence", "시퀀스의 길이"),
                Text("milliseconds", "밀리초"),
                (
                    Series(
                        Text("GRU", "GRU"),
                        [(float(n), 1e3 * each) for n, each in zip(lengths, rnn, strict=True)],
                    ),
                    Series(
                        Text("self-attention", "셀프 어텐션"),
                        [(float(n), 1e3 * x) for n, x in zip(lengths, attention, strict=True)],
                    ),
                ),
                log_x=True,
                log_y=True,
            ),
        ),
    )
