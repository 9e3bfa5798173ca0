"""No for-loop over the sequence.

An RNN's state at t needs the one at t - 1, so its steps follow one another; self-attention computes
all positions in a few matrix products, but of n x n scores. The notes say more than that, namely
that an RNN has the higher time complexity. Counted here: the multiplications of one layer of each
(by torch's counter, on a layer that really runs), and how many operations have to follow one
another: the longest chain of results that need results. Timed: a training step (forward and
backward) on one core and on all, and on a GPU where there is one.

Source: Vaswani et al. 2017, table 1; lectures 000, 002.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import observe
from jumok.kernels.noise import Noise
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean, with_interval
from jumok.lab.text import Text
from jumok.shapes import States, Tensor
from jumok.systems.device import cores

WIDTH, HEADS, BATCH = 64, 4, 2
LENGTHS = (16, 64, 256, 512, 1024, 2048)
COUNTED = (4, 8, 16, 32)  # lengths of the chains
SENTENCE = 64  # the claim is of sentences: up to this length attention must be faster
REPEATS = 4
FASTER = 1.5  # the claim: how many times as fast on one core at SENTENCE
POWER = 0.3  # and the time at the longest lengths grows with n² to within this power

Layer = Callable[[States], Tensor]


class WrittenGru(nn.Module):
    """A GRU step by step: what torch's layer does, as operations that can be counted."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, states: States) -> Tensor:
        """Every state, each from the one before."""
        state = states.new_zeros(states.shape[0], states.shape[2])
        outputs = []
        for step in states.unbind(1):
            state = self.cell(step, state)
            outputs.append(state)
        return torch.stack(outputs, 1)


