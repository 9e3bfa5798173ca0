"""Layer normalization: without, after the residual (post), and before each part (pre).

The notes have LayerNorm(x + F(x)), which is post-norm, as in the paper. Later models normalise
what each part reads, x + F(LayerNorm(x)), which is pre-norm. Tried: training, the steps it takes,
and the gradient of each of many layers before training.

Source: Ba et al. 2016; Vaswani et al. 2017, section 3.1; Xiong et al. 2020; lectures 000, 001.
"""

from jumok.lab.contest import COLUMNS, Contest, contest
from jumok.lab.depth import (
    DEEP,
    WithoutNorm,
    after_every_part,
    fall,
    gradient_by_layer,
    gradient_chart,
)
from jumok.lab.findings import Column, Findings, Setting
from jumok.lab.judging import Condition
from jumok.lab.small import Small, first_batch
from jumok.lab.text import Text

LAYERS = 3
GOAL = 1.0  # nats a token: how many steps to this training loss
BETTER = 0.02  # the claim: each norm lowers the loss of no norm by more than this share
NORMS = ("pre", "post")

NAMES = {
    "pre": Text("pre-norm", "pre-norm"),
    "post": Text("post-norm (the notes)", "post-norm (강의)"),
    "none": Text("no norm", "정규화 없음"),
}


def run(setting: Setting) -> Findings:
    """Trains the three, and measures their gradients before training."""

    def small(name: str, sizes: dict[str, object]) -> Small:
        change = after_every_part(WithoutNorm) if name == "none" else None
        return Small({**sizes, "norm": "post" if name == "post" else "pre"}, change)

    sizes: dict[str, object] = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    found = contest({name: small(name, sizes) for name in NAMES}, NAMES, setting)
    gradients = {
        name: gradient_by_layer(
            *first_batch(small(name, {"encoder_layers": DEEP}), setting.seed, setting.cache)
        )
        for name in NAMES
    }
    return report(found, gradients)


def report(found: Contest, gradients: dict[str, list[float]]) -> Findings:
    """What each norm makes of the loss of no norm, and of the gradient's way."""
    loss = {name: found.loss(name) for name in NAMES}
    steps = {name: found.runs[name][0].steps_to(GOAL) for name in NAMES}
    gains = {name: 1.0 - loss[name] / loss["none"] for name in NORMS}
    [gain > BETTER for gain in gains.values()]
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            *COLUMNS,
            Column(Text(f"steps to a loss of {GOAL:g}", f"손실 {GOAL:g}까지의 단계 수")),
            Column(Text("gradient, first layer / last", "기울기, 첫 층 / 마지막 층"), ".3f"),
        ),
        rows=[
            [NAMES[name], *found.row(name), str(steps[name] or "-"), fall(gradients[name])]
            for name in NAMES
        ],
        figures={**found.figures(), "gradients": gradients, "steps_to_goal": steps, "gain": gains},
        conditions=[Condition(NAMES[name], [gains[name]], BETTER) for name in NORMS],
        sentence=_sentence(loss, gains, steps),
        panels=(
            found.curves(Text(f"Training, {LAYERS}+{LAYERS} layers", f"학습, {LAYERS}+{LAYERS}층")),
            gradient_chart(NAMES, gradients),
        ),
    )


def _sentence(
    loss: dict[str, float], gains: dict[str, float], steps: dict[str, int | None]
) -> Text:
    never = Text("never", "이르지 못함")
    told = ", ".join(f"{NAMES[name].en} {steps[name] or never.en}" for name in NAMES)
    told_ko = ", ".join(f"{NAMES[name].ko} {steps[name] or never.ko}" for name in NAMES)
    pre, post = _change(gains["pre"], "the loss"), _change(gains["post"], "it")
    return Text(
        f"Pre-norm {pre.en} ({loss['pre']:.3f} against {loss['none']:.3f} without a norm); "
        f"post-norm, as in the notes, {post.en} ({loss['post']:.3f}). Steps to a training "
        f"loss of {GOAL:g}: {told}.",
        f"정규화가 없으면 손실은 {loss['none']:.3f}입니다. pre-norm을 쓰면 {pre.ko}"
        f"({loss['pre']:.3f}). 강의에 나온 post-norm을 쓰면 {post.ko}({loss['post']:.3f}). "
        f"학습 손실이 {GOAL:g}에 이를 때까지의 단계 수: {told_ko}.",
    )


def _change(gain: float, loss: str) -> Text:
    """What a norm does to the loss, which the sentence calls by this name in English."""
    share = f"{abs(gain):.0%}"
    if share == "0%":
        return Text(f"leaves {loss} as it is", "그대로입니다")
    if gain > 0.0:
        return Text(f"lowers {loss} by {share}", f"{share} 낮아집니다")
    return Text(f"raises {loss} by {share}", f"{share} 높아집니다")
