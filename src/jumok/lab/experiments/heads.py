"""How many heads.

One matrix of attention is one weighted sum; several heads look in several ways at once. The
paper shares a fixed budget out among them (dim / heads each), so that more heads cost nothing;
lecture 002 also has full-size heads, each as wide as the model, which cost more.

Source: Vaswani et al. 2017, section 3.2.2 and table 3 (A); lectures 001, 002.
"""

from jumok.lab.contest import COLUMNS, contest
from jumok.lab.findings import Bars, Column, Findings, Setting, judged
from jumok.lab.small import SIZES, Small
from jumok.lab.text import Text, compared

BETTER = 0.02  # the claim: several heads lower the loss of one by more than this share

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
    variants["4 full"] = Small({"heads": 4, "head_dim": SIZES["dim"]})
    found = contest(variants, NAMES, setting)
    loss = {name: found.loss(name) for name in NAMES}
    several = {name: loss[name] for name in ("2", "4", "8")}
    best = min(several, key=lambda name: several[name])
    gain, full_gain = 1.0 - several[best] / loss["1"], 1.0 - loss["4 full"] / loss["4"]
    extra = found.runs["4 full"][0].parameters / found.runs["4"][0].parameters - 1.0
    worse = sum(value > loss["1"] for value in several.values())
    return Findings(
        columns=(Column(Text("heads", "헤드")), *COLUMNS),
        rows=[[NAMES[name], *found.row(name)] for name in NAMES],
        figures={**found.figures(), "gain": gain, "full_size_gain": full_gain},
        outcome=judged(gain > BETTER and worse == 0, in_part=gain > BETTER),
        sentence=Text(
            f"At a fixed number of parameters the best number of heads here is {best}: the loss is "
            f"{compared(gain).en} than with one head ({several[best]:.3f} against "
            f"{loss['1']:.3f}); {worse} of the 3 models with several such heads do worse. The loss "
            f"of four full-size heads is {compared(full_gain).en} than that of four heads that "
            f"share the width, for {extra:.0%} more parameters.",
            f"매개변수 수가 같을 때는 헤드 {best}개가 가장 좋습니다. 손실이 헤드가 하나일 때보다 "
            f"{compared(gain).ko}습니다({several[best]:.3f} 대 {loss['1']:.3f}). 나누는 방법 세 "
            "가지 가운데 헤드 하나보다 나쁜 경우는 "
            f"{f'{worse}가지입니다' if worse else '없습니다'}. 너비가 모델과 같은 헤드 네 개는 "
            f"매개변수가 {extra:.0%} 더 필요하고, 손실은 나눈 헤드 네 개보다 "
            f"{compared(full_gain).ko}습니다.",
        ),
        panels=(
            Bars(
                Text("Loss on unseen sentences", "처음 보는 문장의 손실"),
                Text("nats per token; lower is better", "토큰당 nat, 낮을수록 좋음"),
                [(NAMES[name], loss[name]) for name in NAMES],
                form=".3f",
            ),
            found.curves(Text("Training", "학습")),
        ),
    )
