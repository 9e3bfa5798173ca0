"""With source_end = false a Transformer computes as if sources had no END; the engine, too."""

import numpy as np
import pytest
import torch

from jumok.attention.observe import Attention, observe
from jumok.config import TransformerConfig
from jumok.data.tokenizer import END, PAD, START
from jumok.engine.forced import WatchedAttention
from jumok.models.encoder_decoder import Transformer
from jumok.systems.native.models import native_copy, weights_of

SIZES = {"dim": 20, "heads": 5, "encoder_layers": 2, "decoder_layers": 2, "feedforward": 29}
SOURCES = [[5, 6, 7, 8, END], [9, 5, END], [END]]
TARGETS = [[6, 5], [7, 8, 9], [5]]


@pytest.fixture
def models() -> tuple[Transformer, Transformer]:
    """The same weights: END is not read, and it is."""
    torch.manual_seed(1)
    first = Transformer(TransformerConfig(**SIZES, source_end=False), 13).eval()
    other = Transformer(TransformerConfig(**SIZES), 13).eval()
    other.load_state_dict(first.state_dict())
    return first, other


def filled(rows: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


@torch.no_grad()
def test_logits_are_those_of_sources_without_end(models):
    first, other = models
    read, written = filled(SOURCES), filled([[START, *each] for each in TARGETS])
    logits = first.decoder(first.encode(read, read != PAD), written)
    for row, source in enumerate(SOURCES):
        without = torch.tensor([source[:-1] or source])  # a text without words has END alone
        alone = other.decoder(other.encode(without), written[row : row + 1])
        torch.testing.assert_close(logits[row], alone[0], atol=1e-6, rtol=0)
        whole = first.decoder(first.encode(torch.tensor([source])), written[row : row + 1])
        torch.testing.assert_close(whole[0], alone[0], atol=1e-6, rtol=0)


@torch.no_grad()
def test_the_engine_gives_end_no_weight_and_else_those_of_torch(models):
    first, _ = models
    config = TransformerConfig(**SIZES, source_end=False)
    native = native_copy(config, weights_of(first), "fp32")
    watched = [WatchedAttention("encoder", 1, None), WatchedAttention("cross", 0, None)]
    forced = native.force(SOURCES, TARGETS, (START, END), watched)
    for source, target, each in zip(SOURCES, TARGETS, forced, strict=True):
        seen: dict[str, torch.Tensor] = {}

        def keep(site: str, each: Attention, seen: dict[str, torch.Tensor] = seen) -> None:
            seen[site] = each.weights

        with observe(first, keep):
            memory = first.encode(torch.tensor([source]))
            logits = first.decoder(memory, torch.tensor([[START, *target]]))
        expected = logits.log_softmax(-1)[0].gather(1, torch.tensor([[*target, END]]).T)[:, 0]
        np.testing.assert_allclose(each.log_probabilities, expected, atol=1e-5)
        own, cross = each.attention
        assert own.shape[1:] == (len(source), len(source))
        assert cross.shape[1:] == (len(target) + 1, len(source))
        if len(source) > 1:
            assert not cross[:, :, -1].any()
        theirs = seen["decoder.blocks.0.cross_attention"][0]
        np.testing.assert_allclose(cross, theirs, atol=1e-5)
        words = max(len(source) - 1, 1)  # what END's own query sees, nothing reads
        theirs = seen["encoder.blocks.1.self_attention"][0, :, :words]
        np.testing.assert_allclose(own[:, :words], theirs, atol=1e-5)
