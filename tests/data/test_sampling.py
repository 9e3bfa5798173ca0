from random import Random

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.tokenizer import Tokenizer, TokenizerKind, normalize
from tests.data.sentences import ENGLISH

KINDS: list[TokenizerKind] = ["unigram", "bpe", "char"]
TRAINED = {kind: Tokenizer.train(ENGLISH, kind, 330) for kind in KINDS}


def sampled(tokenizer: Tokenizer, alpha: float) -> list[int]:
    random = Random(1)
    return [id for line in ENGLISH for id in tokenizer.encode_sampled(line, alpha, random)]


@pytest.mark.parametrize(("kind", "exact"), [("unigram", 1e4), ("bpe", 0.0), ("char", 0.5)])
def test_sampling_at_its_limit_is_encode(kind: TokenizerKind, exact: float) -> None:
    tokenizer = TRAINED[kind]
    random = Random(1)
    for text in [*ENGLISH, "물 🙂 unseen", "", "  two  spaces "]:
        assert tokenizer.encode_sampled(text, exact, random) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@given(text=st.text(st.characters(codec="utf-8")))
def test_sampling_changes_pieces_and_not_the_text(kind: TokenizerKind, text: str) -> None:
    tokenizer = TRAINED[kind]
    ids = tokenizer.encode_sampled(text, 0.3, Random(1))
    assert tokenizer.decode(ids) == " ".join(filter(None, normalize(text).split(" ")))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sampling_repeats_with_its_generator_alone(kind: TokenizerKind) -> None:
    tokenizer = TRAINED[kind]
    assert sampled(tokenizer, 0.5) == sampled(tokenizer, 0.5)
    assert sampled(tokenizer, 0.5) != [id for line in ENGLISH for id in tokenizer.encode(line)]


def test_bpe_that_drops_every_merge_writes_characters() -> None:
    ids = TRAINED["bpe"].encode_sampled("a man", 1.0, Random(1))
    assert TRAINED["bpe"].pieces(ids) == ["▁", "a", "▁", "m", "a", "n"]


def test_unigram_samples_a_segmentation_as_often_as_its_probability_says() -> None:
    tokenizer = TRAINED["unigram"]
    reference = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    best = reference.nbest_encode("window", nbest_size=64)
    scores = np.array([sum(map(reference.get_score, ids)) for ids in best])
    expected = np.exp(0.2 * scores) / np.exp(0.2 * scores).sum()
    random = Random(1)
    drawn = [tokenizer.encode_sampled("window", 0.2, random) for _ in range(4000)]
    found = np.array([drawn.count(ids) for ids in best]) / 4000
    assert np.abs(found - expected).max() < 4.5 * np.sqrt(expected.max() / 4000)
