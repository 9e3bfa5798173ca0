"""Slips of the notes: quoted, each computed as written and as right; no claim is judged.

Source: the notes, by line; what is right: the papers that `jumok_lectures.slips` names slip by
slip.
"""

import torch

from jumok.shapes import Float, Tensor
from jumok_lectures.findings import Bars, Findings, Grid, Setting
from jumok_lectures.slips import (
    lecture_000,
    lecture_001,
    lecture_002,
    lecture_003,
    lecture_004,
    masking,
)
from jumok_lectures.slips.slip import Slip, finite
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("errata")

NOTES = (lecture_000, lecture_001, lecture_002, lecture_003, lecture_004)


def run(setting: Setting) -> Findings:
    """All slips, and the mask in each of its readings."""
    found = [slip for note in NOTES for slip in note.slips(setting.seeds)]
    mask = masking.readings(setting.seeds)
    gap = concatenated(setting.seed)
    differs = sum(slip.differs for slip in found)
    zero, negative, none = (mask[name].told for name in ("zero", "negative", "none"))
    return Findings(
        columns=T.columns,
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
        sentence=T(
            "sentence",
            found=len(found),
            differs=differs,
            zero=zero,
            negative=negative,
            none_=none,
            gap=gap,
        ),
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
    return T("mask_is_added")


def _four_readings(mask: dict[str, masking.MaskReading]) -> Text:
    each = mask.values()
    return Text(
        "share of the attention on the future: "
        + ", ".join(f"{reading.name.en}: {reading.told.en}" for reading in each),
        "미래로 가는 어텐션의 비율. "
        + ", ".join(f"{reading.name.ko}: {reading.told.ko}" for reading in each),
    )


def _panels(found: list[Slip], seed: int) -> tuple[Bars | Grid, ...]:
    (heads,) = (slip for slip in found if slip.place == "000:100")
    names = T.named("names")
    bars = []
    for name, told in names.items():
        value = heads.figures[name]
        assert isinstance(value, float)
        bars.append((told, value))
    return (
        Bars(T("bars_title"), T("bars_x"), bars, form=".0f"),
        *(_grid(name, seed) for name in ("zero", "negative", "added")),
    )


def _grid(name: str, seed: int) -> Grid:
    attention: Float[Tensor, "query key"] = masking.weights(
        name, torch.Generator().manual_seed(seed)
    )
    places = [str(place) for place in range(1, masking.LENGTH + 1)]
    told = masking.READINGS[name]
    title = T("title", mask=told)
    return Grid(title, places, places, attention.tolist(), T("grid_row"), T("grid_column"))
