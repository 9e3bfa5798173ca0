"""Forced decoding on torch: the scores of given targets, and what hypotheses attended to."""

from collections.abc import Sequence

import torch

from jumok.attention.observe import Attention, observe
from jumok.data.tokenizer import START
from jumok.decoding.beam import Cover
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, check_target_tokens
from jumok.decoding.rank import Ranker, coverage_without_attention, log_coverage
from jumok.errors import ModelError
from jumok.models.memory import Decoder, Memory, SequenceToSequence, State, logits_of
from jumok.shapes import Tensor


@torch.inference_mode()
def score_pairs(
    decoder: Decoder[State],
    memory: Memory,
    targets: Sequence[Sequence[int]],
    ranker: Ranker | None = None,
    limits: Limits | None = None,
) -> list[Hypothesis]:
    """Every target as a finished hypothesis: the log-probability of each token and of END.

    Args:
        targets: one a row of the memory, without START and END; may be empty.
        limits: only its start and end tokens are used. None: the defaults.

    Raises:
        ModelError: not one target a row, a token outside the vocabulary, or logits that are not
            numbers.
    """
    ranker, limits = ranker or Ranker(), limits or Limits()
    rows = len(memory.states)
    if len(targets) != rows:
        raise ModelError(
            "every source needs a target.",
            expected=f"{rows} targets",
            got=str(len(targets)),
        )
    if rows == 0:
        return []
    for row, target in enumerate(targets):
        check_target_tokens(target, limits, decoder.vocabulary_size, f"target {row}")
    longest = max(map(len, targets)) + 1
    # tokens after a row's END do not affect those before it, so END serves as padding
    read = [[limits.start, *target] for target in targets]
    expected = [[*target, limits.end] for target in targets]
    tokens, following = (
        torch.tensor(
            [[*row, *[limits.end] * (longest - len(row))] for row in side],
            device=memory.states.device,
        )
        for side in (read, expected)
    )
    log_probabilities = logits_of(decoder, memory, tokens).float().log_softmax(2)
    values = log_probabilities.gather(2, following[..., None])[..., 0].tolist()
    return [
        ranker.rate(target, row[: len(target) + 1])
        for target, row in zip(targets, values, strict=True)
    ]


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
