"""How much links cross, and reading attention at every place."""

import gzip
from pathlib import Path

import pytest
import torch

from jumok.alignment.gold import GoldLinks
from jumok.config.transformer import TransformerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.lab import tatoeba
from jumok.lab.experiments import alignment
from jumok.lab.experiments.alignment import FRENCH, KOREAN, TriedSetting
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
        TriedSetting(layer, head, at_input)
        for layer in (0, 1)
        for head in (None, 0, 1, 2, 3)
        for at_input in (False, True)
    }
    assert all(weights.shape == (2, 4) for weights in seen.values())
    heads = torch.stack([seen[TriedSetting(1, head, False)] for head in range(4)]).mean(0)
    torch.testing.assert_close(seen[TriedSetting(1, None, False)], heads)


def test_the_report_needs_both_a_good_reading_and_a_crossing() -> None:
    gold = GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 0)}))
    grid = alignment._grid(("I see", "나는 봐요", gold), torch.eye(2), KOREAN)
    assert grid.framed == [(0, 0), (1, 1)]  # the sure ones
    rates = {TriedSetting(0, None, False): 0.5, TriedSetting(0, None, True): 0.2}
    assert alignment.report(rates, KOREAN, 0.4, 0.05, grid).outcome == "holds"
    assert alignment.report(rates, KOREAN, 0.05, 0.05, grid).outcome == "partly"
    alone = alignment.report(rates, FRENCH, 0.4, None, grid)
    assert alone.outcome == "partly"
    assert "JUMOK_DATA" in alone.sentence.en
    assert "For English-French, attention finds" in alone.sentence.en
    assert "at its best setting, layer 1" in alone.sentence.en


def test_a_sentence_of_tatoeba_is_kept_out_with_all_its_translations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tatoeba, "UNSEEN", 3)
    file = tmp_path / "data" / tatoeba.PAIRS
    file.parent.mkdir(parents=True)
    rows = [("Go.", "Va !"), ("Hi.", "Salut !"), ("Run!", "Cours !"), ("Run!", "Fuis !")]
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{english}\t{french}\n" for english, french in rows)
    home = tatoeba.write(tmp_path / "data", tmp_path / "cache")
    assert (home / "train.en").read_text() == "Hi.\n"
    assert (home / "validation.en").read_text() == "Go.\nRun!\nRun!\n"
    assert (home / "validation.fr").read_text() == "Va !\nCours !\nFuis !\n"
