"""How much links cross, and reading attention at every place."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.alignment.words import GoldLinks, Weights
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import Tokenizer
from jumok.models.catalog import DataSizes, build
from jumok_lectures import tatoeba
from jumok_lectures.experiments import alignment
from jumok_lectures.experiments.alignment import GoldFigures, JudgedAlignment, TriedSetting
from tests.jumok_lectures.test_small import tiny

EYE = np.eye(2, dtype=np.float32)


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
    model = tiny(vocabulary=tokenizer.size).eval()
    seen = alignment.seen(model, tokenizer, "the cat sees me", "le chat")
    assert set(seen) == {
        TriedSetting(layer, head, at_input)
        for layer in (0, 1)
        for head in (None, 0, 1, 2, 3)
        for at_input in (False, True)
    }
    assert all(weights.shape == (2, 4) for weights in seen.values())
    heads = np.mean([seen[TriedSetting(1, head, False)] for head in range(4)], axis=0)
    np.testing.assert_allclose(seen[TriedSetting(1, None, False)], heads, rtol=1e-5)


def test_an_rnn_is_read_step_by_step(tokenizer: Tokenizer) -> None:
    torch.manual_seed(3)
    config = RecurrentConfig.model_validate({**alignment.RNN, "dim": 16, "embedding": 8})
    model = build(config, DataSizes(vocabulary=tokenizer.size)).eval()
    seen = alignment.seen(model, tokenizer, "the cat sees me", "le chat me")
    weights = seen[TriedSetting(0, None, False)]
    assert weights.shape == (3, 4)
    assert float(weights.sum(1).max()) <= 1.0 + 1e-5
    assert not np.array_equal(weights[0], weights[1])


def test_the_diagonal_links_words_at_the_same_share() -> None:
    gold = GoldLinks(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1)}))
    assert alignment.diagonal([("a b c d", "x y", gold)]) == 0.0
    off = GoldLinks(frozenset({(3, 0)}), frozenset({(3, 0)}))
    assert alignment.diagonal([("a b c d", "x y", off)]) == 1.0


def test_one_half_chooses_where_to_read_and_the_other_judges(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting that is right in the first half is wrong in the second."""
    gold = GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))
    first, other = (TriedSetting(0, head, False) for head in (0, 1))
    right, wrong = EYE, EYE[::-1]

    def seen(*given: object) -> dict[TriedSetting, Weights]:
        known = given[2] == "I see"
        return {first: right if known else wrong, other: wrong if known else right}

    monkeypatch.setattr(alignment, "seen", seen)
    pairs = [("I see", "나는 봐요", gold), ("he goes", "그는 가요", gold)]
    judged = alignment.judge(torch.nn.Identity(), tokenizer, pairs)
    assert (judged.best, judged.chosen_error, judged.error) == (first, 0.0, 1.0)
    assert judged.crosses == 1.0


def judged(error: float, crosses: float) -> list[JudgedAlignment]:
    place = TriedSetting(0, None, False)
    return [JudgedAlignment(place, error + x, error, crosses, EYE) for x in (0.0, 0.01)]


def test_the_report_judges_errors_against_the_diagonal_and_crossings_against_gold() -> None:
    gold_links = GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (1, 0)}))
    grid = alignment._grid(("I see", "나는 봐요", gold_links), EYE)
    assert grid.framed == [(0, 0), (1, 1)]  # the sure ones
    good = {"transformer": judged(0.4, 0.4), "rnn": judged(0.3, 0.4)}
    assert alignment.report(good, GoldFigures(0.7, 0.45, 0.1), grid).outcome == "holds"
    straight = good | {"rnn": judged(0.3, 0.05)}  # a diagonal of its own
    assert alignment.report(straight, GoldFigures(0.7, 0.45, 0.1), grid).outcome == "partly"
    alone = alignment.report(good, GoldFigures(0.7, 0.45, None), grid)
    assert len(alone.conditions) == 4
    assert "JUMOK_DATA" in alone.sentence.en
    assert "Transformer 0.41 ± 0.06 (40%)" in alone.sentence.en


def test_a_sentence_of_tatoeba_is_kept_out_with_all_its_translations(tmp_path: Path) -> None:
    file = tmp_path / "data" / tatoeba.PAIRS
    file.parent.mkdir(parents=True)
    rows = [("Go.", "Va !"), ("Hi.", "Salut !"), ("Run!", "Cours !"), ("Run!", "Fuis !")]
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(f"{english}\t{french}\n" for english, french in rows)
    home = tatoeba.write(tmp_path / "data", tmp_path / "cache", unseen=3)
    assert (home / "train.en").read_text() == "Hi.\n"
    assert (home / "validation.en").read_text() == "Go.\nRun!\nRun!\n"
    assert (home / "validation.fr").read_text() == "Va !\nCours !\nFuis !\n"
