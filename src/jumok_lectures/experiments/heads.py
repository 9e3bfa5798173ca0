"""How many heads.

One matrix of attention is one weighted sum; several heads look in several ways at once. The
paper shares a fixed budget out among them (dim / heads each), so that more heads cost nothing;
lecture 002 also has full-size heads, each as wide as the model, which cost more.

Source: Vaswani et al. 2017, section 3.2.2 and table 3 (A); lectures 001, 002.
"""

from jumok_lectures.contest import COLUMNS, contest
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import mean, relative_gains, with_interval
from jumok_lectures.small import SIZES, Small
from jumok_lectures.text import compared
from jumok_lectures.texts import Texts

T = Texts("heads")


NAMES = T.named("names")


def run(setting: Setting) -> Findings:
    """The same model with its attention shared out in five ways."""
    variants = {name: Small({"heads": int(name)}) for name in ("1", "2", "4", "8")}
    variants["4"] = Small()  # the usual one, which other labs train, too
    variants["4 full"] = Small({"heads": 4, "head_dim": SIZES["dim"]})
    found = contest(variants, NAMES, setting)
    gains = {
        name: relative_gains(found.losses("1"), found.losses(name)) for name in ("2", "4", "8")
    }
    full_gain = relative_gains(found.losses("4"), found.losses("4 full"))
    extra = found.runs["4 full"][0].parameters / found.runs["4"][0].parameters - 1.0
    shares = ", ".join(with_interval(each, ".0%") for each in gains.values())
    wide = compared(mean(full_gain))
    return Findings(
        columns=(T.column("heads"), *COLUMNS),
        rows=[[NAMES[name], *found.row(name)] for name in NAMES],
        figures={**found.figures(), "gains": gains, "full_size_gain": full_gain},
        conditions=[
            T.condition(
                "two_four_and_eight",
                [mean(of_seed) for of_seed in zip(*gains.values(), strict=True)],
            )
        ],
        sentence=T("sentence", shares=shares, wide=wide, extra=extra),
        panels=(found.bars(), found.curves(T("title"))),
    )
