"""The same structure, but not the same weights.

Encoder layers are alike in structure and each has its own weights. So: four layers with weights
of their own, against one layer that is applied four times, and against one applied once.

Source: lecture 001 ("weight를 공유하지는 않는다"); sharing: Dehghani et al. 2019, Universal
Transformers; Lan et al. 2020, ALBERT.
"""

import torch

from jumok.lab.contest import COLUMNS, contest
from jumok.lab.findings import Bars, Column, Findings, Setting
from jumok.lab.judging import Condition
from jumok.lab.small import Small
from jumok.lab.text import Text, compared
from jumok.models.encoder_decoder import Transformer

LAYERS = 4
BETTER = 0.02  # the claim: weights of their own lower the loss by more than this share

NAMES = {
    "own": Text("4 layers, own weights", "4층, 층마다 다른 가중치"),
    "shared": Text("4 layers, shared weights", "4층, 가중치 공유"),
    "one": Text("1 layer", "1층"),
}


def share(model: Transformer) -> None:
    """Every layer of the encoder becomes the first one."""
    blocks = model.encoder.blocks
    for layer in range(1, len(blocks)):
        blocks[layer] = blocks[0]


def likeness(model: Transformer) -> float:
    """The mean cosine between the weights of different layers, matrix by matrix: 1 is equal."""
    layers = [
        [parameter.detach().flatten() for parameter in block.parameters() if parameter.ndim == 2]
        for block in model.encoder.blocks
    ]
    cosines = [
        float(torch.cosine_similarity(one, other, dim=0))
        for place, layer in enumerate(layers)
        for later in layers[place + 1 :]
        for one, other in zip(layer, later, strict=True)
    ]
    return sum(cosines) / len(cosines)


def run(setting: Setting) -> Findings:
    """Own weights, shared weights, and one layer alone."""
    deep = {"encoder_layers": LAYERS}
    variants = {
        "own": Small(deep),
        "shared": Small(deep, change=share),
        "one": Small({"encoder_layers": 1}),
    }
    found = contest(variants, NAMES, setting)
    loss = {name: found.loss(name) for name in NAMES}
    alike = likeness(found.runs["own"][0].transformer)
    gain, depth = 1.0 - loss["own"] / loss["shared"], 1.0 - loss["shared"] / loss["one"]
    own, shared = (found.runs[name][0].parameters for name in ("own", "shared"))
    return Findings(
        columns=(Column(Text("encoder", "인코더")), *COLUMNS),
        rows=[[NAMES[name], *found.row(name)] for name in NAMES],
        figures={**found.figures(), "gain": gain, "cosine_between_layers": alike},
        conditions=(Condition(NAMES["own"], [gain], BETTER),),
        sentence=Text(
            f"With separate weights in every layer the loss is {compared(gain).en} than with "
            f"shared ones, for {own / shared - 1:.0%} more parameters; after training, the weights "
            f"of different layers have a cosine of {alike:.2f} (1 would mean equal). If one layer "
            f"is applied four times, the loss is {compared(depth).en} than if it is applied once.",
            f"층마다 다른 가중치를 두면 손실은 공유할 때보다 {compared(gain).ko}고, 매개변수는 "
            f"{own / shared - 1:.0%} 늘어납니다. 학습한 뒤 층 사이 가중치의 코사인은 "
            f"{alike:.2f}입니다(같으면 1). 한 층을 네 번 적용하면 손실이 한 번만 적용할 때보다 "
            f"{compared(depth).ko}습니다.",
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
