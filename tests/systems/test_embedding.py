"""What encoders and files of vectors say of sentences and words."""

from pathlib import Path

import numpy as np
import pytest
import torch

from jumok.config import RecurrentConfig
from jumok.data.files.vectors import Vectors
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, SPACE, Tokenizer
from jumok.errors import DataError, ModelError
from jumok.models.catalog import DataSizes, build
from jumok.systems.embedding import Embedder, GivenVectors
from jumok.systems.translation.translator import Translator
from tests.systems.masked import untrained

TEXTS = ["the cat sat on the mat.", "", "the cat.", "  \t", "나는 학생입니다."]


@pytest.fixture(scope="module")
def translator(tiny_bundle: Path) -> Translator:
    return Translator.load(tiny_bundle)


@pytest.fixture
def given() -> GivenVectors:
    matrix = np.array([[1, 0], [0, 3], [5, 5]], np.float32)
    return GivenVectors(Vectors(["the", "cat", "왕"], matrix))


def states(translator: Translator, text: str) -> torch.Tensor:
    """What the encoder writes for one sentence alone, END's state last."""
    ids = [*translator.tokenizer.encode(text), END]
    with torch.inference_mode():
        return translator.models[0].encode(torch.tensor([ids])).states[0]


def test_translators_masked_models_and_files_are_embedders(translator, given):
    for each in (translator, given, untrained()):
        assert isinstance(each, Embedder)
    assert untrained().word_space().row("the") is not None


def test_sentence_vectors_are_means_over_real_positions(translator):
    found = translator.sentence_vectors(TEXTS, batch_size=3)
    assert found.shape == (5, 24)
    for row in (0, 2, 4):
        torch.testing.assert_close(
            found[row], states(translator, TEXTS[row]).mean(0), atol=1e-5, rtol=0
        )
    assert (found[[1, 3]] == 0).all()
    assert translator.sentence_vectors([]).shape == (0, 24)


def test_a_long_text_is_the_mean_of_all_its_parts(translator):
    """Every part's positions count once, whatever the parts' lengths."""
    long = "the cat sat on the mat. " * 20
    whole = translator.sentence_vectors([long])[0]
    from jumok.systems.translation.segments import cut_lines

    parts = cut_lines([long], translator.tokenizer, translator.max_tokens)
    assert len(parts) > 1
    all_states = []
    for part in parts:
        (batch,) = source_batches([part.ids], sentences=1)
        with torch.inference_mode():
            all_states.append(translator.models[0].encode(batch.tokens).states[0])
    torch.testing.assert_close(whole, torch.cat(all_states).mean(0), atol=1e-5, rtol=0)


def test_word_vectors_are_means_over_a_words_pieces(translator):
    text = "the mat."
    words, vectors = translator.word_vectors(text)
    ids = translator.tokenizer.encode(text)
    owner = torch.tensor(translator.tokenizer.words(ids))
    assert words == ("the", "mat.")
    for word in range(2):
        expected = states(translator, text)[:-1][owner == word].mean(0)
        torch.testing.assert_close(vectors[word], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("text", ["", " \t ", "\x00\x01", "the cat " * 60, "a" * 300])
def test_every_text_gets_as_many_vectors_as_words(translator, text):
    words, vectors = translator.word_vectors(text)
    assert vectors.shape == (len(words), 24)
    assert torch.isfinite(vectors).all()
    assert len(words) in (0, 1, 120)


def test_one_word_has_two_vectors_in_two_sentences_and_one_in_the_table(translator):
    first = translator.word_vectors("the cat sat.")[1][1]
    second = translator.word_vectors("on the mat the cat.")[1][4]
    assert not torch.allclose(first, second, atol=1e-3)
    space = translator.word_space()
    row = space.row("the")
    id = translator.tokenizer.pieces(range(350)).index(f"{SPACE}the")
    table = translator.models[0].encoder.embedding.table[id].detach()
    torch.testing.assert_close(space.directions[row], table / table.norm())


def test_given_vectors_are_looked_up_and_averaged(given):
    words, vectors = given.word_vectors("The cat sat")
    assert words == ("The", "cat")
    assert vectors.tolist() == [[1, 0], [0, 3]]
    found = given.sentence_vectors(["The cat sat", "nothing here", ""])
    assert found.tolist() == [[0.5, 1.5], [0, 0], [0, 0]]
    assert given.sentence_vectors([]).shape == (0, 2)
    assert given.word_space().words == ["the", "cat", "왕"]
    with pytest.raises(DataError, match="one text was given"):
        given.sentence_vectors("the cat")


def recurrent(tiny_bundle: Path, **options: str) -> Translator:
    config = RecurrentConfig(dim=14, embedding=13, **options)
    tokenizer = Tokenizer.load(tiny_bundle / "tokenizer.model")
    model = build(config, DataSizes(vocabulary=tokenizer.size)).eval()
    return Translator([model], tokenizer, max_tokens=61)


def test_an_rnn_with_attention_embeds_sentences_and_words(tiny_bundle):
    translator = recurrent(tiny_bundle)
    found = translator.sentence_vectors(TEXTS)
    torch.testing.assert_close(found[0], states(translator, TEXTS[0]).mean(0), atol=1e-5, rtol=0)
    words, vectors = translator.word_vectors("the cat sat")
    assert len(words) == len(vectors) == 3
    assert translator.word_space().directions.shape[1] == 13


def test_an_rnn_without_attention_has_one_vector_a_sentence(tiny_bundle):
    translator = recurrent(tiny_bundle, attention="none")
    assert torch.isfinite(translator.sentence_vectors(TEXTS)).all()
    with pytest.raises(ModelError) as caught:
        translator.word_vectors("the cat sat on the mat")
    assert "no word vectors: its encoder writes one vector for a sentence" in str(caught.value)
    assert "or a model with attention" in str(caught.value)
