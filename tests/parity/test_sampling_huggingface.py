"""The filters of sampling against Hugging Face's on equal logits."""

import numpy as np
import pytest
import torch
from transformers.generation.logits_process import (
    LogitsProcessor,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from jumok.decoding import DecodingOptions
from jumok.decoding.sampling import Sampling

SIZE = 997


def theirs(options: DecodingOptions) -> list[LogitsProcessor]:
    """In the order of transformers' generate."""
    chain: list[LogitsProcessor] = [TemperatureLogitsWarper(options.temperature)]
    if options.top_k is not None:
        chain.append(TopKLogitsWarper(options.top_k))
    if options.top_p is not None:
        chain.append(TopPLogitsWarper(options.top_p))
    if options.min_p is not None:
        chain.append(MinPLogitsWarper(options.min_p))
    return chain


@pytest.mark.parametrize(
    "given",
    [
        {"min_p": 0.1},
        {"min_p": 0.02, "temperature": 2.5},
        {"min_p": 1.0},
        {"top_p": 0.9},
        {"top_k": 40, "top_p": 0.7},
        {"temperature": 0.6, "top_k": 90, "top_p": 0.95, "min_p": 0.05},
        {"temperature": 3.0, "top_k": 700, "min_p": 0.3},
    ],
    ids=str,
)
def test_the_same_tokens_are_kept_with_the_same_scores(given: dict) -> None:
    options = DecodingOptions(beam=1, sample=True, **given)
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(23, SIZE, generator=generator) * torch.linspace(0.2, 5, 23)[:, None]
    expected = scores = logits.log_softmax(1)
    for process in theirs(options):
        expected = process(torch.empty(23, 0, dtype=torch.long), expected)
    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.min_p)
    found = torch.from_numpy(np.stack([sampling.of(row) for row in scores.numpy()]))
    assert torch.equal(found > -torch.inf, expected > -torch.inf)
    assert 0 < int((found > -torch.inf).sum()) < found.numel()
    torch.testing.assert_close(found.softmax(1), expected.softmax(1))
