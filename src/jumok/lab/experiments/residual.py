"""Residual connections: H(x) = x + F(x).

The input of a part is handed past it and added to what it made. The notes say that such a model
has only the residual to learn and so converges faster. Tried: training with and without, and the
gradient that reaches the first of many layers.

Source: He et al. 2016; lectures 000, 001.
"""

from jumok.lab.contest import COLUMNS, contest
from jumok.lab.depth import (
    DEEP,
    WithoutResidual,
    after_every_part,
    fall,
    gradient_by_layer,
    gradient_chart,
)
from jumok.lab.findings import Column, Findings, Setting, judged
from jumok.lab.small import Small, first_batch
from jumok.lab.text import Text

LAYERS = 3
FASTER = 0.75  # the claim: with it, a loss is reached in less than this share of the steps

NAMES = {
    "with": Text("with residual connections", "잔차 연결 있음"),
    "without": Text("without", "잔차 연결 없음"),
}


def run(setting: Setting) -> Findings:
    """Trains both, and measures their gradients before training."""
    changes = {"with": None, "without": after_every_part(WithoutResidual)}
    sizes = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    found = contest({name: Small(sizes, changes[name]) for name in NAMES}, NAMES, setting)
    gradients = {}
    for name in NAMES:
        deep = Small({"encoder_layers": DEEP}, changes[name])
        gradients[name] = gradient_by_layer(*first_batch(deep, setting.seed, setting.cache))
    reached = found.runs["without"][0].curve()[-1][1]
    steps, all_steps = (
        found.runs["with"][0].steps_to(reached),
        len(found.runs["without"][0].losses),
    )
    share = steps / all_steps if steps is not None else 1.0
    falls = {name: fall(gradient) for name, gradient in gradients.items()}
    better = found.loss("with") < found.loss("without")
    reached_ko = (
        f"{steps}단계 만에 도달합니다" if steps else f"{all_steps}단계 안에 도달하지 못합니다"
    )
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            *COLUMNS,
            Column(Text("gradient, first layer / last", "기울기, 첫 층 / 마지막 층"), ".3f"),
        ),
        rows=[[NAMES[name], *found.row(name), falls[name]] for name in NAMES],
        figures={**found.figures(), "gradients": gradients, "share_of_steps": share},
        outcome=judged(share < FASTER and better, in_part=better),
        sentence=Text(
            f"With residual connections the model needs {steps or 'more than ' + str(all_steps)} "
            f"steps to reach the loss ({reached:.2f}) that training without them reaches in "
            f"{all_steps}; the final loss on unseen sentences is {found.loss('with'):.3f} against "
            f"{found.loss('without'):.3f}. In {DEEP} layers the gradient of the first is "
            f"{falls['with']:.2f} times that of the last with residual connections, and "
            f"{falls['without']:.2g} times without.",
            f"잔차 연결이 없는 모델이 {all_steps}단계에 걸쳐 도달한 손실({reached:.2f})에, 잔차 "
            f"연결이 있는 모델은 {reached_ko}. 처음 보는 문장에서 마지막 손실은 "
            f"{found.loss('with'):.3f} 대 {found.loss('without'):.3f}입니다. "
            f"{DEEP}층 모델에서 첫 층의 기울기는 잔차 연결이 있으면 마지막 층의 "
            f"{falls['with']:.2f}배, 없으면 {falls['without']:.2g}배입니다.",
        ),
        panels=(
            found.curves(Text(f"Training, {LAYERS}+{LAYERS} layers", f"학습, {LAYERS}+{LAYERS}층")),
            gradient_chart(NAMES, gradients),
        ),
    )
