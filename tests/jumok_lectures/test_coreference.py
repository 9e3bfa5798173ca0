"""Sentences whose answer is known, and how attention from "it" is read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.data.pairs.batches import collate
from jumok.data.tokenizer import Tokenizer
from jumok_lectures import pronouns
from jumok_lectures.experiments import coreference
from jumok_lectures.experiments.coreference import Preferred, PronounFindings
from jumok_lectures.findings import Setting
from jumok_lectures.pronouns import Sentence
from jumok_lectures.small import Trained
from tests.jumok_lectures.test_small import tiny

TIRED = Sentence("the animal did not cross the street because it was too tired", "animal", "street")


def test_the_last_word_decides_and_both_orders_are_as_frequent() -> None:
    train, held = coreference.sentences()
    every = train + held
    assert len({each.text for each in every}) == len(every) == 4 * 8 * 8 * 12
    assert TIRED.text in {each.text for each in every}
    first = sum(
        each.text.index(f" {each.right} ") < each.text.index(f" {each.wrong} ") for each in every
    )
    assert 2 * first == len(every)
    assert not {each.text for each in train} & {each.text for each in held}


def test_the_corpus_holds_a_sentence_and_its_answer(tmp_path: Path) -> None:
    home = pronouns.write(tmp_path)
    english, answers = (
        (home / f"validation.{kind}").read_text("utf-8").splitlines() for kind in ("en", "ko")
    )
    known = {each.text: each.right for each in coreference.sentences()[1]}
    assert dict(zip(english, answers, strict=True)) == known
    assert pronouns.write(tmp_path) == home


def test_both_nouns_are_found() -> None:
    weights = torch.zeros(1, 2, 12)
    weights[0, 0, 1], weights[0, 0, 6] = 0.6, 0.3  # the first head: animal over street
    weights[0, 1, 1], weights[0, 1, 6] = 0.2, 0.7
    right, wrong = coreference.at_nouns(weights, TIRED)
    torch.testing.assert_close(right, torch.tensor([[0.6, 0.2]]))
    torch.testing.assert_close(wrong, torch.tensor([[0.3, 0.7]]))


def test_attention_is_read_from_it() -> None:
    lines = [each.text for each in coreference.sentences()[0]]
    tokenizer = Tokenizer.train(lines, "bpe", 180, byte_fallback=False)
    assert all(len(tokenizer.encode(word)) == 1 for word in TIRED.text.split())
    found = coreference.looked(
        Trained(tiny(vocabulary=tokenizer.size).eval(), tokenizer, [], 0.0), TIRED
    )
    assert found.shape == (2, 4, 12)
    assert float(found.sum(-1).max()) <= 1.0


def test_the_objective_reads_the_state_of_it_and_no_other() -> None:
    """The words after "it" reach its state through attention; the answer's place does not."""
    model = tiny(vocabulary=23).eval()
    # Nine words and END: "it" is the fourth from the end.
    batch = collate([[4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 5, 6, 9, 10, 11, 12]], [[13], [14]])
    states = model.encode(batch.source, batch.source_allowed).states
    it = torch.stack([states[0, 5], states[1, 3]])
    logits = it @ model.decoder.output.weight.T
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([13, 14]), reduction="sum")
    torch.testing.assert_close(coreference.from_its_state(model, batch, 0.0), expected)


def read(*shares: float) -> list[PronounFindings]:
    """Three seeds of an encoder with two heads, of which the second is chosen."""
    texts = (TIRED.text, TIRED.text.replace("tired", "wide"))
    return [
        PronounFindings(
            Preferred(torch.tensor([[0.5, share]]), (0, 1), texts, [[0.1] * 12] * 2, (0.3, 0.2)),
            1.0,
        )
        for share in shares
    ]


def test_the_untaught_translator_has_to_prefer_the_right_noun_too() -> None:
    good, poor = read(0.95, 0.96, 0.97), read(0.5, 0.52, 0.54)
    assert coreference.report({"taught": good, "translator": good}).outcome == "holds"
    half = coreference.report({"taught": good, "translator": poor})
    assert half.outcome == "partly"
    assert "in 52 ± 5% in the translators" in half.sentence.en
    assert coreference.report({"taught": poor, "translator": poor}).outcome == "fails"
    given = coreference.report({"taught": good, "translator": good, "given": read(0.55)})
    assert [each.state for each in given.conditions] == ["met", "met", "unmet"]
    assert "In the given encoder, it does in 55%." in given.sentence.en


def test_a_translation_says_the_noun_again_with_its_particles() -> None:
    every = {
        each.text: each.korean
        for each in [*coreference.sentences()[0], *coreference.sentences()[1]]
    }
    assert every[TIRED.text] == "동물은 길을 건너지 않았다 동물이 너무 피곤했기 때문이다"
    wide = TIRED.text.replace("tired", "wide")
    assert every[wide] == "동물은 길을 건너지 않았다 길이 너무 넓었기 때문이다"
    assert every["the river was left by the cat because it was too lazy"] == (
        "고양이가 강을 떠났다 고양이가 너무 게을렀기 때문이다"
    )


def test_one_half_chooses_the_head_and_the_other_judges_it() -> None:
    """Head 1 is right in the first half, head 0 in the second: head 1 is chosen, and is wrong."""
    held = coreference.sentences()[1][:10]

    def look(sentence: Sentence) -> torch.Tensor:
        right = sentence.text.split().index(sentence.right)
        first = sentence in held[:5]
        weights = torch.full((1, 2, len(sentence.text.split())), 0.05)
        weights[0, 1 if first else 0, right] = 0.5
        return weights

    chosen = coreference.preferred(look, held)
    assert chosen.best == (0, 1)
    assert chosen.shares.tolist() == [[1.0, 0.0]]
    assert chosen.given == pytest.approx((0.05, 0.05))


def test_the_lab_reads_an_encoder_that_was_trained_before(
    tiny_bundle: Path, tmp_path: Path
) -> None:
    """Beside two that it trains, here for a few steps."""
    short = [replace(coreference.TAUGHT, steps=3), replace(coreference.TRANSLATOR, steps=3)]
    setting = Setting((1,), False, tmp_path, encoder=tiny_bundle)
    found = coreference.run(setting, *short, tested=12, translated=4)
    assert set(found.figures) == {"taught", "translator", "given"}
    assert np.array(found.figures["given"]["shares"]).shape == (1, 1, 3)  # the bundle's heads
    assert found.figures["given"]["named_rightly"] == [None]
    assert len(found.rows) == 3
