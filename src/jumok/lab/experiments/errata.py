"""Slips of the notes: quoted, each computed as written and as right; no claim is judged.

Source: the notes, by line; what is right: the papers that `jumok.lab.slips` names slip by slip.
"""

import torch

from jumok.lab.findings import Bars, Column, Findings, Grid, Setting
from jumok.lab.slips import lecture_000, lecture_001, lecture_002, lecture_003, lecture_004, masking
from jumok.lab.slips.slip import Slip, finite
from jumok.lab.text import Text, same
from jumok.shapes import Float, Tensor

NOTES = (lecture_000, lecture_001, lecture_002, lecture_003, lecture_004)


def run(setting: Setting) -> Findings:
    """All slips, and the mask in each of its readings."""
    found = [slip for note in NOTES for slip in note.slips(setting.seeds)]
    mask = masking.readings(setting.seeds)
    return Findings(
        columns=(
            Column(Text("line", "줄")),
            Column(Text("the note says", "강의 노트의 문장")),
            Column(Text("right", "바른 설명")),
            Column(Text("computed", "계산한 것")),
        ),
        rows=[
            *([slip.place, slip.quote, slip.right, slip.computed] for slip in found),
            [masking.PLACES, masking.QUOTE, _mask_is_added(), _four_readings(mask)],
        ],
        figures={
            "slips": {
                slip.place: {"quote": slip.quote, "differs": slip.differs, **slip.figures}
                for slip in found
            },
            "mask": {
                name: [finite(share) for share in reading.share] for name, reading in mask.items()
            },
            "concatenated positions": concatenated(setting.seed),
        },
        conditions=(),
        sentence=_sentence(found, mask, concatenated(setting.seed)),
        panels=_panels(found, setting.seed),
    )


def concatenated(seed: int) -> float:
    """No slip: positions joined to the words (004:276) and projected are a sum again.

    Returns:
        The largest difference between [x; p] [W_x; W_p] and x W_x + p W_p.
    """
    generator = torch.Generator().manual_seed(seed)
    word, place = torch.randn(2, 16, 64, generator=generator, dtype=torch.float64)
    matrix = torch.randn(128, 64, generator=generator, dtype=torch.float64)
    joined = torch.cat((word, place), dim=-1) @ matrix
    return float((joined - word @ matrix[:64] - place @ matrix[64:]).abs().max())


def _mask_is_added() -> Text:
    return Text(
        "-∞ is added to the scores of the future (or they are set to it)",
        "미래의 점수에 -∞를 더함(또는 -∞로 바꿈)",
    )


def _four_readings(mask: dict[str, masking.MaskReading]) -> Text:
    each = mask.values()
    return Text(
        "share of the attention on the future: "
        + ", ".join(f"{reading.name.en}: {reading.told.en}" for reading in each),
        "미래로 가는 어텐션의 비율. "
        + ", ".join(f"{reading.name.ko}: {reading.told.ko}" for reading in each),
    )


def _sentence(found: list[Slip], mask: dict[str, masking.MaskReading], gap: float) -> Text:
    differs = sum(slip.differs for slip in found)
    zero, negative, none = (mask[name].told for name in ("zero", "negative", "none"))
    return Text(
        f"{len(found)} slips, each quoted and computed; in {differs} of them the numbers "
        "contradict the note. “Multiply by the mask” in its four readings: times 0 leaves "
        f"{zero.en} of the attention on the future, times -1e9 {negative.en} (without any mask: "
        f"{none.en}), times -∞ gives NaN; only adding -∞ leaves 0%. Positions joined to the words "
        f"(004:276) are no slip: projected, they are a sum again (to {gap:.0e}).",
        f"틀린 곳 {len(found)}군데를 인용하고 계산했습니다. {differs}군데에서 계산 결과가 노트와 "
        "다릅니다. “마스크를 곱한다”를 네 가지로 읽어 보면, 0을 곱하면 어텐션의 "
        f"{zero.ko}가 미래에 남고, -1e9을 곱하면 {negative.ko}(마스크가 없을 때 {none.ko}), -∞를 "
        "곱하면 NaN입니다. -∞를 더할 때만 0%가 됩니다. 위치를 단어에 연결하는 것(004:276)은 "
        f"틀리지 않았습니다. 투영하면 다시 합이 됩니다(오차 {gap:.0e}).",
    )


def _panels(found: list[Slip], seed: int) -> tuple[Bars | Grid, ...]:
    (heads,) = (slip for slip in found if slip.place == "000:100")
    names = {
        "millions with 1024": same("d_k = 1024 (000:100)"),
        "millions with 64": same("d_k = 64"),
        "published": Text("as published", "논문에 실린 값"),
    }
    bars = []
    for name, told in names.items():
        value = heads.figures[name]
        assert isinstance(value, float)
        bars.append((told, value))
    return (
        Bars(
            Text("The base model of Vaswani et al. 2017", "Vaswani 외(2017)의 기본 모델"),
            Text("million parameters", "매개변수 (백만 개)"),
            bars,
            form=".0f",
        ),
        *(_grid(name, seed) for name in ("zero", "negative", "added")),
    )


def _grid(name: str, seed: int) -> Grid:
    attention: Float[Tensor, "query key"] = masking.weights(
        name, torch.Generator().manual_seed(seed)
    )
    places = [str(place) for place in range(1, masking.LENGTH + 1)]
    told = masking.READINGS[name]
    title = Text(f"mask: {told.en}", f"마스크: {told.ko}")
    return Grid(title, places, places, attention.tolist(), Text("query", "쿼리"), Text("key", "키"))
