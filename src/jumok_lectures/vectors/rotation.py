"""Why sin and cos: with both of a frequency, a shift is a rotation.

    sin(w (p + k)) =  cos(w k) sin(w p) + sin(w k) cos(w p)
    cos(w (p + k)) = -sin(w k) sin(w p) + cos(w k) cos(w p)

So one matrix of 2 x 2 blocks turns the code of any position p into that of p + k, and the product
of two codes depends on their distance alone. With sines only, of twice as many frequencies and so
of the same width, neither is so. The best matrix for sines is sought by ridge regression on
the first positions and tried on later ones, where a rotation goes on and a fit does not.

Source: Vaswani et al. 2017, section 3.5 ("for any fixed offset k, PE_pos+k can be represented as a
linear function of PE_pos"); lecture 001.
"""

import math
from dataclasses import dataclass

import torch

from jumok.shapes import Float, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("rotation")

WIDTH, SEEN, LENGTH = 64, 256, 512  # maps are fitted on positions below SEEN
SHIFTS = (1, 3, 10, 30)
SHOWN = 10  # the shift of the pictures
RIDGES = (0.0, 1e-9, 1e-6, 1e-3, 1.0)
BASE = 10_000.0
NAMES = T.named("names")
Codes = Float[Tensor, "length dim"]


@dataclass(frozen=True)
class Shifted:
    """How well a code shifts.

    Attributes:
        missed: by the best matrix, on later positions: |M PE(p) - PE(p + k)| / |PE(p + k)|.
        found: how often the position nearest to M PE(p) is p + k.
        drift: how much PE(p)·PE(p + k) varies over p: standard deviation over mean |PE|².
        largest: the largest number of the code.
    """

    missed: list[float]
    found: list[float]
    drift: list[float]
    largest: float


def codes(kind: str) -> Codes:
    """The code of every position, in float64."""
    places = torch.arange(LENGTH, dtype=torch.float64)[:, None]
    if kind == "both":
        angles = places * BASE ** -(torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH)
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
    if kind == "sines":
        step = torch.arange(WIDTH, dtype=torch.float64) / WIDTH
        return (places * BASE**-step).sin()
    if kind == "one":
        return torch.cat((places.sin(), places.cos()), -1)
    return places + 1.0  # 1, 2, 3, 4 as in the note


def rotation(shift: int, steps: int) -> Float[Tensor, "dim dim"]:
    """The matrix of 2 x 2 blocks that shifts sin and cos of `steps` frequencies."""
    angles = shift * BASE ** -(torch.arange(steps, dtype=torch.float64) / steps)
    blocks = []
    for angle in angles.tolist():
        sin, cos = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64))
    return torch.block_diag(*blocks)


def errors(code: Codes, matrix: Float[Tensor, "dim dim"], shift: int) -> Float[Tensor, " place"]:
    """|M PE(p) - PE(p + k)| / |PE(p + k)| for every p that has a p + k."""
    wanted = code[shift:]
    return (code[:-shift] @ matrix.T - wanted).norm(dim=-1) / wanted.norm(dim=-1)


def fitted(code: Codes, shift: int) -> Float[Tensor, "dim dim"]:
    """A matrix that shifts the first positions, by ridge regression.

    Of RIDGES the one is taken that serves the later positions best.
    """
    before, after = code[: SEEN - shift], code[shift:SEEN]
    gram, one = before.T @ before, torch.eye(code.shape[1], dtype=code.dtype)
    matrices = [
        (torch.linalg.pinv(gram + ridge * one, hermitian=True) @ (before.T @ after)).T
        for ridge in RIDGES
    ]
    return min(matrices, key=lambda matrix: float(errors(code, matrix, shift)[SEEN:].mean()))


def shifting(kind: str, shift: int) -> Float[Tensor, "dim dim"]:
    """The rotation where there is one, else the best matrix."""
    if kind in ("both", "one"):
        return rotation(shift, WIDTH // 2 if kind == "both" else 1)
    return fitted(codes(kind), shift)


def measure(kind: str) -> Shifted:
    """With every shift."""
    code = codes(kind)
    missed, nearest, drift = [], [], []
    size = float(code.square().sum(-1).mean())
    for shift in SHIFTS:
        matrix = shifting(kind, shift)
        later = code[SEEN:-shift] @ matrix.T
        missed.append(float(errors(code, matrix, shift)[SEEN:].mean()))
        right = torch.cdist(later, code).argmin(-1) == torch.arange(SEEN + shift, LENGTH)
        nearest.append(float(right.double().mean()))
        drift.append(float((code[:-shift] * code[shift:]).sum(-1).std()) / size)
    return Shifted(missed, nearest, drift, float(code.abs().max()))


def found_by(share: float) -> Text:
    """The most positions that one of the matrices finds."""
    return T("finds_some", share=share) if share > 0.0 else T("finds_none")


def run(setting: Setting) -> Findings:
    """Nothing here is left to chance: the seeds are not used."""
    setting.say("position codes")
    shifted = {kind: measure(kind) for kind in NAMES}
    both, sines = shifted["both"], shifted["sines"]
    code = codes("both")
    exact = max(float(errors(code, rotation(k, WIDTH // 2), k).max()) for k in SHIFTS)
    missed, products = [], []
    for kind in ("both", "sines"):
        code = codes(kind)
        error = errors(code, shifting(kind, SHOWN), SHOWN).clamp(min=1e-17)
        dots = (code[:-SHOWN] * code[SHOWN:]).sum(-1) / float(code.square().sum(-1).mean())
        missed.append(Series(NAMES[kind], [(float(p), float(e)) for p, e in enumerate(error)]))
        products.append(Series(NAMES[kind], [(float(p), float(d)) for p, d in enumerate(dots)]))
    return T.findings(
        rows=[
            [NAMES[kind], shift, error, share, drift, each.largest]
            for kind, each in shifted.items()
            for shift, error, share, drift in zip(
                SHIFTS, each.missed, each.found, each.drift, strict=True
            )
        ],
        figures={
            "shifts": list(SHIFTS),
            "rotation_error": exact,
            **{kind: vars(each) for kind, each in shifted.items()},
        },
        conditions=[
            T.condition("sin_and_cos_the", [exact]),
            T.condition("sin_alone_the_best", [min(sines.missed)]),
            T.condition("sin_and_cos_pe", [max(both.drift)]),
            T.condition("sin_alone_pe_p", [min(sines.drift)]),
            T.condition("sin_and_cos_the_2", [both.largest]),
        ],
        panels=[
            T.chart(
                missed, title=T("chart_title", shown=SHOWN, seen=SEEN), x=T("place"), log_y=True
            ),
            T.chart(products, "_2", title=T("chart_title_2", shown=SHOWN), x=T("place")),
        ],
        exact=exact,
        found=min(both.found),
        missed=min(sines.missed),
        finds=found_by(max(sines.found)),
        drift=min(sines.drift),
        max_drift=max(both.drift),
    )
