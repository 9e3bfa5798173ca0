"""Text that goes on, and how probable text is."""

import math
from dataclasses import replace

import pytest
import torch

import jumok
from jumok.data.texts.tokenizer import ByteTokenizer, certain_text, train_text_tokenizer
from jumok.data.tokenizer import END, START, UNKNOWN
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.options import FOR_CONTINUATION
from jumok.decoding.window import Window
from jumok.errors import BundleError, DataError, ModelError
from jumok.systems.language_model import LanguageModel, joined_scores
from tests.systems.lm import CONTEXT, write_lm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_lm(tmp_path_factory.mktemp("lm") / "letters")


@pytest.fixture(scope="module")
def system(folder) -> LanguageModel:
    loaded = jumok.load(folder, device="cpu")
    assert isinstance(loaded, LanguageModel)
    return loaded


def pieces(prompt: str, text: str, tokenizer=None) -> list[str]:
    tokenizer = tokenizer or ByteTokenizer()
    return list(certain_text(tokenizer, prompt, tokenizer.encode(text)))


def test_characters_of_several_bytes_come_whole():
    assert pieces("", "a가🙂\nb") == ["a", "가", "🙂", "\n", "b"]
    assert pieces("가\n나", "다") == ["다"]


def test_a_character_that_never_ends_is_shown_at_the_end():
    broken = ByteTokenizer().encode("a가")[:-1]
    assert list(certain_text(ByteTokenizer(), "", broken)) == ["a", "\ufffd"]


def test_bytes_that_are_no_text_wait_for_what_follows():
    strange = [0xFF + 4, *ByteTokenizer().encode("가")]
    assert list(certain_text(ByteTokenizer(), "x\n", strange)) == ["\ufffd가"]


def test_pieces_of_subwords_join_to_the_text():
    text = "the cat sat  on\n the mat.\n고양이🙂 매트"
    tokenizer = train_text_tokenizer([text], "char", 300)
    assert "".join(pieces("", text, tokenizer)) == text
    prompt, rest = tokenizer.encode(text)[:7], tokenizer.encode(text)[7:]
    begun = tokenizer.decode(prompt)
    assert begun + "".join(certain_text(tokenizer, begun, rest)) == text


@pytest.mark.parametrize("prompt", ["", "a", "longer than the context\nby far"])
def test_generating_is_repeatable_and_stops_at_the_maximum(system, prompt):
    first, again = ("".join(system.generate(prompt, max_tokens=12)) for _ in range(2))
    assert first == again
    other = "".join(system.generate(prompt, replace(FOR_CONTINUATION, seed=1), max_tokens=12))
    assert other != first
    assert 0 < len(first.encode()) <= 3 * 12  # a U+FFFD has three bytes


def test_a_beam_of_one_is_greedy_and_a_larger_one_is_searched(system):
    greedy = DecodingOptions(beam=1)
    found = "".join(system.generate("a", greedy, max_tokens=6))
    assert found == "".join(system.generate("a", replace(greedy, seed=5), max_tokens=6))
    options = DecodingOptions(beam=3, maximum_length=7)
    searched = "".join(system.generate("a", options, max_tokens=6))
    prompt = ByteTokenizer().encode("a")
    window = Window(system.model.decoder, system.context)
    best = decode(window, system.model.nothing(), options, [prompt])[0][0]
    assert searched == ByteTokenizer().decode(best.tokens)[1:]


@torch.inference_mode()
def test_a_short_text_is_scored_in_one_pass(system):
    ids = [START, *ByteTokenizer().encode("abcd"), END]
    logits = system.model.decoder.logits(system.model.hidden(torch.tensor([ids[:-1]])))
    expected = logits[0].log_softmax(1)[range(5), ids[1:]].tolist()
    (score,) = system.score(["abcd"])
    assert score.token_log_probabilities == pytest.approx(expected, abs=1e-5)
    assert score.loss == pytest.approx(-sum(expected) / 5, abs=1e-5)
    assert score.perplexity == pytest.approx(math.exp(score.loss))
    assert score.bits_per_byte == pytest.approx(-sum(expected) / math.log(2) / 4, abs=1e-5)


@torch.inference_mode()
def test_a_long_text_is_scored_from_half_a_context_or_more(system):
    """19 tokens in windows of 8: 0 to 7, 4 to 11, 8 to 15, 12 to 18 are read."""
    text = "abcdefghijklmnopqr"
    ids = [START, *ByteTokenizer().encode(text), END]
    expected = []
    for start, end, known in ((0, 8, 0), (4, 12, 8), (8, 16, 12), (12, 19, 16)):
        logits = system.model.decoder.logits(system.model.hidden(torch.tensor([ids[start:end]])))
        values = logits[0].log_softmax(1)
        expected += [float(values[t - start, ids[t + 1]]) for t in range(known, end)]
    (score,) = system.score([text])
    assert score.token_log_probabilities == pytest.approx(expected, abs=1e-5)


def test_texts_are_scored_together_as_alone(system):
    texts = ["가", "abcdefghijklm", "x\ny"]
    for batch in (1, 2, 8):
        scores = system.score(texts, batch_size=batch)
        for text, score in zip(texts, scores, strict=True):
            alone = system.score([text])[0]
            assert score.tokens == alone.tokens
            assert score.token_log_probabilities == pytest.approx(
                alone.token_log_probabilities, abs=1e-5
            )
    whole = joined_scores(scores)
    assert whole.bytes == 3 + 13 + 3
    assert whole.log_probability == pytest.approx(sum(score.log_probability for score in scores))


def test_an_empty_text_has_no_score(system):
    with pytest.raises(DataError, match="text 2 is empty"):
        system.score(["a", ""])


def test_language_models_are_no_ensemble(folder):
    with pytest.raises(BundleError, match="form no ensemble"):
        LanguageModel.load(folder, folder)


def test_a_bundle_that_reads_documents_otherwise_is_refused(tmp_path):
    with pytest.raises(
        BundleError, match=r"config\.json: this language model.s rule for documents"
    ):
        LanguageModel.load(write_lm(tmp_path / "letters", documents="page"))


def test_another_tokenizer_is_refused(system):
    other = train_text_tokenizer(["abc"], "char", 300)
    with pytest.raises(ModelError, match="not this model's"):
        LanguageModel(system.model, other, context=CONTEXT)


@pytest.mark.parametrize("beam", [1, 2])
def test_what_no_text_holds_is_never_written(folder, beam):
    system = LanguageModel.load(folder, device="cpu")
    likely = torch.zeros(system.tokenizer.size).index_fill(0, torch.tensor([UNKNOWN]), 1e3)
    system.model.decoder.output.register_forward_hook(lambda *call: call[-1] + likely)
    options = DecodingOptions(beam=beam)
    written = "".join(system.generate("ab", options, max_tokens=5))
    assert len(written.encode()) >= 1
