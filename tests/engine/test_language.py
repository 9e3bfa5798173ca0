"""Causal language models on the engine against torch."""

import weakref

import numpy as np
import pytest
import torch

from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import START
from jumok.decoding import DecodingOptions
from jumok.decoding.window import Window
from jumok.engine import language
from jumok.engine.language import NativeCausal, TextPass
from jumok.engine.structures import library
from jumok.errors import ModelError
from jumok.models.causal import CausalLanguageModel
from jumok.systems.text_writer import native_writer, written_tokens

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

VOCABULARY, CONTEXT = 139, 16
KINDS = {
    "as gpt": {"positions": "learned", "activation": "gelu"},
    "as llama": {
        "norm_kind": "rms", "feedforward_kind": "gated", "activation": "silu", "bias": False,
        "kv_heads": 1, "positions": "rotary", "tied": False,
    },
    "as gpt-2": {
        "positions": "learned", "activation": "gelu_tanh", "embedding_scale": False,
        "output_bias": True,
    },
    "alibi, post, odd": {"positions": "alibi", "norm": "post", "dim": 42, "feedforward": 53},
    "windows": {"window": 4, "window_layers": ("window", "whole"), "positions": "rotary"},
    "as pythia": {"parallel": True, "positions": "rotary", "rotary_dim": 6, "tied": False},
    "as qwen": {
        "bias": False, "projection_bias": True, "process_heads": ("qk-norm",), "norm_kind": "rms",
        "rotary_scaling": {"kind": "yarn", "factor": 8.0, "original_length": 40},
    },
    "sinusoidal": {"positions": "sinusoidal", "process_heads": ("qk-norm",)},
}  # fmt: skip


def model_of(**keys) -> tuple[CausalConfig, CausalLanguageModel]:
    sizes = {"dim": 48, "heads": 3, "feedforward": 80, "layers": 2, "max_length": CONTEXT}
    config = CausalConfig(**(sizes | keys))
    torch.manual_seed(7)
    model = CausalLanguageModel(config, VOCABULARY).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:  # gains and biases of training are not 1 and 0
                weight.add_(torch.randn_like(weight) * 0.3)
            elif "table" not in name:
                weight.mul_(2.0)
    return config, model


def engine_of(config, model, kind="fp32", context=CONTEXT) -> NativeCausal:
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return NativeCausal(config, weights, context, kind)


def text_of(length: int, seed: int = 3) -> list[int]:
    return [START, *np.random.default_rng(seed).integers(4, VOCABULARY, length - 1).tolist()]


@pytest.mark.parametrize("pieces", [(1,) * 40, (7, 1, 1, 9, 22), (40,), (16, 1, 23)])
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_log_probabilities_after_every_piece_are_those_of_torch(keys, pieces):
    """Texts of up to 40 tokens in a context of 16: the window moves."""
    config, model = model_of(**keys)
    text, done = text_of(sum(pieces)), 0
    window = Window(model.decoder, CONTEXT)
    with torch.inference_mode():
        expected = window.forward(model.nothing(), torch.tensor([text]))[0].log_softmax(1)
    engine = engine_of(config, model)
    reader, growing = engine.pass_reader(), engine.begin()
    for count in pieces:
        values = reader.finish(growing.read(text[done : done + count]))
        done += count
        np.testing.assert_allclose(values, expected[done - 1], atol=2e-4)


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_scores_of_texts_are_those_of_torch(keys):
    config, model = model_of(**keys)
    texts = [text_of(length, length) for length in (17, 2, 9, 13)]
    found = engine_of(config, model).score(texts)
    for text, values in zip(texts, found, strict=True):
        tokens = torch.tensor([text])
        with torch.inference_mode():
            logits = model.decoder(None, tokens[:, :-1])
        expected = logits.log_softmax(2).gather(2, tokens[:, 1:, None])[0, :, 0]
        np.testing.assert_allclose(values, expected.numpy(), atol=1e-4)


def test_a_text_longer_than_the_room_for_scores_is_read_as_by_torch():
    """With more keys fewer heads attend together, and above 2,048 each of them alone."""
    keys = {"heads": 10, "head_dim": 16, "layers": 1, "max_length": 2112}
    config, model = model_of(positions="rotary", **keys)
    text = text_of(2101)
    (found,) = engine_of(config, model, context=2112).score([text])
    tokens = torch.tensor([text])
    with torch.inference_mode():
        logits = model.decoder(None, tokens[:, :-1])
    expected = logits.log_softmax(2).gather(2, tokens[:, 1:, None])[0, :, 0]
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
def test_a_text_is_read_alike_in_any_pieces_and_company(kind):
    config, model = model_of(**KINDS["as llama"])
    engine = engine_of(config, model, kind)
    texts = [text_of(length, length) for length in (17, 2, 9, 13, 5)]
    together = engine.score(texts)
    for text, values in zip(texts, together, strict=True):
        assert engine.score([text])[0].tolist() == values.tolist()
    reader, whole, single = engine.pass_reader(), engine.begin(), engine.begin()
    for token in texts[0][:15]:
        last = reader.finish(single.read([token]))
    assert reader.finish(whole.read(texts[0][:15])).tolist() == last.tolist()


