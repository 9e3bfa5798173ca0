"""How many heads.

One matrix of attention is one weighted sum; several heads look in several ways at once. The
paper shares a fixed budget out among them (dim / heads each), so that more heads cost nothing;
lecture 002 also has full-size heads, each as wide as the model, which cost more.

Source: Vaswani et al. 2017, section 3.2.2 and table 3 (A); lectures 001, 002.
"""

from jumok_lectures.contest import COLUMNS, contest
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import compared, mean, relative_gains
from jumok_lectures.small import SIZES, Small
from jumok_lectures.texts import Texts

T = Texts("heads")


NAMES = T.named("names")


def run(setting: Setting) -> Findings:
    """The same model with its attention shared out in five ways."""
    variants = {name: Small({"heads": int(name)}) for name in ("1", "2", "4", "8")}
    variants["4"] = Small()  # the usual one, which other labs train, too
    variants["4 full"] = Small({"heads": 4, "head_dim": SIZES["dim"]})
    made = contest(variants, NAMES, setting)
    gains = {name: relative_gains(made.losses("1"), made.losses(name)) for name in ("2", "4", "8")}
    full_gain = relative_gains(made.losses("4"), made.losses("4 full"))
    extra = made.runs["4 full"][0].parameters / made.runs["4"][0].parameters - 1.0
    return T.findings(
        rows=[[NAMES[name], *made.row(name)] for name in NAMES],
        figures={**made.figures(), "gains": gains, "full_size_gain": full_gain},
        conditions=[
            T.condition(
                "two_four_and_eight",
                [mean(of_seed) for of_seed in zip(*gains.values(), strict=True)],
            )
        ],
        panels=[made.bars(), made.curves(T("title"))],
        columns=[T.column("heads"), *COLUMNS],
        gains=[compared(each) for each in gains.values()],
        wide=compared(mean(full_gain)),
        extra=extra,
    )
