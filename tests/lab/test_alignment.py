"""How much links cross, and reading attention at every place."""

import pytest
import torch

from jumok.config.transformer import TransformerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.lab import alignment
from jumok.lab.alignment import Place
from jumok.lab.small import SIZES, Trained
from jumok.models.encoder_decoder import Transformer


def test_links_in_order_do_not_cross_and_reversed_ones_all_do() -> None:
    assert alignment.crossing([[(0, 0), (1, 1), (2, 2)]]) == 0.0
    assert alignment.crossing([[(0, 2), (1, 1), (2, 0)]]) == 1.0
    # Three pairs: 0-0 with 1-2 in order, 0-0 with 2-1 in order, 1-2 with 2-1 crossed.
    assert alignment.crossing([[(0, 0), (1, 2), (2, 1)]]) == pytest.approx(1 / 3)
    # Two links of one word are no pair.
    assert alignment.crossing([[(0, 0), (0, 1)]]) == 0.0


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["the cat sees me", "le chat me voit"], "char", 40, byte_fallback=False)


def test_attention_is_read_at_every_layer_head_and_step(tokenizer: Tokenizer) -> None:
    torch.manual_seed(2)
    sizes = {**SIZES, "dim": 16, "feedforward": 24}
    model = Transformer(TransformerConfig.model_validate(sizes), tokenizer.size).eval()
    seen = alignment.seen(Trained(model, tokenizer, [], 0.0), "the cat sees me", "le chat")
    assert set(seen) == {
        Place(layer, head, at_input)
        for layer in (0, 1)
        for head in (None, 0, 1, 2, 3)
        for at_input in (False, True)
    }
    assert all(weights.shape == (2, 4) for weights in seen.values())
    heads = torch.stack([seen[Place(1, head, False)] for head in range(4)]).mean(0)
    torch.testing.assert_close(seen[Place(1, None, False)], heads)


def test_the_report_needs_both_a_good_reading_and_a_crossing() -> None:
    grid = alignment._grid(("I see", "나는 봐요", [(0, 0), (1, 1)]), torch.eye(2))
    rates = {Place(0, None, False): 0.5, Place(0, None, True): 0.2}
    assert alignment.report(rates, 0.4, 0.05, grid).outcome == "holds"
    assert alignment.report(rates, 0.05, 0.05, grid).outcome == "partly"
    alone = alignment.report(rates, 0.4, None, grid)
    assert alone.outcome == "partly"
    assert "JUMOK_DATA" in alone.sentence.en
