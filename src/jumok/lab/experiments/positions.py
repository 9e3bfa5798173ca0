"""What an encoding of positions should be, and which encodings are.

Four wishes (lectures 002, 004): every position has its own code; the distance between two
positions is the same in sentences of every length; values stay bounded, so that longer sentences
work; and nothing is left to chance. Tried: each wish, measured on the encodings themselves, and
small translators with each of them on sentences longer than any in training.

Rotary and ALiBi give no vectors; for them the score between two positions takes the place of the
distance between two codes.

Source: Vaswani et al. 2017, section 3.5; Press et al. 2022 (longer); lectures 001, 002, 004.
"""

from dataclasses import dataclass

import torch

from jumok.lab import world
from jumok.lab.findings import Bars, Column, Findings, Setting, TableCell
from jumok.lab.judging import Condition, mean
from jumok.lab.small import Small, train
from jumok.lab.text import Text
from jumok.parts import resolve
from jumok.positions.alibi import AlibiPositions
from jumok.positions.index import FractionPositions
from jumok.positions.interfaces import PositionSizes
from jumok.positions.rotary import RotaryPositions
from jumok.shapes import Float, Tensor

DIM, TABLE = 64, 128  # the table of learned and binary positions; sentences here have fewer
SHORT, LONG, FAR = 16, 48, 1000
EQUAL, BOUND = 0.01, 2.0
WORSE = 1.0  # nats a token: how much longer sentences may cost before an encoding has failed
KINDS = ("index", "fraction", "binary", "sinusoidal", "learned", "rotary", "alibi", "none")
NAMES = {
    "index": Text("index", "번호"),
    "fraction": Text("fraction of the length", "길이에 대한 비율"),
    "binary": Text("binary", "이진수"),
    "sinusoidal": Text("sinusoidal", "사인파"),
    "learned": Text("learned", "학습된 위치"),
    "rotary": Text("rotary", "회전(rotary)"),
    "alibi": Text("ALiBi", "ALiBi"),
    "none": Text("none", "없음"),
}


@dataclass(frozen=True)
class Wishes:
    """The four wishes of one encoding, as numbers.

    Attributes:
        apart: the smallest distance between two different positions; 0 where two are alike.
        drift: how much the distance of two positions that are k apart depends on where they
            are and on the sentence's length: the standard deviation as a share of the mean.
        largest: the largest value at position 1,000; None where there is no such position.
        repeats: whether it gives the same numbers when it is made again.
    """

    apart: float
    drift: float
    largest: float | None
    repeats: bool

    @property
    def granted(self) -> list[bool]:
        """Unique, consistent, bounded and there for longer sentences, deterministic."""
        bounded = self.largest is not None and self.largest <= BOUND
        return [self.apart > 1e-6, self.drift < EQUAL, bounded, self.repeats]


def between(kind: str, length: int, seed: int) -> Float[Tensor, "{length} {length}"]:
    """The distance between the codes of all positions of a sentence (or their score)."""
    if kind == "none":
        return torch.zeros(length, length)
    if kind == "alibi":
        return -_alibi(length, length, 0)
    if kind == "rotary":
        generator = torch.Generator().manual_seed(seed)
        query, key = torch.randn(2, 1, 1, 1, DIM, generator=generator)
        turn = RotaryPositions(DIM)
        scores = turn(query.expand(1, 1, length, DIM), 0) @ turn(
            key.expand(1, 1, length, DIM), 0
        ).transpose(-2, -1)
        return (scores - scores.diagonal(dim1=-2, dim2=-1)[..., None])[0, 0].abs()
    codes = vectors(kind, length, seed)
    return torch.cdist(codes, codes, compute_mode="donot_use_mm_for_euclid_dist")


def _alibi(queries: int, keys: int, position: int) -> Float[Tensor, "query key"]:
    """The bias of the first of four heads."""
    query, key = torch.zeros(1, 4, queries, 1), torch.zeros(1, 4, keys, 1)
    return AlibiPositions(4)(query, key, position)[0, 0]


def vectors(kind: str, length: int, seed: int) -> Float[Tensor, "{length} width"]:
    """The codes of a sentence's positions; learned ones before any training."""
    torch.manual_seed(seed)
    encoding = resolve("positions", kind).of(PositionSizes(DIM, 1, DIM, TABLE))
    if isinstance(encoding, FractionPositions):
        return encoding(0, length, torch.tensor([length]))[0]
    return encoding(0, length).detach()


def largest(kind: str) -> float | None:
    """The largest value far out; None where the encoding ends before."""
    if kind in ("learned", "binary"):
        return None
    if kind == "none":
        return 0.0
    if kind == "alibi":
        return float(_alibi(1, FAR + 1, FAR).abs().max())
    if kind == "rotary":
        return 1.0  # a turn keeps the length of what it turns
    return float(vectors(kind, FAR + 1, 0).abs().max())


