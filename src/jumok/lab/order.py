"""Attention sees a set.

Permute the words: without positions an encoder's outputs permute in the same way, whatever the
weights (f(Px) = P f(x), equivariance), and so their mean does not move at all (invariance, as
lecture 004 has it). With positions they do change, and so they do behind a look-ahead mask,
which tells before from after.

Source: Vaswani et al. 2017, section 3.5; lectures 002 ("Self-Attention = Set Encoding"), 004.
"""

from collections.abc import Callable

import torch

from jumok.attention.core import causal
from jumok.config.transformer import TransformerConfig
from jumok.lab.findings import Bars, Column, Findings, Setting, judged
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Int, Tensor

WORDS, LENGTH, SENTENCES = 100, 13, 16
SAME, DIFFERENT = 1e-4, 1e-2  # relative; float32 rounds at about 1e-6

Reader = Callable[[Int[Tensor, "batch length"]], Float[Tensor, "batch length dim"]]

NAMES = {
    "none": Text("no positions", "위치 없음"),
    "mask": Text("no positions, look-ahead mask", "위치 없음, 룩어헤드 마스크"),
    "sinusoidal": Text("sinusoidal", "사인파"),
    "learned": Text("learned", "학습된 위치"),
    "rotary": Text("rotary", "회전(rotary)"),
}


def readers(seed: int) -> dict[str, Reader]:
    """Untrained models: the claim is about the structure, so it must hold for any weights."""

    def model(positions: str) -> Transformer:
        torch.manual_seed(seed)
        sizes = {"dim": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
        config = TransformerConfig.model_validate({**sizes, "positions": positions})
        return Transformer(config, WORDS).eval()

    found: dict[str, Reader] = {name: model(name).encoder for name in NAMES if name != "mask"}
    masked = model("none").encoder

    def behind_a_mask(tokens: Tensor) -> Tensor:
        stream = masked.embedding(tokens)
        allowed = causal(tokens.shape[1], tokens.shape[1], tokens.device)
        return masked.blocks(stream, masked.first_norm(stream), allowed)

    return {**found, "mask": behind_a_mask}


@torch.no_grad()
def moved(reader: Reader, seed: int) -> tuple[float, float]:
    """How far outputs and their mean move when the words are permuted.

    Returns:
        |f(Px) - P f(x)| / |f(x)|, and |mean f(Px) - mean f(x)| / |mean f(x)|.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(WORDS, (SENTENCES, LENGTH), generator=generator)
    order = torch.randperm(LENGTH, generator=generator)
    before, after = reader(tokens), reader(tokens[:, order])
    expected = before[:, order]
    mean, mean_after = before.mean(1), after.mean(1)
    return (
        float((after - expected).norm() / expected.norm()),
        float((mean_after - mean).norm() / mean.norm()),
    )


def run(setting: Setting) -> Findings:
    """Every kind of position, and none."""
    found = {name: moved(reader, setting.seed) for name, reader in readers(setting.seed).items()}
    outputs = {name: found[name][0] for name in NAMES}
    with_order = {name: value for name, value in outputs.items() if name != "none"}
    nearest = min(with_order, key=lambda name: with_order[name])
    outcome = judged(outputs["none"] < SAME and with_order[nearest] > DIFFERENT)
    return Findings(
        columns=(
            Column(Text("encoder", "인코더")),
            Column(Text("outputs moved", "출력의 변화"), ".1e"),
            Column(Text("their mean moved", "출력 평균의 변화"), ".1e"),
            Column(Text("a set?", "집합인가?")),
        ),
        rows=[[NAMES[name], *found[name], _set(outputs[name] < SAME)] for name in NAMES],
        figures={name: {"outputs": both[0], "mean": both[1]} for name, both in found.items()},
        outcome=outcome,
        sentence=Text(
            f"Without positions the outputs permute with the words to {outputs['none']:.0e} "
            f"(rounding); with order they move by {with_order[nearest]:.0%} "
            f"({NAMES[nearest].en}) or more. The look-ahead mask alone tells order: "
            f"{outputs['mask']:.0%}. Strictly the layer is equivariant; only the mean of its "
            "outputs is invariant, as lecture 004 says of the layer.",
            "위치 정보가 없으면 단어의 순서를 바꿀 때 출력도 같은 순서로 바뀝니다(차이 "
            f"{outputs['none']:.0e}, 반올림 오차). 순서를 알려 주면 출력이 "
            f"{with_order[nearest]:.0%} 이상 달라집니다(가장 적은 것: {NAMES[nearest].ko}). "
            f"룩어헤드 마스크만 있어도 순서가 드러납니다({outputs['mask']:.0%}). 엄밀히 말하면 이 "
            "계층은 등변(equivariant)입니다. 강의 004가 말한 불변(invariant)은 출력의 평균에만 "
            "해당합니다.",
        ),
        panels=(
            Bars(
                Text("Outputs, when the words are permuted", "단어 순서를 바꾸었을 때 출력의 변화"),
                Text("relative change (logarithmic)", "상대 변화 (로그 눈금)"),
                [(NAMES[name], value) for name, value in outputs.items()],
                form=".0e",
                log_x=True,
            ),
        ),
    )


def _set(is_set: bool) -> Text:
    return Text("yes", "예") if is_set else Text("no", "아니요")
