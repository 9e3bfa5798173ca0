"""Layer normalisation: without, after the residual (post), and before each part (pre).

The notes have LayerNorm(x + F(x)), which is post-norm, as in the paper. Later models normalise
what each part reads, x + F(LayerNorm(x)), which is pre-norm. Tried: training, the steps it takes,
and the gradient of each of many layers before training.

Source: Ba et al. 2016; Vaswani et al. 2017, section 3.1; Xiong et al. 2020; lectures 000, 001.
"""

from jumok.lab.contest import COLUMNS, contest
from jumok.lab.depth import (
    DEEP,
    WithoutNorm,
    after_every_part,
    fall,
    gradient_by_layer,
    gradient_chart,
)
from jumok.lab.findings import Column, Findings, Setting, judged
from jumok.lab.small import Small, first_batch
from jumok.lab.text import Text

LAYERS = 3
GOAL = 1.0  # nats a token: how many steps to this training loss
BETTER = 0.02  # the claim: a norm lowers the loss by more than this share

NAMES = {
    "pre": Text("pre-norm", "앞 정규화(pre-norm)"),
    "post": Text("post-norm (the notes)", "뒤 정규화(post-norm, 강의)"),
    "none": Text("no norm", "정규화 없음"),
}


def run(setting: Setting) -> Findings:
    """Trains the three, and looks at their gradients before training."""

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
    loss = {name: found.loss(name) for name in NAMES}
    steps = {name: found.runs[name][0].steps_to(GOAL) for name in NAMES}
    best = min(("pre", "post"), key=lambda name: loss[name])
    gain = 1.0 - loss[best] / loss["none"]
    falls = {name: fall(gradient) for name, gradient in gradients.items()}
    never = Text("never", "닿지 못함")
    told = ", ".join(f"{NAMES[name].en} {steps[name] or never.en}" for name in NAMES)
    told_ko = ", ".join(f"{NAMES[name].ko} {steps[name] or never.ko}" for name in NAMES)
    return Findings(
        columns=(
            Column(Text("model", "모형")),
            *COLUMNS,
            Column(Text(f"steps to a loss of {GOAL:g}", f"손실 {GOAL:g}까지의 단계")),
            Column(Text("gradient, first layer / last", "기울기, 첫 층 / 끝 층"), ".3f"),
        ),
        rows=[
            [NAMES[name], *found.row(name), str(steps[name] or "-"), falls[name]] for name in NAMES
        ],
        figures={**found.figures(), "gradients": gradients, "steps_to_goal": steps, "gain": gain},
        outcome=judged(gain > BETTER),
        sentence=Text(
            f"The better norm ({NAMES[best].en}) changes the loss of no norm by {-gain:+.0%} "
            f"({loss[best]:.3f} against {loss['none']:.3f}); pre-norm {loss['pre']:.3f}, post-norm "
            f"{loss['post']:.3f}. Steps to a training loss of {GOAL:g}: {told}.",
            f"더 나은 정규화({NAMES[best].ko})는 정규화가 없을 때의 손실을 {-gain:+.0%} 바꾼다"
            f"({loss[best]:.3f} 대 {loss['none']:.3f}). pre-norm {loss['pre']:.3f}, post-norm "
            f"{loss['post']:.3f}. 훈련 손실 {GOAL:g}까지의 단계: {told_ko}.",
        ),
        panels=(
            found.curves(Text(f"Training, {LAYERS}+{LAYERS} layers", f"훈련, {LAYERS}+{LAYERS}층")),
            gradient_chart(NAMES, gradients),
        ),
    )
