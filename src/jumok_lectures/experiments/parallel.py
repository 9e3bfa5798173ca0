"""No for-loop over the sequence.

An RNN's state at t needs the one at t - 1, so its steps follow one another; self-attention computes
all positions in a few matrix products, but of n x n scores. The notes say more than that, namely
that an RNN has the higher time complexity. Counted here: the multiplications of one layer of each
(by torch's counter, on a layer that really runs), and how many operations have to follow one
another: the longest chain of results that need results. Timed: a training step (forward and
backward) of both in turns on one core, by the clock of their thread, and on a GPU where there is
one. Several cores are not timed: programs beside this one decide what they give.

Source: Vaswani et al. 2017, table 1; lectures 000, 002.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import observe
from jumok.kernels.noise import Noise
from jumok.shapes import States, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import mean
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("parallel")

WIDTH, HEADS, BATCH = 64, 4, 2
LENGTHS = (16, 64, 256, 512, 1024, 2048)
COUNTED = (4, 8, 16, 32)  # lengths of the chains
SENTENCE = 64  # the claim is of sentences: up to this length attention must be faster
REPEATS = 4

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
    with Chain() as counter:
        layer(states)
    return counter.longest


@torch.no_grad()
def multiplications(layer: nn.Module, length: int) -> int:
    """Multiplications in matrix products, for one sequence of this length.

    Attention is observed, because torch counts the products of scores that are written out.
    """
    states = torch.randn(1, length, WIDTH)
    with observe(layer, lambda *_: None), FlopCounterMode(display=False) as counted:
        layer(states) if isinstance(layer, WrittenGru) else layer(states, states)
    return counted.get_total_flops() // 2  # a multiplication and an addition are two


def step_seconds(layers: Sequence[Layer], length: int, device: str = "cpu") -> list[float]:
    """Seconds of a forward and a backward pass of each layer: the fastest of REPEATS.

    The layers take turns, so that what slows the machine for a while slows all of them. On the
    processor it is the time of one thread, by its own clock: other programs' turns do not count.
    """
    states = torch.randn(BATCH, length, WIDTH, device=device, requires_grad=True)
    clock = time.thread_time if device == "cpu" else time.perf_counter
    fastest, before = [math.inf for _ in layers], torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for repeat in range(REPEATS + 1):
            for place, layer in enumerate(layers):
                start = clock()
                layer(states).sum().backward()
                if device != "cpu":
                    torch.cuda.synchronize()
                if repeat:  # the first one warms up
                    fastest[place] = min(fastest[place], clock() - start)
    finally:
        torch.set_num_threads(before)
    return fastest


def power(lengths: tuple[int, ...], values: list[float]) -> float:
    """By which power of n they grow over the last three lengths: 1 is linear, 2 quadratic."""
    return math.log(values[-1] / values[-3]) / math.log(lengths[-1] / lengths[-3])


@dataclass(frozen=True)
class Timed:
    """Seconds by length, of a place: one core, a GPU."""

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

        places = [(T("n1_core"), "cpu")]
        if torch.cuda.is_available():
            places.append((T("gpu"), "cuda"))
        timed = []
        for name, device in places:
            gru.to(device), looking.to(device)
            by_length = [step_seconds((recur, attend), length, device) for length in LENGTHS]
            timed.append(Timed(name, *map(list, zip(*by_length, strict=True))))
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
    ratios = [looking / gru for looking, gru in zip(counts.attention, counts.gru, strict=True)]
    layers = T.named("layers")
    times = _milliseconds(runs)
    products = {layer: [each / 1e6 for each in vars(counts)[layer]] for layer in layers}

    named = [
        (T("name", who=layers[layer], name=name), values) for (layer, name), values in times.items()
    ]
    return T.findings(
        rows=[
            [length, *(own[place] for own in (*products.values(), *times.values()))]
            for place, length in enumerate(LENGTHS)
        ],
        figures={**_figures(runs, counts), "faster_at_sentence": faster, "power": powers},
        conditions=[
            T.condition("operations_in_a_row", [_growth(counts.gru_chain)]),
            T.condition("the_same_self_attention", [_growth(counts.attention_chain)]),
            T.condition("times_as_fast_at", faster, sentence=SENTENCE),
            T.condition("multiplications_at_the_longest", [counts.gru[-1] / counts.attention[-1]]),
            T.condition("power_of_n_in", [abs(each - 2.0) for each in powers]),
        ],
        panels=[
            T.chart(_lines(named), x=T("length"), log_x=True, log_y=True),
            T.chart(
                _lines((T.named("multiplied")[layer], own) for layer, own in products.items()),
                "_2",
                x=T("length"),
                log_x=True,
                log_y=True,
            ),
        ],
        columns=[
            T.column("length"),
            T.column("gru_million_multiplications"),
            T.column("attention_million_multiplications"),
            *(T.column("who_name_ms", who=layers[layer], name=name) for layer, name in times),
        ],
        first=COUNTED[0],
        last=COUNTED[-1],
        gru=grown(counts.gru_chain[0], counts.gru_chain[-1]),
        attention=grown(counts.attention_chain[0], counts.attention_chain[-1]),
        faster=faster,
        sentence=SENTENCE,
        start=LENGTHS[-3],
        lengths_last=LENGTHS[-1],
        lengths=(LENGTHS[0], SENTENCE),
        ratios=(ratios[0], ratios[at]),
        ratio=ratios[-1],
        exact=power(LENGTHS, [float(each) for each in counts.attention]),
        powers=powers,
    )


def grown(first: int, last: int) -> Text:
    """ "grows from 42 to 322", or "stays at 12"."""
    if first == last:
        return T("stays", first=first)
    if last > first:
        return T("grows", first=first, last=last)
    return T("falls", first=first, last=last)


def _growth(chains: list[int]) -> float:
    """Operations in a row that one more position costs."""
    return (chains[-1] - chains[0]) / (COUNTED[-1] - COUNTED[0])


def _milliseconds(runs: list[list[Timed]]) -> dict[tuple[str, Text], list[float]]:
    """By layer and place, length by length: the means of the seeds."""
    return {
        (layer, same[0].name): [
            1e3 * mean(each) for each in zip(*(vars(one)[layer] for one in same), strict=True)
        ]
        for same in zip(*runs, strict=True)
        for layer in ("gru", "attention")
    }


def _figures(runs: list[list[Timed]], counts: Counts) -> dict[str, object]:
    return {
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
    }


def _lines(series: Iterable[tuple[Text, list[float]]]) -> list[Series]:
    return [
        Series(name, [(float(n), value) for n, value in zip(LENGTHS, values, strict=True)])
        for name, values in series
    ]
