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

from jumok.data.tokenizer import END
from jumok.models.encoder_decoder import Transformer
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.fitting import curve
from jumok_lectures.judging import cells, differences
from jumok_lectures.puzzle import Puzzle, Question, tried
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
    steps = STEPS * (2 if setting.full else 1)
    puzzles = {
        name: Puzzle(
            follow,
            ASKED + SYMBOLS * HOPS,
            {"encoder_layers": 1 if name == "one" else DEEP, "decoder_layers": 1},
            share if name == "shared" else None,
            steps,
        )
        for name in NAMES
    }
    solved = tried(puzzles, [partial(follow, hops=hops) for hops in range(1, HOPS + 1)], setting)
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
    return T.findings(
        rows=[
            [NAMES[name], solved[name][0].parameters, *cells(one), *cells(two)]
            for name, (one, two) in right.items()
        ],
        figures={"right": right, "second_layer": deeper, "second_pass": twice},
        conditions=[
            T.condition("one_layer_one_arrow", right["one"][0]),
            *(
                T.condition("name_two_arrows_right", right[name][1], name=NAMES[name])
                for name in ("own", "shared")
            ),
            T.condition("two_arrows_gain_of", deeper),
        ],
        panels=[
            T.bars(bars, x=T("bars_x", symbols=1 / SYMBOLS)),
            T.chart(
                [Series(NAMES[name], curve(solved[name][0].losses)) for name in NAMES], least=0.0
            ),
        ],
        right=right,
        symbols=1 / SYMBOLS,
        more=deeper,
        again=twice,
    )
