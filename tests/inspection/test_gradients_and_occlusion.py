"""Gradients against small steps, occlusion against one word after another."""

from functools import partial

import pytest
import torch

import jumok
from jumok.config import TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import END, START
from jumok.inspection.gradients_and_occlusion import (
    gradients,
    occlude_words,
    written_alone,
    written_from,
)
from jumok.inspection.hooks.intervene import blanked, edited_words, embeddings_of
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel

SOURCE, TARGET = torch.tensor([[5, 6, 7, 8, END]]), torch.tensor([[START, 9, 10]])
WRITTEN = torch.tensor([9, 10, END])

SIZES = {"dim": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 11}
MODELS = {
    "transformer": lambda: Transformer(TransformerConfig(**SIZES), 31),
    "rotary": lambda: Transformer(TransformerConfig(**SIZES, positions="rotary"), 31),
    "gru": lambda: RecurrentModel(RecurrentConfig(dim=16, embedding=12), 31),
    "lstm": lambda: RecurrentModel(
        RecurrentConfig(dim=16, embedding=12, cell="lstm", attention="none"), 31
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request) -> SequenceToSequence:
    torch.manual_seed(3)
    return MODELS[request.param]().double().eval().requires_grad_(False)


def log_probabilities(model: SequenceToSequence) -> torch.Tensor:
    logits = model.decoder(model.encode(SOURCE), TARGET)[0]
    return logits.log_softmax(-1).gather(1, WRITTEN[:, None])[:, 0]


STEP = 1e-3  # scores are float32 whatever the model is: smaller steps drown in rounding


def nudged(words, position: int, nudge: torch.Tensor, run) -> torch.Tensor:
    """What `run` gives when a word's vector is moved."""

    def edit(states, _):
        states = states.clone()
        states[0, position] += nudge
        return states

    with edited_words({words: edit}):
        return run()


def test_slopes_are_those_that_small_steps_show(model):
    text = written_from(model, SOURCE, TARGET, WRITTEN)
    found = gradients(text)
    encoder, decoder = embeddings_of(model).values()
    run = partial(log_probabilities, model)
    for axis, words, tokens, position in (
        ("source", encoder, SOURCE, 2),
        ("target", decoder, TARGET, 1),
    ):
        assert found[axis].product.shape == (3, text.lengths[axis])
        ways = torch.eye(words.table.shape[1], dtype=torch.float64) * STEP
        ahead = torch.stack([nudged(words, position, way, run) for way in ways], dim=1)
        behind = torch.stack([nudged(words, position, -way, run) for way in ways], dim=1)
        gradient = (ahead - behind) / (2 * STEP)  # (written dim)
        vector = words.table[tokens[0, position]] * words.scale
        near = {"atol": 1e-3, "rtol": 1e-2}
        product, length = (gradient @ vector).float(), gradient.norm(dim=1).float()
        torch.testing.assert_close(found[axis].product[:, position], product, **near)
        torch.testing.assert_close(found[axis].length[:, position], length, **near)


def test_what_comes_later_has_no_slope(model):
    found = gradients(written_from(model, SOURCE, TARGET, WRITTEN))["target"]
    assert found.product.triu(1).abs().max() == 0.0
    assert found.length.triu(1).abs().max() == 0.0


def test_blank_out_is_one_word_after_another(model):
    text = written_from(model, SOURCE, TARGET, WRITTEN)
    groups = {"source": [[0], [1], [2, 3], [4]], "target": [[0], [1], [2]]}
    found = occlude_words(text, groups)
    whole = log_probabilities(model)
    for column, group in enumerate(groups["source"]):
        with blanked(model, group):
            change = whole - log_probabilities(model)
        torch.testing.assert_close(found["source"][:, column].double(), change, atol=1e-5, rtol=0)
    _, decoder = embeddings_of(model).values()
    for column in range(3):

        def without(states, _, column=column):
            return states.index_fill(1, torch.tensor([column]), 0.0)

        with edited_words({decoder: without}):
            change = whole - log_probabilities(model)
        torch.testing.assert_close(found["target"][:, column].double(), change, atol=1e-5, rtol=0)
    assert found["target"].triu(1).abs().max() == 0.0


def test_many_words_are_many_batches(model, monkeypatch):
    text = written_from(model, SOURCE, TARGET, WRITTEN)
    groups = {axis: [[i] for i in range(length)] for axis, length in text.lengths.items()}
    blanks, at_once = occlude_words(text, groups), gradients(text)
    monkeypatch.setattr("jumok.inspection.gradients_and_occlusion.OCCLUDED_ROWS", 2)
    for axis, found in occlude_words(text, groups).items():
        torch.testing.assert_close(found, blanks[axis], atol=1e-6, rtol=1e-5)
    for axis, slope in gradients(text).items():
        torch.testing.assert_close(slope.product, at_once[axis].product, atol=1e-6, rtol=1e-5)


def test_a_model_that_translates_has_slopes_as_it_was_stored_has(tiny_bundle):
    """Laid out for inference, in inference mode: the same as those of the weights in the file."""
    from jumok.bundle.reading import read_bundle
    from jumok.bundle.weights import load_model

    stored = load_model(read_bundle(tiny_bundle), "cpu")
    assert isinstance(stored, SequenceToSequence)
    expected = gradients(written_from(stored, SOURCE, TARGET, WRITTEN))
    packed = jumok.load(tiny_bundle, device="cpu").models[0]
    with torch.inference_mode():
        source, target, written = SOURCE.clone(), TARGET.clone(), WRITTEN.clone()
        packed.decoder(packed.encode(source), target)
        found = gradients(written_from(packed, source, target, written))
    for axis, slope in found.items():
        torch.testing.assert_close(slope.product, expected[axis].product, atol=1e-4, rtol=1e-3)


def test_an_rnn_that_translates_has_slopes_too():
    torch.manual_seed(5)
    model = RecurrentModel(RecurrentConfig(dim=16, embedding=16, cell="gru"), 31).eval()
    expected = gradients(written_from(model, SOURCE, TARGET, WRITTEN))
    model.eval().to(torch.float32)
    with torch.inference_mode():
        found = gradients(written_from(model, SOURCE, TARGET, WRITTEN))
    for axis, slope in found.items():
        torch.testing.assert_close(slope.product, expected[axis].product, atol=1e-5, rtol=1e-3)


def test_a_language_model_reads_what_it_wrote():
    """Gradients by small steps, occlusion by `blanked`; START is a word, the last token none."""
    torch.manual_seed(5)
    config = CausalConfig(dim=16, heads=2, layers=2, feedforward=11)
    model = CausalLanguageModel(config, 31).double().eval().requires_grad_(False)
    tokens = [START, 7, 9, 11]
    text = written_alone(model.decoder, model.hidden, tokens)
    (words,) = text.words.values()

    def run() -> torch.Tensor:
        logits = model.decoder.logits(model.hidden(torch.tensor([tokens])))[0, :-1]
        return logits.log_softmax(-1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]

    (whole,) = text.score(1)
    torch.testing.assert_close(whole, run().float())
    vector = words.table[7] * words.scale
    ahead, behind = (nudged(words, 1, step * vector, run) for step in (STEP, -STEP))
    found = gradients(text)["text"].product
    assert found.shape == (3, 4)
    expected = ((ahead - behind) / (2 * STEP)).float()
    torch.testing.assert_close(found[:, 1], expected, atol=1e-4, rtol=1e-3)
    blanks = occlude_words(text, {"text": [[0], [1], [2, 3]]})["text"]
    with blanked(model, [1]):
        change = (whole - run()).float()
    torch.testing.assert_close(blanks[:, 1], change, atol=1e-5, rtol=1e-4)
    assert blanks[:2, 2].tolist() == [0.0, 0.0]
    assert found[:, 3].tolist() == [0.0, 0.0, 0.0]
