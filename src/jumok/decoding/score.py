"""Forced decoding: the scores of given targets."""

from collections.abc import Sequence

import torch

from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, check_target_tokens
from jumok.decoding.rank import Ranker
from jumok.errors import ModelError
from jumok.models.memory import Decoder, Memory, State, logits_of


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
