"""Word alignment from cross-attention.

The step that writes a token attends to what is to be translated next; the step after it, which
reads the token, attends to what was just translated. In deep models an early layer at the reading
step is best (alignment error 29.8 against 47.7 for the best layer at the writing step, German-
English, six layers; Kobayashi et al. 2020, recorded experiments), in shallow ones the writing step.
So the setting is measured for each model (`jumok.alignment.calibration`).
"""

from collections.abc import Sequence

import torch

from jumok.alignment.norms import batched_contribution_norms, output_weight
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
    settings: Sequence[AlignmentSetting],
) -> list[Float[Tensor, "batch tokens source"]]:
    """The cross-attention weights, or norms, of each target token over the source positions.

    All heads together are the mean of their weights, or the norm of the sum of their outputs.

    Args:
        tokens: START and the target's tokens; the results have a row for each of these tokens.
        settings: each has one result, all from one pass.

    Raises:
        ModelError: no such layer or head.
    """
    by_layer = model.cross_sites
    for setting in settings:
        if not 0 <= setting.layer < len(by_layer):
            raise ModelError(
                "the model has no such layer.",
                expected=f"1 to {len(by_layer)}, of the decoder's cross-attentions",
                got=str(setting.layer + 1),
            )
    sites = [by_layer[setting.layer] for setting in settings]
    recorded: list[list[Tensor]] = [[] for _ in settings]

    def record(name: str, attention: Attention) -> None:
        for steps, site, setting in zip(recorded, sites, settings, strict=True):
            if site == name:
                output = output_weight(model, site) if setting.norms else None
                steps.append(_looked(attention, setting, output))

    with observe(model, record, sites.__contains__):
        model.decoder.hidden(memory, tokens)
    # An RNN may attend step by step.
    maps = [torch.cat(steps, dim=1) for steps in recorded]
    # Row i is the step whose input is tokens[i]: it reads token i - 1 and writes token i.
    return [
        steps[:, 1:] if setting.at_input else steps[:, :-1]
        for steps, setting in zip(maps, settings, strict=True)
    ]


def cross_attention(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    setting: AlignmentSetting,
) -> Float[Tensor, "batch tokens source"]:
    """`cross_attentions` for one setting."""
    return cross_attentions(model, memory, tokens, [setting])[0]


def _looked(
    attention: Attention, setting: AlignmentSetting, output: Tensor | None
) -> Float[Tensor, "batch query key"]:
    weights, head = attention.weights, setting.head
    if head is not None and not 0 <= head < weights.shape[1]:
        raise ModelError(
            "the model has no such head.", expected=f"1 to {weights.shape[1]}", got=str(head + 1)
        )
    if not setting.norms:
        return weights.mean(dim=1) if head is None else weights[:, head]
    together, apart = batched_contribution_norms(weights, attention.value, output)
    return together if head is None else apart[:, head]
