"""Head cards of models of single texts, against weights that were looked at one text at a time."""

import pytest
import torch

from jumok.attention.observe import observe, sites
from jumok.data.texts.batches import batches_of_guesses
from jumok.data.texts.masking import Masking, word_starts
from jumok.data.tokenizer import END, START
from jumok.errors import DataError
from jumok.evaluation.heads.texts import guessing_losses, text_head_cards_over
from jumok.systems.language_model import LanguageModel
from jumok.systems.text_classifier import TextClassification
from tests.systems.lm import write_lm
from tests.systems.masked import untrained
from tests.systems.untrained import write_text_classifier

TEXTS = ["the cat", " ", "a dog, no"]


def entropies(system, ids: list[list[int]], run) -> dict[tuple[str, int], float]:
    rows: dict[tuple[str, int], list[float]] = {}

    def keep(site, attention):
        for head, weights in enumerate(attention.weights[0]):
            rows.setdefault((site, head), []).extend(torch.special.entr(weights).sum(1).tolist())

    for text in ids:
        with observe(system.model, keep), torch.no_grad():
            run(torch.tensor([text]))
    return {name: sum(values) / len(values) for name, values in rows.items()}


def slopes(system, losses) -> dict[tuple[str, int], float]:
    """By small steps of every gate: the mean over texts of | dL / dgate |."""
    found = {}
    for name, module in sites(system.model).items():
        for head in range(module.heads):
            steps = []
            for step in (-1e-2, 1e-2):
                module.gate = torch.ones(module.heads)
                module.gate[head] += step
                with torch.no_grad():
                    steps.append(torch.stack([loss() for loss in losses]))
                module.gate = None
            found[name, head] = float((steps[1] - steps[0]).abs().mean() / 2e-2)
    return found


def check(cards, expected, importance) -> None:
    assert {(card.site, card.head) for card in cards} == set(expected)
    for card in cards:
        assert card.entropy == pytest.approx(expected[card.site, card.head], abs=1e-5)
        slope = importance[card.site, card.head]
        assert card.raw_importance == pytest.approx(slope, rel=0.05, abs=2e-5)


def test_a_language_models_heads_are_those_of_its_texts(tmp_path):
    folder = write_lm(tmp_path / "lm")
    system = LanguageModel.load(folder, device="cpu")
    cards = text_head_cards_over(system, lambda: TEXTS, batch_size=2)
    # A context of 8: START and the first seven bytes.
    ids = [system.tokenizer.encode(text)[:7] for text in TEXTS if text.strip()]
    expected = entropies(system, [[START, *each] for each in ids], system.model.hidden)

    def loss(each):
        def of_text():
            logits = system.model.decoder.logits(
                system.model.hidden(torch.tensor([[START, *each]]))
            )
            chosen = logits[0].log_softmax(1).gather(1, torch.tensor([*each, END])[:, None])
            return -chosen.mean()

        return of_text

    check(cards, expected, slopes(system, [loss(each) for each in ids]))
    assert {card.part for card in cards} == {"decoder"}


def test_a_text_classifiers_heads_are_those_of_its_texts(tmp_path):
    folder = write_text_classifier(tmp_path / "classifier")
    system = TextClassification.load(folder, device="cpu")
    cards = text_head_cards_over(system, lambda: TEXTS)
    ids = [[START, *system.tokenizer.encode(text), END] for text in TEXTS if text.strip()]
    expected = entropies(system, ids, system.model)

    def loss(each):
        with torch.no_grad():
            label = int(system.model(torch.tensor([each])).argmax())
        return lambda: -system.model(torch.tensor([each])).log_softmax(1)[0, label]

    check(cards, expected, slopes(system, [loss(each) for each in ids]))


def test_guesses_are_scored_where_words_were_taken_out():
    system = untrained()
    ids = [system.tokenizer.encode(text) for text in ("the cat sat on the mat", "the dog")]
    masking = Masking(1 / 7, 1.0, 0.0, whole_words=True, opens=word_starts(system.tokenizer))
    (batch,) = batches_of_guesses(ids, 5, masking)
    with torch.no_grad():
        losses = guessing_losses(system.model, batch)
        logits = system.model(batch.tokens, batch.allowed).log_softmax(2)
    answers = iter(batch.answers.tolist())
    for row, chosen in enumerate(batch.chosen):
        assert chosen.any()
        places = chosen.nonzero()[:, 0].tolist()
        assert all(batch.tokens[row, place] == system.model.mask for place in places)
        found = [-float(logits[row, place, next(answers)]) for place in places]
        assert float(losses[row]) == pytest.approx(sum(found) / len(found), rel=1e-5)


def test_texts_without_a_word_have_no_cards(tmp_path):
    folder = write_lm(tmp_path / "lm")
    system = LanguageModel.load(folder, device="cpu")
    with pytest.raises(DataError, match="no text with a word"):
        text_head_cards_over(system, lambda: [" ", ""])
