"""Why scores are divided by √d_k.

A query and a key with elements of variance 1 have a dot product of variance d_k. Softmax of such
scores puts nearly all its weight on one key as d_k grows, and the gradient through it vanishes.
Divided by √d_k the scores have variance 1 at every d_k.

The notes give another reason, that exp overflows (exp(710) is infinite in float64). So the
overflow is tried as well, with softmax as it is written and in the form that cannot overflow.

Source: Vaswani et al. 2017, section 3.2.1, footnote 4; lectures 000, 001, 002.
"""

import math
from dataclasses import dataclass

import torch

from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.text import Text
from jumok.shapes import Float, Tensor

KEYS, QUERIES = 32, 512
WIDTHS = (1, 4, 16, 64, 256, 1024, 4096)
FADED = 0.25  # the claim: at the widest, the gradient without is below this share of that with
STEADY = 0.25  # and with the division nothing moves by more than this between any two widths


@dataclass(frozen=True)
class Softness:
    """Statistics of softmax for given scores, as means over the queries.

    Attributes:
        spread: standard deviation of the scores.
        largest: the largest score of all.
        entropy: of the weights, in nats: ln n where all keys are alike, 0 where one takes all.
        gradient: how much the weights answer to the scores: the norm of the Jacobian.
    """

    spread: float
    largest: float
    entropy: float
    gradient: float


def softness(scores: Float[Tensor, "query key"]) -> Softness:
    """Measures one softmax per row; J = diag(a) - a a^T."""
    weights = scores.double().softmax(dim=-1)
    jacobian = torch.diag_embed(weights) - weights[:, :, None] * weights[:, None, :]
    return Softness(
        spread=float(scores.std()),
        largest=float(scores.max()),
        entropy=float(torch.special.entr(weights).sum(-1).mean()),
        gradient=float(jacobian.flatten(1).norm(dim=1).mean()),
    )


def softmax_as_written(scores: Float[Tensor, " key"]) -> Float[Tensor, " key"]:
    """exp(s_j) / sum of exp(s): infinity over infinity from a score of 710 on (float64)."""
    return scores.exp() / scores.exp().sum()


def softmax_stable(scores: Float[Tensor, " key"]) -> Float[Tensor, " key"]:
    """The same function: with the largest score subtracted no exponent is above 0."""
    return softmax_as_written(scores - scores.max())


def run(setting: Setting) -> Findings:
    """Random queries and keys of growing width, with and without the division."""
    runs = [measured(seed) for seed in setting.seeds]
    return report([plain for plain, _ in runs], [scaled for _, scaled in runs])


def measured(seed: int) -> tuple[list[Softness], list[Softness]]:
    """Each width, without the division and with it."""
    generator = torch.Generator().manual_seed(seed)
    plain, scaled = [], []
    for width in WIDTHS:
        query = torch.randn(QUERIES, width, generator=generator)
        key = torch.randn(KEYS, width, generator=generator)
        scores = query @ key.T
        plain.append(softness(scores))
        scaled.append(softness(scores / math.sqrt(width)))
    return plain, scaled


def overflow() -> dict[str, float | bool]:
    """exp at 709 and 710, and softmax of scores of which one is 710, in both forms."""
    scores = torch.tensor([710.0, 709.0, 0.0], dtype=torch.float64)
    return {
        "exp_709": math.exp(709.0),
        "exp_710_is_finite": bool(scores[0].exp().isfinite()),
        "as_written_is_finite": bool(softmax_as_written(scores).isfinite().all()),
        "stable_first_weight": float(softmax_stable(scores)[0]),  # 1 / (1 + 1/e) = 0.731
    }


def average(runs: list[list[Softness]]) -> list[Softness]:
    """The mean of the seeds, width by width; of the largest scores the largest."""
    return [
        Softness(
            mean([each.spread for each in same]),
            max(each.largest for each in same),
            mean([each.entropy for each in same]),
            mean([each.gradient for each in same]),
        )
        for same in zip(*runs, strict=True)
    ]


