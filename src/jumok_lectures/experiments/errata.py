"""Slips of the notes: quoted, each computed as written and as right; no claim is judged.

Source: the notes, by line; what is right: the papers that `jumok_lectures.slips` names slip by
slip.
"""

import torch

from jumok_lectures.findings import Findings, Grid, Setting
from jumok_lectures.slips import (
    lecture_000,
    lecture_001,
    lecture_002,
    lecture_003,
    lecture_004,
    masking,
)
from jumok_lectures.slips.slip import Slip, finite
from jumok_lectures.text import Text, joined
from jumok_lectures.texts import Texts

T = Texts("errata")

NOTES = (lecture_000, lecture_001, lecture_002, lecture_003, lecture_004)


def run(setting: Setting) -> Findings:
    """All slips, and the mask in each of its readings."""
    slips = [slip for note in NOTES for slip in note.slips(setting.seeds)]
    mask = masking.readings(setting.seeds)
    gap = concatenated(setting.seed)
    (heads,) = (slip for slip in slips if slip.place == "000:100")
    readings = joined(
        (T("reading", mask=each.name, share=each.told) for each in mask.values()), "; "
    )
    return T.findings(
        rows=[
            *([slip.place, slip.quote, _right(slip), slip.computed] for slip in slips),
            [
                masking.PLACES,
                masking.QUOTE,
                T("mask_is_added"),
                T("share_on_the_future", readings=readings),
            ],
        ],
        figures={
            "slips": {
                slip.place: {
                    "quote": slip.quote,
                    "differs": slip.differs,
                    "incomplete": slip.incomplete,
                    **slip.figures,
                }
                for slip in slips
            },
            "mask": {
                name: [finite(share) for share in reading.share] for name, reading in mask.items()
            },
            "concatenated positions": gap,
        },
        conditions=(),
        panels=[
            T.bars(
                [(name, heads.figures[key]) for key, name in T.named("names").items()], form=".0f"
            ),
            *(_grid(name, setting.seed) for name in ("zero", "negative", "added")),
        ],
        slips=len(slips),
        incomplete=sum(slip.incomplete for slip in slips),
        zero=mask["zero"].told,
        negative=mask["negative"].told,
        none_=mask["none"].told,
        gap=gap,
    )


def _right(slip: Slip) -> Text:
    return T("incomplete", right=slip.right) if slip.incomplete else slip.right


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


def _grid(name: str, seed: int) -> Grid:
    attention = masking.weights(name, torch.Generator().manual_seed(seed))
    places = [str(place) for place in range(1, masking.LENGTH + 1)]
    title = T("title", mask=masking.READINGS[name])
    return T.grid(places, places, attention.tolist(), title=title)
