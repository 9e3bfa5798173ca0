"""Residual connections: H(x) = x + F(x).

The input of a part is handed past it and added to what it made. The notes say that such a model
has only the residual to learn and so converges faster. Tried: training with and without, and the
gradient that reaches the first of many layers.

Source: He et al. 2016; lectures 000, 001.
"""

from jumok.lab.contest import COLUMNS, Contest, contest
from jumok.lab.depth import (
    DEEP,
    WithoutResidual,
    after_every_part,
    fall,
    gradient_by_layer,
    gradient_chart,
)
from jumok.lab.findings import Column, Findings, Setting
from jumok.lab.judging import Condition, mean, relative_gains, with_interval
from jumok.lab.small import Small, Trained, first_batch
from jumok.lab.text import Text

LAYERS = 3
BETTER = 0.05  # and ends at a loss that is lower by more than this share
FASTER = 0.75  # the claim: with it, a loss is reached in less than this share of the steps

NAMES = {
    "with": Text("with residual connections", "잔차 연결 있음"),
    "without": Text("without", "잔차 연결 없음"),
}


def share_of_steps(model: Trained, without: Trained) -> float:
    """The steps to the loss at which `without` ends, as a share of all; 1 where it stays above."""
    steps = model.steps_to(without.curve()[-1][1])
    return 1.0 if steps is None else steps / len(without.losses)


def run(setting: Setting) -> Findings:
    """Trains both, and measures their gradients before training."""
    changes = {"with": None, "without": after_every_part(WithoutResidual)}
    sizes = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    found = contest({name: Small(sizes, changes[name]) for name in NAMES}, NAMES, setting)
    gradients = {}
    for name in NAMES:
        deep = Small({"encoder_layers": DEEP}, changes[name])
        gradients[name] = gradient_by_layer(*first_batch(deep, setting.seed, setting.cache))
    shares = [
        share_of_steps(*both)
        for both in zip(found.runs["with"], found.runs["without"], strict=True)
    ]
    gains = relative_gains(found.losses("without"), found.losses("with"))
    falls = {name: fall(gradient) for name, gradient in gradients.items()}
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            *COLUMNS,
            Column(Text("gradient, first layer / last", "기울기, 첫 층 / 마지막 층"), ".3f"),
        ),
        rows=[[NAMES[name], *found.row(name), falls[name]] for name in NAMES],
        figures={
            **found.figures(),
            "gradients": gradients,
            "share_of_steps": shares,
            "gain": gains,
        },
        conditions=_conditions(shares, gains),
        sentence=_sentence(found, shares, gains, falls),
        panels=(
            found.curves(Text(f"Training, {LAYERS}+{LAYERS} layers", f"학습, {LAYERS}+{LAYERS}층")),
            gradient_chart(NAMES, gradients),
        ),
    )


def _conditions(shares: list[float], gains: list[float]) -> tuple[Condition, ...]:
    return (
        Condition(
            Text("steps that it needs, as a share", "필요한 단계의 비율"),
            shares,
            FASTER,
            above=False,
            form=".0%",
        ),
        Condition(
            Text("final loss is lower by", "마지막 손실이 낮은 정도"),
            gains,
            BETTER,
            form=".0%",
        ),
    )


def _sentence(
    found: Contest, shares: list[float], gains: list[float], falls: dict[str, float]
) -> Text:
    needed, gained = with_interval(shares, ".0%"), with_interval(gains, ".0%")
    return Text(
        f"With residual connections the model needs {needed} of the steps to reach the loss "
        "at which training without them ends; its final loss on unseen sentences is "
        f"{gained} lower ({mean(found.losses('with')):.3f} against "
        f"{mean(found.losses('without')):.3f}). Without them a decoder's word does not reach "
        "the next layer on its own either, so this model is cut and not only slower. In "
        f"{DEEP} untrained layers the gradient of the first is {falls['with']:.2f} times "
        f"that of the last with residual connections and {falls['without']:.2g} times "
        "without: at this depth the gradient does not vanish.",
        "잔차 연결이 있으면, 잔차 연결이 없는 모델의 마지막 손실에 이르는 데 "
        f"단계의 {needed}만 필요합니다. 처음 보는 문장에서 마지막 손실은 {gained} "
        f"낮습니다({mean(found.losses('with')):.3f} 대 {mean(found.losses('without')):.3f}). "
        "잔차 연결이 없으면 디코더의 단어가 다음 층에 스스로 전달되지도 않으므로, "
        f"느려질 뿐 아니라 끊어진 모델입니다. 학습 전 {DEEP}층 모델에서 첫 층의 기울기는 "
        f"마지막 층의 {falls['with']:.2f}배(잔차 연결 있음), {falls['without']:.2g}배"
        "(없음)입니다. 이 깊이에서는 기울기가 사라지지 않습니다.",
    )
