"""Steps, prompts and packed rows against one pass over each text, for every variant."""

import pytest
import torch

from jumok.attention.masks import Documents
from jumok.config.causal import CausalConfig
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import Decoder, PrefillDecoder, TrainableDecoder
from tests.models.sequences import assert_close
from tests.parity.torch_weights import roughen

VOCABULARY = 31
SIZES = {"dim": 15, "heads": 3, "layers": 2, "feedforward": 29, "max_length": 41}
VARIANTS = {
    "plain": {"positions": "sinusoidal"},
    "kernels": {"dim": 48, "feedforward": 64, "positions": "learned"},
    "learned, post-norm": {"positions": "learned", "norm": "post"},
    "rotary": {"head_dim": 8},
    "alibi": {"positions": "alibi"},
    "binary, concatenated": {"positions": "binary", "positions_join": "concatenate"},
    "rotary kernels": {"dim": 48, "head_dim": 16, "feedforward": 64},
    "no positions, not tied": {"positions": "none", "tied": False, "activation": "relu"},
}
TEXTS = torch.tensor([[2, 21, 22, 23, 24, 25, 26], [2, 11, 12, 13, 14, 15, 16]])

every_variant = pytest.mark.parametrize("variant", VARIANTS)
pytestmark = pytest.mark.usefixtures("inference")


def build(variant: str) -> CausalLanguageModel:
    torch.manual_seed(1)
    dropped = dict.fromkeys(("dropout", "attention_dropout", "word_dropout"), 0.5)
    config = CausalConfig.model_validate({**SIZES, **dropped, **VARIANTS[variant]})
    return roughen(CausalLanguageModel(config, VOCABULARY)).eval()


def logits(model: CausalLanguageModel, tokens: torch.Tensor) -> torch.Tensor:
    return model.decoder.logits(model.hidden(tokens))


@every_variant
def test_steps_give_the_logits_of_one_pass(variant):
    model = build(variant)
    expected = logits(model, TEXTS)
    assert_close(model.decoder(model.nothing(2), TEXTS), expected)
    state = model.decoder.start(model.nothing(2))
    for t in range(7):
        found, state = model.decoder.step(TEXTS[:, t], state)
        assert_close(found, expected[:, t])


@every_variant
def test_a_prompt_read_in_one_pass_is_read_as_by_steps(variant):
    """Also a second prompt behind the first, and a step behind both."""
    model = build(variant)
    expected = logits(model, TEXTS)
    state = model.decoder.start(model.nothing(2))
    first, state = model.decoder.read_all(TEXTS[:, :1], state)
    second, state = model.decoder.read_all(TEXTS[:, 1:6], state)
    last, state = model.decoder.step(TEXTS[:, 6], state)
    assert_close(torch.cat([first, second, last[:, None]], 1), expected)


@every_variant
def test_documents_packed_into_a_row_are_read_as_documents_of_their_own(variant):
    """Three documents of 4, 2 and 3 tokens, and padding, beside one of 7 in the other row."""
    model = build(variant)
    own = [torch.tensor([[2, 5, 6, 7]]), torch.tensor([[2, 8]]), torch.tensor([[9, 10, 11]])]
    row = torch.cat([*own, torch.zeros(1, 1, dtype=torch.long)], 1)
    other = torch.cat([TEXTS[:1], torch.zeros(1, 3, dtype=torch.long)], 1)
    documents = torch.tensor([[0, 0, 0, 0, 1, 1, 2, 2, 2, -1], [0] * 7 + [-1] * 3])
    packed = model.hidden(torch.cat([row, other]), Documents(documents))
    separate = torch.cat([model.hidden(one) for one in own], 1)
    assert_close(packed[:1, :9], separate)
    assert_close(packed[1:, :7], model.hidden(TEXTS[:1]))


@every_variant
def test_logits_do_not_see_the_future(variant):
    model = build(variant)
    changed = TEXTS.clone()
    changed[:, 4:] = 4
    before, after = logits(model, TEXTS), logits(model, changed)
    assert_close(after[:, :4], before[:, :4])
    assert not torch.allclose(after[:, 4], before[:, 4], atol=1e-3)


def test_packed_documents_learn_as_documents_of_their_own():
    """The gradients too are the sum over the documents."""
    with torch.inference_mode(False):
        model = build("rotary kernels")
        own = [torch.tensor([[2, 5, 6, 7]]), torch.tensor([[2, 8, 9]])]
        documents = torch.tensor([[3, 3, 3, 3, 5, 5, 5]])
        model.hidden(torch.cat(own, 1), Documents(documents)).square().sum().backward()
        packed = {name: p.grad.clone() for name, p in model.named_parameters()}
        model.zero_grad()
        sum(model.hidden(one).square().sum() for one in own).backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(parameter.grad, packed[name], atol=1e-3, rtol=1e-4)


def test_indexes_count_from_the_start_of_each_document():
    documents = torch.tensor([[0, 0, 0, 1, 1, 2], [7, 4, 4, 4, 7, 7]])
    expected = torch.tensor([[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 0, 1]])
    assert torch.equal(Documents(documents).indexes(), expected)


def test_it_is_decoded_as_any_decoder_and_reads_prompts():
    decoder = build("plain").decoder
    assert isinstance(decoder, Decoder)
    assert isinstance(decoder, TrainableDecoder)
    assert isinstance(decoder, PrefillDecoder)


def test_tied_tables_are_one():
    model = build("plain")
    assert model.decoder.output.weight is model.decoder.embedding.table
    model = build("no positions, not tied")
    assert model.decoder.output.weight is not model.decoder.embedding.table