def written(engine, prompt, options, tokens, seen):
    """A whole text by passes; its tokens and their log-probabilities are noted."""
    writer = native_writer(engine, prompt, options, lambda values: seen.append(values.tobytes()))
    while (token := (yield from writer.next())) is not None:
        tokens.append(token)


def wanted_next(reading, values=None):
    """The next pass of a text; None: it has ended."""
    try:
        return next(reading) if values is None else reading.send(values)
    except StopIteration:
        return None


@pytest.mark.parametrize("kind", ["fp32", "int8"])
def test_texts_that_share_steps_are_those_of_texts_alone(kind, monkeypatch):
    """Sixteen texts of other lengths, options and seeds, which join at other times."""
    monkeypatch.setattr(language, "LONGEST_PASS", 5)
    config, model = model_of(**KINDS["as llama"])
    engine = engine_of(config, model, kind)
    sampled = {"beam": 1, "sample": True}
    ways = [
        {"beam": 1}, {**sampled, "temperature": 0.8}, {"beam": 1, "frequency_penalty": 1.1},
        {**sampled, "top_p": 0.9, "presence_penalty": 0.4}, {**sampled, "top_k": 20, "min_p": 0.01},
        {"beam": 1, "no_repeat_ngram": 2},
    ]  # fmt: skip
    lengths = [0, 1, CONTEXT - 1, CONTEXT, 3, 40, 7, 2, 11, 5, 1, 4, 15, 9, 0, 6]
    given = [
        (text_of(length + 1, number)[1:], DecodingOptions(
            **ways[number % len(ways)], seed=number, maximum_length=length + 3 + 3 * number,
            forbidden=(0, 1, 2),
        ))
        for number, length in enumerate(lengths)
    ]  # fmt: skip
    alone: list[tuple[list, list]] = [([], []) for _ in given]
    for (prompt, options), (tokens, seen) in zip(given, alone, strict=True):
        writer = native_writer(
            engine, prompt, options, lambda v, seen=seen: seen.append(v.tobytes())
        )
        tokens += written_tokens(writer, engine.pass_reader())
    assert sum(len(tokens) > CONTEXT for tokens, _ in alone) > 5, "windows move"

    found: list[tuple[list, list]] = [([], []) for _ in given]
    texts = [written(engine, *each, *into) for each, into in zip(given, found, strict=True)]
    reader, running, shared, joined = engine.pass_reader(), {}, 0, 0
    while running or joined < len(texts):
        if joined < len(texts):  # one joins at every round
            running[joined] = wanted_next(texts[joined])
            joined += 1
        shared = max(shared, sum(len(each.tokens) == 1 for each in running.values()))
        values = reader.read(list(running.values()))
        after = {
            number: wanted_next(texts[number], each)
            for number, each in zip(running, values, strict=True)
        }
        running = {number: wanted for number, wanted in after.items() if wanted is not None}
    assert shared > 6
    assert found == alone


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
def test_a_long_prompt_is_read_in_several_passes_with_the_bits_of_one(kind):
    config, model = model_of(positions="rotary", max_length=300)
    engine = engine_of(config, model, kind, context=300)
    text, reader = text_of(300), engine.pass_reader()
    whole = TextPass(engine.begin(), np.array(text, np.int32), 0)
    (expected,) = reader.read([whole])
    reading, lengths = engine.begin().read(text), []
    wanted = next(reading)
    while wanted is not None:
        lengths.append(len(wanted.tokens))
        (found,) = reader.read([wanted])
        wanted = wanted_next(reading, found)
    assert lengths == [64, 64, 64, 64, 44]
    assert found.tobytes() == expected.tobytes()


def test_what_is_known_of_a_text_is_freed_with_it():
    config, model = model_of()
    engine = engine_of(config, model)
    text, other = engine.begin(), engine.begin()
    freed = weakref.ref(other)
    wanted = next(other.read([START]))
    del other
    assert freed() is not None, "its pass still needs it"
    engine.pass_reader().read([wanted])
    del wanted
    assert freed() is None
    text.close()
    assert text.closed
    assert text.request.layout.sentences[0] is None
    with pytest.raises(AssertionError):
        engine.pass_reader().finish(text.read([START]))


def test_what_cannot_be_read_is_refused():
    config, model = model_of(**KINDS["as gpt"])
    engine = engine_of(config, model)
    with pytest.raises(ModelError, match="not in the vocabulary"):
        engine.pass_reader().finish(engine.begin().read([VOCABULARY]))
    with pytest.raises(ModelError, match="not in the vocabulary"):
        engine.score([[START, -1]])
    with pytest.raises(ModelError, match="longer than the model's context"):
        engine.score([text_of(18)])
    with pytest.raises(ModelError, match="longer than the engine's positions"):
        engine_of(config, model, context=CONTEXT + 1)
    assert engine.score([]) == []
