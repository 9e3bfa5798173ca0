"""Gaps filled, and texts as vectors, by a model that nobody trained."""

import pytest
import torch

from jumok.data.tokenizer import END, START
from jumok.errors import DataError, ModelError
from jumok.systems.masked_model import MaskedModel
from tests.systems.masked import untrained


@pytest.fixture(scope="module")
def system() -> MaskedModel:
    return untrained()


@pytest.mark.parametrize("gap", ["[MASK]", "___", "______"])
def test_candidates_are_the_models_likeliest_pieces(system, gap):
    (filled,) = system.fill([f"the {gap} sat"], top=3)
    mask, tokenizer = system.model.mask, system.tokenizer
    ids = [*tokenizer.encode("the"), mask, *tokenizer.encode("sat")]
    logits = system.model(torch.tensor([[START, *ids, END]]))[0, len(tokenizer.encode("the")) + 1]
    probabilities = logits.softmax(0).detach()
    pieces = tokenizer.pieces(range(tokenizer.size))
    words = [id for id, piece in enumerate(pieces) if piece.startswith("▁") and piece != "▁"]
    best = sorted(words, key=lambda id: -float(probabilities[id]))[:3]
    (candidates,) = filled.gaps
    assert [each.text for each in candidates] == [pieces[id][1:] for id in best]
    for each, id in zip(candidates, best, strict=True):
        assert each.probability == pytest.approx(float(probabilities[id]), abs=1e-6)
    assert filled.text == f"the {candidates[0].text} sat"


def test_several_gaps_have_candidates_each(system):
    (filled,) = system.fill(["[MASK] cat ___ on"], top=2)
    assert [len(gap) for gap in filled.gaps] == [2, 2]
    first, second = (gap[0].text for gap in filled.gaps)
    assert filled.text == f"{first} cat {second} on"


@pytest.mark.parametrize(
    ("text", "ids", "opens"),
    [
        ("the [MASK]", ["▁the", None], [True]),
        ("[MASK]는", [None, "는"], [True]),
        ("학[MASK]에 the", ["▁학", None, "에", "▁the"], [False]),
        ("[MASK][MASK] the", [None, None, "▁the"], [True, False]),
    ],
)
def test_a_gap_inside_a_word_leaves_the_rest_of_the_word_whole(system, text, ids, opens):
    found, starts = system.encode(text)
    mask, tokenizer = system.model.mask, system.tokenizer
    assert [None if id == mask else tokenizer.pieces([id])[0] for id in found] == ids
    assert starts == opens


def test_a_gap_inside_a_word_takes_no_piece_that_starts_one(system):
    (filled,) = system.fill(["the[MASK]"], top=400)
    pieces = system.tokenizer.pieces(range(system.tokenizer.size))
    inside = {piece for piece in pieces if not piece.startswith(("▁", "<"))}
    assert {each.text for each in filled.gaps[0]} == inside


def test_a_text_without_a_gap_passes(system):
    (filled,) = system.fill(["the cat __ sat"])
    assert (filled.text, filled.gaps) == ("the cat __ sat", ())


def test_the_part_around_the_gaps_of_a_long_text_is_read(system):
    long = "the cat " * 40
    assert system.fill([f"{long}[MASK] {long}"])[0].gaps
    with pytest.raises(DataError, match="too far apart"):
        system.fill([f"[MASK] {long} [MASK]"])
    with pytest.raises(ModelError, match="needs a candidate"):
        system.fill(["[MASK]"], top=0)


def test_sentence_vectors_are_means_whatever_the_batch(system):
    texts = ["the cat sat on the mat", "학교에", "", "the dog"]
    vectors = system.sentence_vectors(texts, batch_size=2)
    for text, vector in zip(texts, vectors, strict=True):
        ids = torch.tensor([[START, *system.tokenizer.encode(text), END]])
        expected = system.model.encoder(ids)[0].mean(0)
        torch.testing.assert_close(vector, expected, atol=1e-5, rtol=0)


def test_word_vectors_are_means_of_the_words_pieces(system):
    text = "학교에 the cat"
    words, vectors = system.word_vectors(text)
    assert words == ("학교에", "the", "cat")
    ids = system.tokenizer.encode(text)
    states = system.model.encoder(torch.tensor([[START, *ids, END]]))[0, 1:-1]
    first = [index for index, word in enumerate(system.tokenizer.words(ids)) if word == 0]
    torch.testing.assert_close(vectors[0], states[first].mean(0), atol=1e-5, rtol=0)
    assert system.word_vectors("")[1].shape == (0, 12)


def test_the_same_word_has_another_vector_in_another_sentence(system):
    _, (first, *_) = system.word_vectors("cat sat")
    _, (second, *_) = system.word_vectors("cat on the mat")
    assert not torch.allclose(first, second, atol=1e-3)


def test_texts_filled_together_are_filled_as_alone(system):
    texts = ["the ___ sat", "no gap", "학[MASK]에 the cat sat on the ___", "[MASK]"]
    together = system.fill(texts, top=3, batch_size=2)
    for text, found in zip(texts, together, strict=True):
        (alone,) = system.fill([text], top=3)
        assert found.text == alone.text
        for ours, theirs in zip(found.gaps, alone.gaps, strict=True):
            assert [each.text for each in ours] == [each.text for each in theirs]
            for one, other in zip(ours, theirs, strict=True):
                assert one.probability == pytest.approx(other.probability, abs=1e-6)


def test_a_long_text_without_a_gap_passes_too(system):
    text = "the cat sat " * 30
    system.check(text)
    assert system.fill([text])[0].gaps == ()