def report(every_plain: list[list[Softness]], every_scaled: list[list[Softness]]) -> Findings:
    """The claim in numbers: entropy and gradient without the division, and with it.

    Args:
        every_plain, every_scaled: of each seed, by width.
    """
    every_left = [
        plain[-1].gradient / scaled[-1].gradient
        for plain, scaled in zip(every_plain, every_scaled, strict=True)
    ]
    every_moved = [
        max(
            max(each) / min(each) - 1.0
            for each in ([one.entropy for one in scaled], [one.gradient for one in scaled])
        )
        for scaled in every_scaled
    ]
    plain, scaled = average(every_plain), average(every_scaled)
    left, moved = mean(every_left), mean(every_moved)
    return Findings(
        columns=(
            Column(Text("d_k", "d_k"), "d"),
            Column(Text("standard deviation of q·k", "q·k의 표준편차"), ".2f"),
            Column(Text("largest q·k", "가장 큰 q·k"), ".1f"),
            Column(Text("entropy, unscaled", "엔트로피, 나누지 않음"), ".3f"),
            Column(Text("entropy, / √d_k", "엔트로피, √d_k로 나눔"), ".3f"),
            Column(Text("gradient, unscaled", "기울기, 나누지 않음"), ".4f"),
            Column(Text("gradient, / √d_k", "기울기, √d_k로 나눔"), ".4f"),
        ),
        rows=[
            [width, a.spread, a.largest, a.entropy, b.entropy, a.gradient, b.gradient]
            for width, a, b in zip(WIDTHS, plain, scaled, strict=True)
        ],
        figures={
            "d_k": list(WIDTHS),
            "plain": [vars(each) for each in plain],
            "scaled": [vars(each) for each in scaled],
            "largest_possible_entropy": math.log(KEYS),
            "overflow": overflow(),
        },
        conditions=_conditions(every_left, every_moved),
        sentence=_sentence(plain, scaled, left, moved),
        panels=_panels(plain, scaled),
    )


def _conditions(left: list[float], moved: list[float]) -> tuple[Condition, ...]:
    return (
        Condition(
            Text(
                f"gradient at d_k = {WIDTHS[-1]}: without over with the division",
                f"d_k = {WIDTHS[-1]}에서의 기울기: 나누지 않음 / 나눔",
            ),
            left,
            FADED,
            above=False,
        ),
        Condition(
            Text(
                "largest change of entropy or gradient over d_k, divided",
                "나누었을 때 d_k에 따른 엔트로피와 기울기의 최대 변화",
            ),
            moved,
            STEADY,
            above=False,
        ),
    )


def _sentence(plain: list[Softness], scaled: list[Softness], left: float, moved: float) -> Text:
    over, largest = overflow(), plain[WIDTHS.index(1024)].largest
    return Text(
        f"At d_k = {WIDTHS[-1]} the gradient without the division is {left:.0%} of that with "
        f"it (entropy {plain[-1].entropy:.2f} against {scaled[-1].entropy:.2f} nats); with it, "
        f"entropy and gradient differ by at most {moved:.0%} over all d_k. Overflow is not the "
        f"reason: the largest score at d_k = 1024 is {largest:.0f}, far from 710, and softmax "
        f"minus the largest score gives {over['stable_first_weight']:.3f} where the formula as "
        "written gives NaN.",
        f"d_k = {WIDTHS[-1]}일 때 나누지 않으면 기울기가 나누었을 때의 {left:.0%}로 "
        f"줄어듭니다(엔트로피 {plain[-1].entropy:.2f} 대 {scaled[-1].entropy:.2f} nat). 나누면 "
        f"엔트로피와 기울기는 d_k에 따라 최대 {moved:.0%}만 다릅니다. 나누는 이유는 오버플로가 "
        f"아닙니다. d_k = 1024일 때 가장 큰 점수도 {largest:.0f}에 그쳐 710에 한참 못 "
        "미칩니다. 점수가 커서 식 그대로는 NaN이 되는 경우에도 최댓값을 먼저 빼면 "
        f"{over['stable_first_weight']:.3f}이 나옵니다.",
    )


def _panels(plain: list[Softness], scaled: list[Softness]) -> tuple[Chart, ...]:
    return (
        _chart(
            Text("Entropy of the weights", "가중치가 고르게 퍼진 정도"),
            Text("entropy of softmax (nats)", "softmax의 엔트로피 (nat)"),
            [each.entropy for each in plain],
            [each.entropy for each in scaled],
            (Text("ln 32: uniform weights", "ln 32: 모든 키에 같은 가중치"), math.log(KEYS)),
        ),
        _chart(
            Text("Gradient through softmax", "softmax를 지나는 기울기"),
            Text("norm of softmax's Jacobian", "softmax 야코비 행렬의 노름"),
            [each.gradient for each in plain],
            [each.gradient for each in scaled],
        ),
    )


def _chart(
    title: Text,
    y_title: Text,
    plain: list[float],
    scaled: list[float],
    *marks: tuple[Text, float],
) -> Chart:
    return Chart(
        title,
        Text("d_k", "d_k"),
        y_title,
        (
            Series(Text("q·k", "q·k"), list(zip(WIDTHS, plain, strict=True))),
            Series(Text("q·k / √d_k", "q·k / √d_k"), list(zip(WIDTHS, scaled, strict=True))),
        ),
        log_x=True,
        least=0.0,
        marks=marks,
    )
