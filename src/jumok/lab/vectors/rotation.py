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

from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition
from jumok.lab.text import Text
from jumok.shapes import Float, Tensor

WIDTH, SEEN, LENGTH = 64, 256, 512  # maps are fitted on positions below SEEN
SHIFTS = (1, 3, 10, 30)
SHOWN = 10  # the shift of the pictures
RIDGES = (0.0, 1e-9, 1e-6, 1e-3, 1.0)
EXACT, INEXACT = 1e-9, 0.1  # relative; everything is in float64
BASE = 10_000.0
NAMES = {
    "both": Text("sin and cos", "sin과 cos"),
    "sines": Text("sin alone", "sin만"),
    "one": Text("sin and cos of one frequency", "진동수 하나의 sin과 cos"),
    "index": Text("the index itself", "위치 번호 그대로"),
}
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
    found = [
        (torch.linalg.pinv(gram + ridge * one, hermitian=True) @ (before.T @ after)).T
        for ridge in RIDGES
    ]
    return min(found, key=lambda matrix: float(errors(code, matrix, shift)[SEEN:].mean()))


def shifting(kind: str, shift: int) -> Float[Tensor, "dim dim"]:
    """The rotation where there is one, else the best matrix."""
    if kind in ("both", "one"):
        return rotation(shift, WIDTH // 2 if kind == "both" else 1)
    return fitted(codes(kind), shift)


def measure(kind: str) -> Shifted:
    """With every shift."""
    code = codes(kind)
    missed, found, drift = [], [], []
    size = float(code.square().sum(-1).mean())
    for shift in SHIFTS:
        matrix = shifting(kind, shift)
        later = code[SEEN:-shift] @ matrix.T
        missed.append(float(errors(code, matrix, shift)[SEEN:].mean()))
        nearest = torch.cdist(later, code).argmin(-1)
        right = nearest == torch.arange(SEEN + shift, LENGTH)
        found.append(float(right.double().mean()))
        drift.append(float((code[:-shift] * code[shift:]).sum(-1).std()) / size)
    return Shifted(missed, found, drift, float(code.abs().max()))


def run(setting: Setting) -> Findings:
    """Nothing here is left to chance: the seeds are not used."""
    setting.say("position codes")
    both = codes("both")
    exact = max(float(errors(both, shifting("both", shift), shift).max()) for shift in SHIFTS)
    return report(exact, {kind: measure(kind) for kind in NAMES})


def conditions(exact: float, found: dict[str, Shifted]) -> tuple[Condition, ...]:
    """A rotation with both, and none with sines alone."""
    both, sines = found["both"], found["sines"]
    return (
        Condition(
            Text("sin and cos: the rotation's largest error", "sin과 cos: 회전의 최대 오차"),
            [exact],
            EXACT,
            above=False,
            form=".0e",
        ),
        Condition(
            Text(
                "sin alone: the best matrix's error on later positions",
                "sin만: 가장 좋은 행렬의 오차, 뒤쪽 위치",
            ),
            [min(sines.missed)],
            INEXACT,
        ),
        Condition(
            Text(
                "sin and cos: PE(p)·PE(p + k) over p", "sin과 cos: p에 따른 PE(p)·PE(p + k)의 변동"
            ),
            [max(both.drift)],
            EXACT,
            above=False,
            form=".0e",
        ),
        Condition(
            Text("sin alone: PE(p)·PE(p + k) over p", "sin만: p에 따른 PE(p)·PE(p + k)의 변동"),
            [min(sines.drift)],
            INEXACT,
        ),
        Condition(
            Text("sin and cos: the largest number (001:112)", "sin과 cos: 가장 큰 값 (001:112)"),
            [both.largest],
            1.01,
            above=False,
        ),
    )


def report(exact: float, found: dict[str, Shifted]) -> Findings:
    """A row for each code and shift."""
    return Findings(
        columns=(
            Column(Text("code", "인코딩")),
            Column(Text("shift k", "이동 k"), "d"),
            Column(Text("error, later positions", "오차, 뒤쪽 위치"), ".1e"),
            Column(Text("p + k found", "p + k를 찾음"), ".0%"),
            Column(Text("PE(p)·PE(p + k) over p", "p에 따른 PE(p)·PE(p + k)의 변동"), ".1e"),
            Column(Text("largest number", "가장 큰 값"), ".0f"),
        ),
        rows=[
            [NAMES[kind], shift, missed, share, drift, each.largest]
            for kind, each in found.items()
            for shift, missed, share, drift in zip(
                SHIFTS, each.missed, each.found, each.drift, strict=True
            )
        ],
        figures={
            "shifts": list(SHIFTS),
            "rotation_error": exact,
            **{kind: vars(each) for kind, each in found.items()},
        },
        conditions=conditions(exact, found),
        sentence=_sentence(exact, found["both"], found["sines"]),
        panels=_panels(),
    )


def _sentence(exact: float, both: Shifted, sines: Shifted) -> Text:
    return Text(
        "With sin and cos of each frequency one rotation per shift moves every position exactly "
        f"(largest error {exact:.0e}), and the shifted position is found in {min(both.found):.0%} "
        "of cases. With sines alone, of the same width, the best matrix misses later positions by "
        f"{min(sines.missed):.0%} or more and finds at most {max(sines.found):.0%} of them; the "
        f"product of two codes a fixed distance apart varies by {min(sines.drift):.0%} or more of "
        f"their squared length, with cos by {max(both.drift):.0e}.",
        "각 진동수의 sin과 cos이 함께 있으면 이동마다 회전 하나로 모든 위치가 정확히 옮겨지고"
        f"(최대 오차 {exact:.0e}), 옮긴 위치를 {min(both.found):.0%} 찾습니다. 너비가 같아도 sin만 "
        f"쓰면 가장 좋은 행렬도 뒤쪽 위치에서 {min(sines.missed):.0%} 이상 빗나가고, 옮긴 위치를 "
        f"많아야 {max(sines.found):.0%} 찾습니다. 거리가 같은 두 인코딩의 내적은 위치에 따라 길이 "
        f"제곱의 {min(sines.drift):.0%} 이상 달라지지만, cos이 함께 있으면 {max(both.drift):.0e}만 "
        "달라집니다.",
    )


def _panels() -> tuple[Chart, ...]:
    missed, products = [], []
    for kind in ("both", "sines"):
        code = codes(kind)
        error = errors(code, shifting(kind, SHOWN), SHOWN).clamp(min=1e-17)
        dots = (code[:-SHOWN] * code[SHOWN:]).sum(-1) / float(code.square().sum(-1).mean())
        missed.append(Series(NAMES[kind], [(float(p), float(e)) for p, e in enumerate(error)]))
        products.append(Series(NAMES[kind], [(float(p), float(d)) for p, d in enumerate(dots)]))
    place = Text("position p", "위치 p")
    return (
        Chart(
            Text(
                f"Shifted by {SHOWN}: a map fitted on positions below {SEEN}",
                f"{SHOWN}만큼 옮기기: 위치 {SEEN} 앞에서 맞춘 행렬",
            ),
            place,
            Text("relative error", "상대 오차"),
            missed,
            log_y=True,
        ),
        Chart(
            Text(f"PE(p)·PE(p + {SHOWN}) / |PE|²", f"PE(p)·PE(p + {SHOWN}) / |PE|²"),
            place,
            Text("product", "내적"),
            products,
        ),
    )
