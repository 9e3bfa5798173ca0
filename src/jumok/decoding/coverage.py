"""What hypotheses attended to, on torch, for the coverage penalty."""

from collections.abc import Sequence

import torch

from jumok.attention.observe import Attention, observe
from jumok.data.tokenizer import START
from jumok.decoding.beam import Cover
from jumok.decoding.rank import coverage_without_attention, log_coverage
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Tensor


def covering(models: Sequence[SequenceToSequence], memories: Sequence[Memory]) -> Cover:
    """The log coverage by hypotheses.

    Only hypotheses that leave the beam need it: these are read once more, all tokens at once. The
    weights of all heads of all layers of all models are averaged: Wu et al. 2016 have one
    attention, and a Transformer's heads have different functions.

    Raises:
        ConfigError: no model has attention to its source.
    """
    attending = [pair for pair in zip(models, memories, strict=True) if pair[0].cross_sites]
    if not attending:
        raise coverage_without_attention()

    @torch.inference_mode()
    def cover(sentence: int, hypotheses: Sequence[Sequence[int]]) -> list[float]:
        sums: list[Tensor] = []
        for model, memory in attending:
            rows = torch.full((len(hypotheses),), sentence, device=memory.states.device)
            sums += _attended(model, memory.select(rows), hypotheses)
        allowed = attending[0][1].allowed
        real = None if allowed is None else allowed[sentence].cpu().numpy()
        return log_coverage(torch.stack(sums).mean(0).float().cpu().numpy(), real).tolist()

    return cover


def _attended(
    model: SequenceToSequence, memory: Memory, hypotheses: Sequence[Sequence[int]]
) -> list[Tensor]:
    """For each attention its mean over the heads, summed over all steps: (batch source)."""
    sums: dict[str, Tensor] = {}

    def hear(site: str, attention: Attention) -> None:
        attended = attention.weights.mean(1).sum(1)  # an RNN attends step by step
        sums[site] = sums[site] + attended if site in sums else attended

    tokens = torch.tensor([[START, *each] for each in hypotheses], device=memory.states.device)
    with observe(model, hear, model.cross_sites.__contains__):
        model.decoder.hidden(memory, tokens)
    return list(sums.values())
