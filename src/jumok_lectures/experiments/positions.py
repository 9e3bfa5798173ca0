"""What an encoding of positions should be, and which encodings are.

Four wishes (lectures 002, 004): every position has its own code; the distance between two
positions is the same in sentences of every length; values stay bounded, so that longer sentences
work; and nothing is left to chance. Tried: each wish, measured on the encodings; and a task
that cannot be done without positions. A question names a number k, a line of letters follows, and
the answer is the k-th of them. Trained on lines of 4 to 8 letters, an encoder with each encoding is
asked for the k-th of lines as long, and of lines twice as long, with the same k: a code that is
consistent means the same place there. Each encoding is judged against none.

Rotary and ALiBi give no vectors; for them the score between two positions takes the place of the
distance between two codes.

Source: Vaswani et al. 2017, section 3.5; Press et al. 2022 (longer); lectures 001, 002, 004.
"""

from dataclasses import dataclass
from functools import partial
from random import Random

import torch

from jumok.data.tokenizer import END
from jumok.parts import builder_of
from jumok.positions.alibi import AlibiPositions
from jumok.positions.index import FractionPositions
from jumok.positions.interfaces import PositionSizes
from jumok.positions.rotary import RotaryPositions
from jumok.shapes import Float, Tensor
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import cells, differences, mean
from jumok_lectures.puzzle import Puzzle, Question, Solved, tried
from jumok_lectures.text import Text, joined
from jumok_lectures.texts import Texts

T = Texts("positions")

DIM, TABLE = 64, 128  # the table of learned and binary positions; sentences here have fewer
SHORT, LONG, FAR = 16, 48, 1000
EQUAL, BOUND = 0.01, 2.0
LETTERS, USUAL, LONGER = 12, (4, 8), (9, 16)
FIRST = END + 1  # the tokens of the letters, then of the numbers
STEPS = 250
KINDS = ("index", "fraction", "binary", "sinusoidal", "learned", "rotary", "alibi", "none")
NAMES = T.named("names")


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
    encoding = builder_of("positions", kind).of(PositionSizes(DIM, 1, DIM, TABLE))
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


def kth(random: Random, lengths: tuple[int, int] = USUAL) -> Question:
    """A number k, and letters, of which the k-th is the answer; k is at most the usual length."""
    line = [FIRST + random.randrange(LETTERS) for _ in range(random.randint(*lengths))]
    asked = random.randrange(min(len(line), USUAL[1]))
    return [FIRST + LETTERS + asked, *line], line[asked]


def run(setting: Setting) -> Findings:
    """Measures every encoding, and trains an encoder with each to find the k-th letter."""
    measured = {kind: wishes(kind) for kind in KINDS}
    steps = STEPS * (2 if setting.full else 1)
    puzzles = {
        kind: Puzzle(
            kth,
            FIRST + LETTERS + USUAL[1],
            {"positions": kind, "max_length": TABLE, "decoder_layers": 1},
            steps=steps,
        )
        for kind in KINDS
    }
    tests = [partial(kth, lengths=USUAL), partial(kth, lengths=LONGER)]
    return report(measured, tried(puzzles, tests, setting))


def report(measured: dict[str, Wishes], solved: dict[str, list[Solved]]) -> Findings:
    """The requirements that each encoding meets, and its right answers."""
    usual, longer = (
        {kind: [run.accuracy[test] for run in solved[kind]] for kind in KINDS} for test in (0, 1)
    )
    all_four = [kind for kind in KINDS if kind != "none" and all(measured[kind].granted)]
    others = [kind for kind in KINDS if kind != "none" and kind not in all_four]
    yes, no = T("yes"), T("no")

    def told(kinds: list[str]) -> Text:
        return joined(
            T("right", kind=NAMES[kind], usual=usual[kind], longer=longer[kind]) for kind in kinds
        )

    return T.findings(
        rows=[
            [
                NAMES[kind],
                *(yes if granted else no for granted in measured[kind].granted),
                measured[kind].drift,
                *cells(usual[kind]),
                *cells(longer[kind]),
            ]
            for kind in KINDS
        ],
        figures={
            kind: {**vars(measured[kind]), "usual": usual[kind], "longer": longer[kind]}
            for kind in KINDS
        },
        conditions=[
            *(
                T.condition(
                    "kind_where_more_right",
                    differences(right[kind], right["none"]),
                    kind=NAMES[kind],
                    where=where,
                )
                for kind in all_four
                for where, right in ((T("usual_lengths"), usual), (T("longer"), longer))
            ),
            T.condition(
                "fraction_longer_more_right", differences(longer["fraction"], longer["none"])
            ),
        ],
        panels=[
            T.bars([(NAMES[kind], right[kind]) for kind in KINDS], title=title)
            for title, right in (
                (T("the_k_th_letter"), usual),
                (T("in_lines_longer_than"), longer),
            )
        ],
        most=USUAL[1],
        all_four=told(all_four) if all_four else T("no_encoding"),
        others=told(others),
        none_=T("pair", usual=usual["none"], longer=longer["none"]),
    )
