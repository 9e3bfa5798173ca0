"""Word alignment from cross-attention.

The alignment setting matters more than the model: which layer, and which step. The step that writes
a token attends to what is to be translated next; the step after it, which reads the token, attends
to what was just translated. In deep models an early layer at the reading step is best (alignment
error 29.8 against 47.7 for the best layer at the writing step, German-English, six layers;
Kobayashi et al. 2020, recorded experiments), in shallow ones the writing step. So the setting is
chosen by measurement for each model (`jumok.alignment.calibration`).
"""

from collections.abc import Sequence

import torch

from jumok.alignment.norms import given_norms, output_weight
from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import Attention, observe
from jumok.errors import ModelError
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, Tensor


@torch.no_grad()
def cross_attentions(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    readings: Sequence[AlignmentSetting],
) -> list[Float[Tensor, "batch tokens source"]]:
    """The cross-attention weights, or norms, of each target token over the source positions.

    All heads together are the mean of their weights, or the norm of the sum of their outputs.

    Args:
        tokens: START and the target's tokens; the results have a row for each of these tokens.
        readings: the settings; each has one result, all from one pass.

    Raises:
        ModelError: no such layer or head.
    """
    by_layer = model.cross_sites
    for reading in readings:
        if not 0 <= reading.layer < len(by_layer):
            raise ModelError(
                "the model has no such layer.",
                expected=f"1 to {len(by_layer)}, of the decoder's cross-attentions",
                got=str(reading.layer + 1),
            )
    sites = [by_layer[reading.layer] for reading in readings]
    seen: list[list[Tensor]] = [[] for _ in readings]

    def keep(name: str, attention: Attention) -> None:
        for steps, site, reading in zip(seen, sites, readings, strict=True):
            if site == name:
                output = output_weight(model, site) if reading.norms else None
                steps.append(_looked(attention, reading, output))

    with observe(model, keep, sites.__contains__):
        model.decoder.hidden(memory, tokens)
    # An RNN may attend step by step.
    found = [torch.cat(steps, dim=1) for steps in seen]
    # Row i is the step whose input is tokens[i]: it reads token i - 1 and writes token i.
    return [
        steps[:, 1:] if reading.at_input else steps[:, :-1]
        for steps, reading in zip(found, readings, strict=True)
    ]


def cross_attention(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    reading: AlignmentSetting,
) -> Float[Tensor, "batch tokens source"]:
    """`cross_attentions` for one setting."""
    return cross_attentions(model, memory, tokens, [reading])[0]


def _looked(
    attention: Attention, reading: AlignmentSetting, output: Tensor | None
) -> Float[Tensor, "batch query key"]:
    weights, head = attention.weights, reading.head
    if head is not None and not 0 <= head < weights.shape[1]:
        raise ModelError(
            "the model has no such head.", expected=f"1 to {weights.shape[1]}", got=str(head + 1)
        )
    if not reading.norms:
        return weights.mean(dim=1) if head is None else weights[:, head]
    together, apart = given_norms(weights, attention.value, output)
    return together if head is None else apart[:, head]
