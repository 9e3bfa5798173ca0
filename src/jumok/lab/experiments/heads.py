"""How many heads.

One matrix of attention is one weighted sum; several heads look in several ways at once. The
paper shares a fixed budget out among them (dim / heads each), so that more heads cost nothing;
lecture 002 also has full-size heads, each as wide as the model, which cost more.

Source: Vaswani et al. 2017, section 3.2.2 and table 3 (A); lectures 001, 002.
"""

from jumok.lab.contest import COLUMNS, contest
from jumok.lab.findings import Column, Findings, Setting
from jumok.lab.judging import Condition, mean, relative_gains, with_interval
from jumok.lab.small import SIZES, Small
from jumok.lab.text import Text, compared

BETTER = 0.0  # the claim: several heads lower the loss of one, by more than seeds differ

NAMES = {
    "1": Text("1 head of 64", "너비 64인 헤드 1개"),
    "2": Text("2 heads of 32", "너비 32인 헤드 2개"),
    "4": Text("4 heads of 16", "너비 16인 헤드 4개"),
    "8": Text("8 heads of 8", "너비 8인 헤드 8개"),
    "4 full": Text("4 full-size heads of 64", "너비 64인 헤드 4개"),
}


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
    return Findings(
        columns=(Column(Text("heads", "헤드")), *COLUMNS),
        rows=[[NAMES[name], *found.row(name)] for name in NAMES],
        figures={**found.figures(), "gains": gains, "full_size_gain": full_gain},
        conditions=[
            Condition(
                Text(
                    "two, four and eight heads, on average, lower the loss of one by",
                    "헤드 2개, 4개, 8개의 평균 손실이 하나일 때보다 낮은 정도",
                ),
                [mean(of_seed) for of_seed in zip(*gains.values(), strict=True)],
                BETTER,
                form=".0%",
            )
        ],
        sentence=_sentence(gains, full_gain, extra),
        panels=(found.bars(), found.curves(Text("Training", "학습"))),
    )


def _sentence(gains: dict[str, list[float]], full_gain: list[float], extra: float) -> Text:
    shares = ", ".join(with_interval(each, ".0%") for each in gains.values())
    wide = compared(mean(full_gain))
    return Text(
        f"At a fixed number of parameters two, four and eight heads lower the loss of one head by "
        f"{shares}. The loss of four full-size heads is {wide.en} than that of four heads that "
        f"share the width, for {extra:.0%} more parameters.",
        f"매개변수 수가 같을 때 헤드 두 개, 네 개, 여덟 개의 손실은 하나일 때보다 차례로 {shares} "
        f"낮습니다. 너비가 모델과 같은 헤드 네 개는 매개변수가 {extra:.0%} 더 필요하고, 손실은 "
        f"나눈 헤드 네 개보다 {wide.ko}습니다.",
    )
