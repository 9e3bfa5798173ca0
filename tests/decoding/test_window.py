"""Forced beginnings in one pass, streams, and texts beyond the context."""

import copy
from itertools import chain

import pytest
import torch

from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.limits import Limits
from jumok.decoding.score import score_pairs
from jumok.decoding.torch_stepper import TorchStepper
from jumok.decoding.window import Window
from jumok.errors import ConfigError, ModelError
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import Decoder, PrefillDecoder
from jumok.systems.text_writer import writer_of, written_tokens
from tests.decoding.searches import beam_search, greedy
from tests.parity.torch_weights import roughen

CONTEXT = 6
PROMPT = [7, 8, 9, 10]


class Steps:
    """The same decoder without its `read_all`."""

    def __init__(self, decoder):
        self.vocabulary_size = decoder.vocabulary_size
        self.start, self.step = decoder.start, decoder.step
        self.reorder, self.forward = decoder.reorder, decoder.forward


@pytest.fixture(scope="module")
def model() -> CausalLanguageModel:
    torch.manual_seed(1)
    config = CausalConfig(
        dim=15, heads=3, layers=2, feedforward=29, positions="learned", max_length=CONTEXT
    )
    return roughen(CausalLanguageModel(config, 31)).eval().requires_grad_(False)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "nbest": 3}, {"sample": True}])
@pytest.mark.parametrize("prefixes", [[PROMPT, PROMPT], [[7, 8, 9], [7]], [[7], []]])
def test_a_beginning_read_in_one_pass_changes_nothing(model, options, prefixes):
    decoders = Window(model.decoder, CONTEXT), Window(Steps(model.decoder), CONTEXT)
    chosen = DecodingOptions(**options, maximum_length=11, seed=3)
    fast, slow = (decode(one, model.nothing(2), chosen, prefixes) for one in decoders)
    for found, expected in zip(chain(*fast), chain(*slow), strict=True):
        assert found.tokens == expected.tokens
        assert found.token_log_probabilities == pytest.approx(
            expected.token_log_probabilities, abs=1e-5
        )


def test_a_window_is_a_decoder_that_reads(model):
    window = Window(model.decoder, CONTEXT)
    assert isinstance(window, Decoder)
    assert isinstance(window, PrefillDecoder)
    with pytest.raises(ConfigError, match="two tokens"):
        Window(model.decoder, 1)


def test_a_full_window_goes_on_from_its_last_half(model):
    """11 tokens in a context of 6: the 7th is read behind the 4th to the 6th, the 10th behind the
    7th to the 9th."""
    tokens = torch.arange(4, 26).view(2, 11)
    window = Window(model.decoder, CONTEXT)
    found = window.forward(model.nothing(2), tokens)
    expected = [
        model.decoder(model.nothing(2), tokens[:, :6]),
        model.decoder(model.nothing(2), tokens[:, 3:9])[:, 3:],
        model.decoder(model.nothing(2), tokens[:, 6:11])[:, 3:],
    ]
    torch.testing.assert_close(found, torch.cat(expected, 1), atol=1e-5, rtol=0)
    state = window.start(model.nothing(2))
    for t in range(11):
        logits, state = window.step(tokens[:, t], state)
        torch.testing.assert_close(logits, found[:, t], atol=1e-5, rtol=0)


def test_rows_of_a_window_change_places(model):
    tokens = torch.arange(4, 26).view(2, 11)
    window = Window(model.decoder, CONTEXT)
    _, state = window.read_all(tokens[:, :8], window.start(model.nothing(2)))
    state = window.reorder(state, torch.tensor([1, 0, 1]))
    logits, _ = window.read_all(tokens[[1, 0, 1], 8:], state)
    expected = window.forward(model.nothing(2), tokens)[[1, 0, 1], 8:]
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)


def streamed(decoder, memory, prompt, options, watch=None):
    """The tokens of a text as they are written."""
    writer = writer_of(TorchStepper(decoder, memory), prompt, options, watch)
    return written_tokens(writer, None)


@pytest.mark.parametrize("prompt", [[], PROMPT])
@pytest.mark.parametrize("keys", [{}, {"sample": True}, {"no_repeat_ngram": 2}])
def test_a_stream_writes_what_decoding_writes(model, prompt, keys):
    options = DecodingOptions(beam=1, maximum_length=17, seed=11, **keys)
    window = Window(model.decoder, CONTEXT)
    expected = decode(window, model.nothing(), options, [prompt])[0][0].tokens
    found = list(streamed(window, model.nothing(), prompt, options))
    assert (*prompt, *found) == expected


def test_a_stream_hands_out_the_first_token_before_the_second_is_computed(model):
    calls = []
    options = DecodingOptions(beam=1, forbidden=(0, START))
    tokens = streamed(model.decoder, model.nothing(), [], options, calls.append)
    next(tokens)
    assert len(calls) == 1
    assert calls[0].shape == (31,)


@pytest.mark.parametrize("sample", [False, True])
def test_a_stream_stops_at_logits_that_are_not_numbers(model, sample):
    broken = copy.deepcopy(model)
    broken.decoder.embedding.table[:] = torch.nan
    options = DecodingOptions(beam=1, sample=sample)
    with pytest.raises(ModelError, match="no probability to any next token"):
        next(streamed(broken.decoder, broken.nothing(), [], options))


LIMITS = Limits(maximum_length=11, forbidden=(0, START))


def test_a_language_model_in_a_beam_of_one_is_greedy(model):
    window = Window(model.decoder, CONTEXT)
    prefixes = [PROMPT, [5]]
    searched = beam_search(window, model.nothing(2), 1, LIMITS, prefixes=prefixes)
    for [found], expected in zip(
        searched, greedy(window, model.nothing(2), LIMITS, prefixes=prefixes), strict=True
    ):
        assert found.tokens == expected.tokens
        assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-5)


def test_a_language_model_writes_texts_together_as_alone(model):
    """Three prompts of one length, read in one pass, and each of them by itself."""
    window = Window(model.decoder, CONTEXT)
    prompts = [PROMPT, [11, 12, 13, 14], [21, 5, 5, 6]]
    together = beam_search(window, model.nothing(3), 3, LIMITS, nbest=2, prefixes=prompts)
    for prompt, found in zip(prompts, together, strict=True):
        alone = beam_search(window, model.nothing(), 3, LIMITS, nbest=2, prefixes=[prompt])[0]
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert found[0].score >= found[1].score


@pytest.mark.parametrize("context", [CONTEXT, 4])
def test_scores_of_a_language_model_are_those_of_forced_scoring(model, context):
    window = Window(model.decoder, context)
    found = beam_search(window, model.nothing(), 4, LIMITS, nbest=4, prefixes=[PROMPT])[0]
    for one in found:
        (forced,) = score_pairs(window, model.nothing(), [one.tokens])
        values = forced.token_log_probabilities[: len(one.token_log_probabilities)]
        assert one.token_log_probabilities == pytest.approx(values, abs=1e-5)
