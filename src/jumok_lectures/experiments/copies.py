"""The same structure, but not the same weights: what does depth buy?

Encoder layers are alike in structure and each has its own weights. That is a definition, so the lab
asks what it is good for, on a task that needs layers: eight arrows lead from symbol to symbol, and
the question names a symbol and how many arrows to follow. One look finds where an arrow leads; to
follow it further, a second look has to start from what the first one found. So a layer is needed
for the second arrow; whether it has weights of its own is another matter, and is tried.

Source: lecture 001; sharing: Dehghani et al. 2019, Universal Transformers; Lan et al. 2020, ALBERT.
"""

from functools import partial
from random import Random

import torch

from jumok.data.tokenizer import END
from jumok.models.encoder_decoder import Transformer
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import differences, half_width, mean, with_interval
from jumok_lectures.puzzle import Puzzle, Question, Solved, Trial, curve, solve
from jumok_lectures.texts import Texts

T = Texts("copies")

SYMBOLS, HOPS, DEEP = 6, 2, 2
FIRST = END + 1  # the tokens of the symbols, then of the arrows, then of the questions
ARROWS = FIRST + SYMBOLS
ASKED = ARROWS + SYMBOLS**2
STEPS = 500

NAMES = T.named("names")


def share(model: Transformer) -> None:
    """Every layer of the encoder becomes the first one."""
    blocks = model.encoder.blocks
    for layer in range(1, len(blocks)):
        blocks[layer] = blocks[0]


def likeness(model: Transformer) -> float:
    """The mean cosine between the weights of different layers, matrix by matrix: 1 is equal."""
    layers = [
        [parameter.detach().flatten() for parameter in block.parameters() if parameter.ndim == 2]
        for block in model.encoder.blocks
    ]
    cosines = [
        float(torch.cosine_similarity(one, other, dim=0))
        for place, layer in enumerate(layers)
        for later in layers[place + 1 :]
        for one, other in zip(layer, later, strict=True)
    ]
    return sum(cosines) / len(cosines)


def follow(random: Random, hops: int | None = None) -> Question:
    """A question, the arrows of all symbols in any order, and where the path ends.

    Args:
        hops: arrows to follow; None: one of them, by chance.
    """
    leads = random.sample(range(SYMBOLS), SYMBOLS)
    hops = hops or random.randint(1, HOPS)
    start = random.randrange(SYMBOLS)
    end = start
    for _ in range(hops):
        end = leads[end]
    arrows = [ARROWS + SYMBOLS * here + there for here, there in enumerate(leads)]
    random.shuffle(arrows)
    return [ASKED + SYMBOLS * (hops - 1) + start, *arrows], FIRST + end


def run(setting: Setting) -> Findings:
    """One layer, two with weights of their own, and one layer applied twice."""
    vocabulary = ASKED + SYMBOLS * HOPS
    steps = STEPS * (2 if setting.full else 1)
    puzzles = {
        name: Puzzle(
            follow,
            vocabulary,
            {"encoder_layers": 1 if name == "one" else DEEP, "decoder_layers": 1},
            share if name == "shared" else None,
            steps,
        )
        for name in NAMES
    }
    tests = tuple(partial(follow, hops=hops) for hops in range(1, HOPS + 1))
    trials = [Trial(puzzles[name], seed, tests) for name in NAMES for seed in setting.seeds]
    setting.say(f"training: {len(trials)} encoders")
    made, many = setting.workers.map(solve, trials), len(setting.seeds)
    return report(
        {name: made[many * place : many * (place + 1)] for place, name in enumerate(NAMES)}
    )


def report(solved: dict[str, list[Solved]]) -> Findings:
    """The share of right answers by layers and arrows."""
    right = {
        name: [[run.accuracy[hop] for run in runs] for hop in range(HOPS)]
        for name, runs in solved.items()
    }
    deeper = differences(right["own"][1], right["one"][1])
    twice = differences(right["shared"][1], right["one"][1])
    bars = [
        (T("name_hop_arrow_s", name=NAMES[name], hop=hop), values)
        for name in NAMES
        for hop, values in enumerate(right[name], start=1)
    ]
    one, two = (with_interval(each, ".0%") for each in right["one"])
    more, again = with_interval(deeper, ".0%"), with_interval(twice, ".0%")
    return Findings(
        columns=T.columns,
        rows=[
            [
                NAMES[name],
                solved[name][0].parameters,
                mean(right[name][0]),
                half_width(right[name][0]),
                mean(right[name][1]),
                half_width(right[name][1]),
            ]
            for name in NAMES
        ],
        figures={"right": right, "second_layer": deeper, "second_pass": twice},
        conditions=(
            T.condition("one_layer_one_arrow", right["one"][0]),
            *(
                T.condition("name_two_arrows_right", right[name][1], name=NAMES[name])
                for name in ("own", "shared")
            ),
            T.condition("two_arrows_gain_of", deeper),
        ),
        sentence=T("sentence", one=one, two=two, symbols=1 / SYMBOLS, more=more, again=again),
        panels=(
            T.bars(bars, x=T("bars_x", symbols=1 / SYMBOLS)),
            T.chart(
                [Series(NAMES[name], curve(solved[name][0].losses)) for name in NAMES], least=0.0
            ),
        ),
    )
