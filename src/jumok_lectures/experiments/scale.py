"""Why scores are divided by √d_k.

A query and a key with elements of variance 1 have a dot product of variance d_k. Softmax of such
scores puts nearly all its weight on one key as d_k grows, and the gradient through it vanishes.
Divided by √d_k the scores have variance 1 at every d_k.

The notes give another reason, that exp overflows (exp(710) is infinite in float64). So the
overflow is tried as well, with softmax as it is written and in the form that cannot overflow.

Source: Vaswani et al. 2017, section 3.2.1, footnote 4; lectures 000, 001, 002.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from jumok.shapes import Float, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import mean
from jumok_lectures.texts import Texts

T = Texts("scale")

KEYS, QUERIES = 32, 512
WIDTHS = (1, 4, 16, 64, 256, 1024, 4096)


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
    seeds = [measured(seed) for seed in setting.seeds]
    left = [plain[-1].gradient / scaled[-1].gradient for plain, scaled in seeds]
    moved = [
        max(
            max(values) / min(values) - 1.0
            for values in ([each.entropy for each in scaled], [each.gradient for each in scaled])
        )
        for _, scaled in seeds
    ]
    plain, scaled = (average(same) for same in zip(*seeds, strict=True))
    uniform = math.log(KEYS)
    return T.findings(
        rows=[
            [width, a.spread, a.largest, a.entropy, b.entropy, a.gradient, b.gradient]
            for width, a, b in zip(WIDTHS, plain, scaled, strict=True)
        ],
        figures={
            "d_k": list(WIDTHS),
            "plain": [vars(each) for each in plain],
            "scaled": [vars(each) for each in scaled],
            "largest_possible_entropy": uniform,
            "overflow": overflow(),
        },
        conditions=[
            T.condition("gradient_at_d_k", left, widths_last=WIDTHS[-1]),
            T.condition("largest_change_of_entropy", moved),
        ],
        panels=[
            T.chart(
                [
                    Series(name, [(w, vars(each)[of]) for w, each in zip(WIDTHS, own, strict=True)])
                    for name, own in ((T("q_k"), plain), (T("q_k_d_k"), scaled))
                ],
                title=T("title") if of == "entropy" else T("title_2"),
                y=T("entropy_of_softmax_nats") if of == "entropy" else T("norm_of_softmax_s"),
                log_x=True,
                least=0.0,
                marks=((T("ln_32_uniform_weights"), uniform),) if of == "entropy" else (),
            )
            for of in ("entropy", "gradient")
        ],
        widths_last=WIDTHS[-1],
        left=left,
        entropy=plain[-1].entropy,
        entropy_2=scaled[-1].entropy,
        most=uniform,
        keys=KEYS,
        moved=moved,
        largest=plain[WIDTHS.index(1024)].largest,
        over=overflow(),
    )


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


def average(runs: Sequence[list[Softness]]) -> list[Softness]:
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
