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
from jumok.lab.findings import Bars, Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, differences, half_width, mean, with_interval
from jumok.lab.puzzle import Puzzle, Question, Solved, Trial, curve, solve
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer

SYMBOLS, HOPS, DEEP = 6, 2, 2
FIRST = END + 1  # the tokens of the symbols, then of the arrows, then of the questions
ARROWS = FIRST + SYMBOLS
ASKED = ARROWS + SYMBOLS**2
STEPS = 500
KNOWN, MORE = 0.9, 0.0  # the claim: right answers where there is a look an arrow; gain of a second

NAMES = {
    "one": Text("1 layer", "1층"),
    "own": Text("2 layers, own weights", "2층, 층마다 다른 가중치"),
    "shared": Text("2 layers, shared weights", "2층, 가중치 공유"),
}


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
        (Text(f"{NAMES[name].en}, {hop} arrow(s)", f"{NAMES[name].ko}, 화살표 {hop}개"), values)
        for name in NAMES
        for hop, values in enumerate(right[name], start=1)
    ]
    return Findings(
        columns=(
            Column(Text("encoder", "인코더")),
            Column(Text("parameters", "매개변수"), ",d"),
            Column(Text("right, one arrow", "정답률, 화살표 1개"), ".0%"),
            Column(Text("± (95 %)", "± (95%)"), ".0%"),
            Column(Text("right, two arrows", "정답률, 화살표 2개"), ".0%"),
            Column(Text("± (95 %)", "± (95%)"), ".0%"),
        ),
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
        conditions=_conditions(right, deeper),
        sentence=_sentence(right, deeper, twice),
        panels=(
            Bars(
                Text("Where does the path end?", "길은 어디에서 끝나는가?"),
                Text(
                    f"right answers (chance: {1 / SYMBOLS:.2f})",
                    f"정답률 (우연: {1 / SYMBOLS:.2f})",
                ),
                [(name, mean(values)) for name, values in bars],
                spread=[half_width(values) or 0.0 for _, values in bars],
            ),
            Chart(
                Text("Training, first seed", "학습, 첫 시드"),
                Text("training step", "학습 단계"),
                Text("training loss (nats per answer)", "학습 손실 (답마다 nat)"),
                [Series(NAMES[name], curve(solved[name][0].losses)) for name in NAMES],
                least=0.0,
            ),
        ),
    )


def _conditions(right: dict[str, list[list[float]]], deeper: list[float]) -> tuple[Condition, ...]:
    return (
        Condition(
            Text("one layer, one arrow: right", "한 층, 화살표 하나: 정답률"),
            right["one"][0],
            KNOWN,
            form=".0%",
        ),
        *(
            Condition(
                Text(
                    f"{NAMES[name].en}, two arrows: right",
                    f"{NAMES[name].ko}, 화살표 두 개: 정답률",
                ),
                right[name][1],
                KNOWN,
                form=".0%",
            )
            for name in ("own", "shared")
        ),
        Condition(
            Text("two arrows: gain of a second layer", "화살표 두 개: 둘째 층의 이득"),
            deeper,
            MORE,
            form=".0%",
        ),
    )


def _sentence(right: dict[str, list[list[float]]], deeper: list[float], twice: list[float]) -> Text:
    one, two = (with_interval(each, ".0%") for each in right["one"])
    more, again = with_interval(deeper, ".0%"), with_interval(twice, ".0%")
    return Text(
        f"One layer is right on {one} of the questions with one arrow and on {two} of those with "
        f"two (chance: {1 / SYMBOLS:.0%}). On two arrows a second layer with its own weights adds "
        f"{more}, and the first layer applied twice adds {again}: what is needed is a second look, "
        "and it may be the same layer's.",
        f"한 층은 화살표 하나짜리 질문의 {one}, 두 개짜리 질문의 {two}를 맞힙니다(우연: "
        f"{1 / SYMBOLS:.0%}). 화살표가 두 개일 때 가중치가 따로 있는 둘째 층은 정답률을 {more} "
        f"높이고, 첫 층을 두 번 적용하면 {again} 높아집니다. 필요한 것은 두 번째 어텐션이며, "
        "같은 층을 다시 써도 됩니다.",
    )