class Chain(TorchDispatchMode):
    """Finds the longest chain of operations of which each needs the result of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.longest = 0
        self._depth: dict[int, int] = {}
        self._kept: list[object] = []  # so that no tensor takes the address of another

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = func(*args, **(kwargs or {}))
        given = torch.utils._pytree.tree_leaves((args, kwargs))
        depth = 1 + max((self._depth.get(id(each), 0) for each in given), default=0)
        for each in torch.utils._pytree.tree_leaves(made):
            if isinstance(each, torch.Tensor):
                self._depth[id(each)] = depth
                self._kept.append(each)
        self.longest = max(self.longest, depth)
        return made


@torch.no_grad()
def chain(layer: Layer, length: int) -> int:
    """Operations that have to follow one another, for a sequence of this length."""
    states = torch.randn(1, length, WIDTH)
    with Chain() as found:
        layer(states)
    return found.longest


@torch.no_grad()
def multiplications(layer: nn.Module, length: int) -> int:
    """Multiplications in matrix products, for one sequence of this length.

    Attention is observed, because torch counts the products of scores that are written out.
    """
    states = torch.randn(1, length, WIDTH)
    with observe(layer, lambda *_: None), FlopCounterMode(display=False) as counted:
        layer(states) if isinstance(layer, WrittenGru) else layer(states, states)
    return counted.get_total_flops() // 2  # a multiplication and an addition are two


def step_seconds(layer: Layer, length: int, threads: int, device: str = "cpu") -> float:
    """Seconds of a forward and a backward pass: the fastest of REPEATS.

    One thread is timed by its own clock, which other programs do not disturb.
    """
    states = torch.randn(BATCH, length, WIDTH, device=device, requires_grad=True)
    clock = time.thread_time if threads == 1 and device == "cpu" else time.perf_counter
    fastest, before = math.inf, torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for repeat in range(REPEATS + 1):
            start = clock()
            layer(states).sum().backward()
            if device != "cpu":
                torch.cuda.synchronize()
            if repeat:  # the first one warms up
                fastest = min(fastest, clock() - start)
    finally:
        torch.set_num_threads(before)
    return fastest


def power(lengths: tuple[int, ...], values: list[float]) -> float:
    """By which power of n they grow over the last three lengths: 1 is linear, 2 quadratic."""
    return math.log(values[-1] / values[-3]) / math.log(lengths[-1] / lengths[-3])


@dataclass(frozen=True)
class Timed:
    """Seconds by length, of a place: one core, all cores, a GPU."""

    name: Text
    gru: list[float]
    attention: list[float]


@dataclass(frozen=True)
class Counts:
    """Multiplications by length, and the longest chains by length of COUNTED."""

    gru: list[int]
    attention: list[int]
    gru_chain: list[int]
    attention_chain: list[int]


def run(setting: Setting) -> Findings:
    """Counts and times one GRU layer and one layer of self-attention of the same width."""
    runs = []
    for seed in setting.seeds:
        torch.manual_seed(seed)
        gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        looking = MultiHeadAttention(WIDTH, HEADS, WIDTH // HEADS, WIDTH // HEADS, Noise())

        def recur(states: States, gru: nn.GRU = gru) -> Tensor:
            return gru(states)[0]

        def attend(states: States, looking: MultiHeadAttention = looking) -> Tensor:
            return looking(states, states)

        places = [(Text("1 core", "코어 1개"), 1, "cpu")]
        if cores() > 1:
            places.append((Text(f"{cores()} cores", f"코어 {cores()}개"), cores(), "cpu"))
        if torch.cuda.is_available():
            places.append((Text("GPU", "GPU"), 1, "cuda"))
        timed = []
        for name, threads, device in places:
            gru.to(device), looking.to(device)
            timed.append(
                Timed(
                    name,
                    [step_seconds(recur, length, threads, device) for length in LENGTHS],
                    [step_seconds(attend, length, threads, device) for length in LENGTHS],
                )
            )
        gru.to("cpu"), looking.to("cpu")
        runs.append(timed)
    written = WrittenGru(WIDTH)
    counts = Counts(
        [multiplications(written, length) for length in LENGTHS],
        [multiplications(looking, length) for length in LENGTHS],
        [chain(written, length) for length in COUNTED],
        [chain(attend, length) for length in COUNTED],
    )
    return report(runs, counts)


def report(runs: list[list[Timed]], counts: Counts) -> Findings:
    """Who is faster where, and how times, multiplications and chains grow."""
    at = LENGTHS.index(SENTENCE)
    single = [timed[0] for timed in runs]
    faster = [each.gru[at] / each.attention[at] for each in single]
    powers = [power(LENGTHS, each.attention) for each in single]
    average = [
        Timed(
            same[0].name,
            [mean(each) for each in zip(*(one.gru for one in same), strict=True)],
            [mean(each) for each in zip(*(one.attention for one in same), strict=True)],
        )
        for same in zip(*runs, strict=True)
    ]
    rows = [
        [
            length,
            counts.gru[place] / 1e6,
            counts.attention[place] / 1e6,
            *(1e3 * x for each in average for x in (each.gru[place], each.attention[place])),
        ]
        for place, length in enumerate(LENGTHS)
    ]
    return Findings(
        columns=(
            Column(Text("length", "길이"), "d"),
            Column(Text("GRU, million multiplications", "GRU, 곱셈 (백만)"), ".1f"),
            Column(Text("attention, million multiplications", "어텐션, 곱셈 (백만)"), ".1f"),
            *(
                Column(Text(f"{who}, {each.name.en} (ms)", f"{who_ko}, {each.name.ko} (ms)"), ".2f")
                for each in average
                for who, who_ko in (("GRU", "GRU"), ("attention", "어텐션"))
            ),
        ),
        rows=rows,
        figures={
            "lengths": list(LENGTHS),
            "multiplications": {"gru": counts.gru, "attention": counts.attention},
            "chains": {
                "lengths": list(COUNTED),
                "gru": counts.gru_chain,
                "attention": counts.attention_chain,
            },
            "seconds": [
                {each.name.en: {"gru": each.gru, "attention": each.attention} for each in timed}
                for timed in runs
            ],
            "faster_at_sentence": faster,
            "power": powers,
        },
        conditions=_conditions(counts, faster, powers),
        sentence=_sentence(counts, faster, powers),
        panels=_panels(average, counts),
    )


def _growth(chains: list[int]) -> float:
    """Operations in a row that one more position costs."""
    return (chains[-1] - chains[0]) / (COUNTED[-1] - COUNTED[0])


def _conditions(counts: Counts, faster: list[float], powers: list[float]) -> list[Condition]:
    return [
        Condition(
            Text(
                "operations in a row that a position adds, GRU",
                "위치 하나가 늘리는 순차 연산 수, GRU",
            ),
            [_growth(counts.gru_chain)],
            0.5,
        ),
        Condition(
            Text("the same, self-attention", "위와 같음, 셀프 어텐션"),
            [_growth(counts.attention_chain)],
            0.5,
            above=False,
        ),
        Condition(
            Text(
                f"times as fast at length {SENTENCE}, 1 core", f"길이 {SENTENCE}에서 몇 배 빠른가"
            ),
            faster,
            FASTER,
        ),
        Condition(
            Text(
                "multiplications at the longest length: GRU over attention (002:4)",
                "가장 긴 길이의 곱셈 수: GRU / 어텐션 (002:4)",
            ),
            [counts.gru[-1] / counts.attention[-1]],
            1.0,
        ),
        Condition(
            Text("power of n in attention's time, from 2", "어텐션 시간의 지수와 2의 차이"),
            [abs(each - 2.0) for each in powers],
            POWER,
            above=False,
        ),
    ]


def _sentence(counts: Counts, faster: list[float], powers: list[float]) -> Text:
    first, last = COUNTED[0], COUNTED[-1]
    gru, attention = counts.gru_chain, counts.attention_chain
    exact = power(LENGTHS, [float(each) for each in counts.attention])
    ratio = counts.attention[-1] / counts.gru[-1]
    return Text(
        f"From {first} to {last} positions the operations that have to follow one another grow "
        f"from {gru[0]} to {gru[-1]} in a GRU and from {attention[0]} to {attention[-1]} in "
        f"self-attention. On one core attention is {with_interval(faster, '.1f')} times as fast at "
        f"length {SENTENCE}. It is not the number of multiplications that falls, as 002:4 has it: "
        f"at length {LENGTHS[-1]} attention has {ratio:.1f} times those of the GRU. They grow as n "
        f"to the power of {exact:.2f}, and the time to the power of "
        f"{with_interval(powers, '.2f')}; where that is more, the n × n scores have left the "
        "processor's cache.",
        f"위치가 {first}개에서 {last}개로 늘면, 차례로 해야 하는 연산은 GRU에서 {gru[0]}개에서 "
        f"{gru[-1]}개로, 셀프 어텐션에서 {attention[0]}개에서 {attention[-1]}개로 변합니다. 코어 "
        f"하나에서 길이가 {SENTENCE}일 때 어텐션은 {with_interval(faster, '.1f')}배 빠릅니다. "
        f"002:4의 설명과 달리 곱셈 수가 줄어드는 것은 아닙니다. 길이 {LENGTHS[-1]}에서 어텐션의 "
        f"곱셈은 GRU의 {ratio:.1f}배입니다. 곱셈은 n의 {exact:.2f}제곱, 시간은 "
        f"{with_interval(powers, '.2f')}제곱으로 늘어납니다. 시간이 더 빨리 늘어난다면 n × n "
        "점수가 프로세서의 캐시를 벗어났기 때문입니다.",
    )


def _panels(average: list[Timed], counts: Counts) -> tuple[Chart, ...]:
    def line(name: Text, values: list[float], scale: float) -> Series:
        pairs = zip(LENGTHS, values, strict=True)
        return Series(name, [(float(n), scale * value) for n, value in pairs])

    times = [
        line(Text(f"{who}, {each.name.en}", f"{who_ko}, {each.name.ko}"), values, 1e3)
        for each in average
        for who, who_ko, values in (
            ("GRU", "GRU", each.gru),
            ("attention", "어텐션", each.attention),
        )
    ]
    products = [
        line(Text("GRU", "GRU"), [float(each) for each in counts.gru], 1e-6),
        line(Text("self-attention", "셀프 어텐션"), [float(x) for x in counts.attention], 1e-6),
    ]
    length = Text("length of the sequence", "시퀀스의 길이")
    return (
        Chart(
            Text("Forward and backward, one layer", "순전파와 역전파, 1층"),
            length,
            Text("milliseconds", "밀리초"),
            times,
            log_x=True,
            log_y=True,
        ),
        Chart(
            Text("Multiplications, forward", "순전파의 곱셈 수"),
            length,
            Text("millions", "백만"),
            products,
            log_x=True,
            log_y=True,
        ),
    )