def wishes(kind: str) -> Wishes:
    """Measures one encoding."""
    short, long = between(kind, SHORT, 1), between(kind, LONG, 1)
    spreads = []
    for step in range(1, SHORT // 2):
        distances = torch.cat((short.diagonal(step), long.diagonal(step)))
        average = float(distances.mean())
        spreads.append(float(distances.std()) / average if average else 0.0)
    apart = long + torch.eye(LONG) * 1e9
    repeats = torch.equal(long, between(kind, LONG, 1 if kind != "learned" else 2))
    return Wishes(float(apart.min()), mean(spreads), largest(kind), repeats)


def run(setting: Setting) -> Findings:
    """Measures every encoding, and trains translators to test on longer sentences."""
    usual = world.read(setting.cache, "test")[:2]
    longer = world.read(setting.cache, "longer")[:2]
    measured = {kind: wishes(kind) for kind in KINDS}
    losses: dict[str, tuple[float, float]] = {}
    bleu: dict[str, float] = {}
    for kind in KINDS:
        setting.say(f"training: {NAMES[kind].en}")
        small = Small({"positions": kind, "max_length": TABLE}, steps=180)
        runs = [train(small, seed, setting.cache, setting.full) for seed in setting.seeds]
        losses[kind] = (
            mean([each.loss_on(*usual) for each in runs]),
            mean([each.loss_on(*longer) for each in runs]),
        )
        bleu[kind] = mean([each.bleu(longer[0][:50], longer[1][:50]) for each in runs])
    return report(measured, losses, bleu)


def report(
    measured: dict[str, Wishes], losses: dict[str, tuple[float, float]], bleu: dict[str, float]
) -> Findings:
    """The requirements that each encoding meets, and its loss on longer sentences."""
    encodings = [kind for kind in KINDS if kind != "none"]
    cost = {kind: losses[kind][1] - losses[kind][0] for kind in KINDS}
    all_four = [kind for kind in encodings if all(measured[kind].granted)]
    others = [kind for kind in encodings if kind not in all_four]
    gap = (
        mean([losses[kind][1] for kind in others]) - mean([losses[kind][1] for kind in all_four])
        if all_four and others
        else 0.0
    )
    best = min(encodings, key=lambda kind: losses[kind][1])
    return Findings(
        columns=(
            Column(Text("encoding", "인코딩")),
            Column(Text("unique", "위치마다 고유")),
            Column(Text("consistent", "거리 일정")),
            Column(Text("bounded, longer", "더 긴 문장에서도 유한")),
            Column(Text("deterministic", "결정적")),
            Column(Text("drift of distances", "거리의 편차"), ".2f"),
            Column(Text("loss, usual lengths", "손실, 보통 길이"), ".2f"),
            Column(Text("loss, longer", "손실, 더 긴 문장"), ".2f"),
            Column(Text("BLEU, longer", "BLEU, 더 긴 문장"), ".1f"),
        ),
        rows=[_row(kind, measured[kind], losses[kind], bleu[kind]) for kind in KINDS],
        figures={
            kind: {
                **vars(measured[kind]),
                "loss_usual": losses[kind][0],
                "loss_longer": losses[kind][1],
                "bleu_longer": bleu[kind],
            }
            for kind in KINDS
        },
        conditions=(
            Condition(Text("gap", "차이"), [gap], 0.0),
            Condition(Text("best", "가장 나음"), [float(best in all_four)], 0.5),
        ),
        sentence=_sentence(all_four, gap, best, losses, cost),
        panels=(
            Bars(
                Text("Sentences longer than any in training", "학습에 없던 긴 문장"),
                Text("loss in nats per token; lower is better", "손실(토큰당 nat), 낮을수록 좋음"),
                [(NAMES[kind], losses[kind][1]) for kind in KINDS],
            ),
            Bars(
                Text("Sentences of usual length", "보통 길이의 문장"),
                Text("loss in nats per token; lower is better", "손실(토큰당 nat), 낮을수록 좋음"),
                [(NAMES[kind], losses[kind][0]) for kind in KINDS],
            ),
        ),
    )


def _row(kind: str, wished: Wishes, loss: tuple[float, float], bleu: float) -> list[TableCell]:
    yes, no = Text("yes", "예"), Text("no", "아니요")
    granted = [yes if each else no for each in wished.granted]
    return [NAMES[kind], *granted, wished.drift, *loss, bleu]


def _sentence(
    all_four: list[str],
    gap: float,
    best: str,
    losses: dict[str, tuple[float, float]],
    cost: dict[str, float],
) -> Text:
    failed = [kind for kind in KINDS if cost[kind] > WORSE]
    english = [", ".join(NAMES[kind].en for kind in each) or "none" for each in (all_four, failed)]
    korean = [", ".join(NAMES[kind].ko for kind in each) or "없음" for each in (all_four, failed)]
    return Text(
        f"These meet all four requirements: {english[0]}. On longer sentences the loss of the "
        f"other encodings is {abs(gap):.2f} nats per token {'higher' if gap >= 0 else 'lower'}; "
        f"the best is {NAMES[best].en} ({losses[best][1]:.2f}). On longer sentences the loss rises "
        f"by more than {WORSE:g} nat for: {english[1]}.",
        f"네 조건을 모두 만족하는 인코딩: {korean[0]}. 더 긴 문장에서 나머지 인코딩의 손실은 "
        f"이들보다 토큰당 {abs(gap):.2f} nat {'높' if gap >= 0 else '낮'}습니다. 손실이 가장 작은 "
        f"인코딩: {NAMES[best].ko}, {losses[best][1]:.2f} nat. 문장이 길어지면 손실이 {WORSE:g} "
        f"nat 넘게 늘어나는 인코딩: {korean[1]}.",
    )
