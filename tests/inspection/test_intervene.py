"""A head that is off is a head that was never there."""

import pytest
import torch

from jumok.attention.multihead import MultiHeadAttention
from jumok.config import TransformerConfig
from jumok.data.tokenizer import END, START
from jumok.errors import ModelError
from jumok.inspection.capture import capture
from jumok.inspection.intervene import sites, switched_off, without_each_head
from jumok.kernels.noise import Noise
from jumok.models.encoder_decoder import Transformer

SOURCE, TARGET = torch.tensor([[5, 6, 7, END]]), torch.tensor([[START, 8, 9]])


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(3)
    config = TransformerConfig(dim=24, heads=3, encoder_layers=1, decoder_layers=2, feedforward=17)
    return Transformer(config, 31).eval().requires_grad_(False)


def count(model: Transformer) -> dict[str, int]:
    return dict.fromkeys(sites(model), 3)


def test_a_head_that_is_off_is_one_whose_part_of_the_projection_is_zero():
    """Gating comes before the output projection: its columns of the head can as well be 0."""
    torch.manual_seed(5)
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval()
    states = torch.randn(2, 7, 15)
    with torch.no_grad(), switched_off(attention, {"": [1]}, {"": 3}):
        off = attention(states, states)
    with torch.no_grad():
        attention.output.weight[:, 5:10] = 0.0
        torch.testing.assert_close(off, attention(states, states))


def test_every_site_is_switched_and_comes_back(model):
    plain = capture(model, SOURCE, TARGET)[1]
    for site in sites(model):
        with switched_off(model, {site: [0, 2]}, count(model)):
            assert not torch.allclose(capture(model, SOURCE, TARGET)[1], plain, atol=1e-4), site
        torch.testing.assert_close(capture(model, SOURCE, TARGET)[1], plain)


def test_a_fault_inside_leaves_no_head_off(model):
    plain = capture(model, SOURCE, TARGET)[1]
    with pytest.raises(ZeroDivisionError), switched_off(model, {"": []}, {}):
        _ = 1 / 0
    site = next(iter(sites(model)))
    with pytest.raises(ZeroDivisionError), switched_off(model, {site: [0]}, count(model)):
        _ = 1 / 0
    torch.testing.assert_close(capture(model, SOURCE, TARGET)[1], plain)


def test_cached_steps_without_a_head_are_the_parallel_pass_without_it(model):
    middle = {site: [1] for site in sites(model)}
    with torch.inference_mode(), switched_off(model, middle, count(model)):
        memory = model.encode(SOURCE)
        whole = model.decoder(memory, TARGET)[0]
        state = model.decoder.start(memory)
        for position, token in enumerate(TARGET[0]):
            logits, state = model.decoder.step(token[None], state)
            torch.testing.assert_close(logits[0], whole[position], atol=1e-4, rtol=1e-4)


def test_changes_are_those_of_one_head_after_another(model):
    written = torch.tensor([8, 9, END])
    changes = without_each_head(model, SOURCE, TARGET, written, count(model))
    assert set(changes) == set(sites(model))
    site = "decoder.blocks.1.cross_attention"
    rows = torch.arange(3)
    plain = capture(model, SOURCE, TARGET)[1][rows, written]
    with switched_off(model, {site: [2]}, count(model)):
        off = capture(model, SOURCE, TARGET)[1][rows, written]
    torch.testing.assert_close(changes[site][2], off - plain, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("site", "head"), [("decoder.nothing", 0), ("encoder.blocks.0.self_attention", 3)]
)
def test_a_head_that_does_not_exist_is_named(model, site, head):
    with pytest.raises(ModelError) as caught, switched_off(model, {site: [head]}, count(model)):
        pass
    assert "no such head" in str(caught.value)
    assert "encoder.blocks.0.self_attention: 0 to 2" in str(caught.value)


def test_gates_have_the_precision_of_the_model():
    """A gate of float32 would make float32 of what a layer in bfloat16 has to read."""
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval().to(torch.bfloat16)
    states = torch.ones(1, 2, 15, dtype=torch.bfloat16)
    with torch.no_grad(), switched_off(attention, {"": [1]}, {"": 3}):
        assert attention(states, states).dtype is torch.bfloat16


def test_each_sentence_may_have_its_own_gates():
    torch.manual_seed(7)
    attention = MultiHeadAttention(15, 3, 5, 5, Noise()).eval()
    states = torch.randn(2, 7, 15)
    with torch.no_grad():
        attention.gate = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
        both = attention(states, states)
        attention.gate = None
        torch.testing.assert_close(both[1:], attention(states[1:], states[1:]))
        with switched_off(attention, {"": [1]}, {"": 3}):
            torch.testing.assert_close(both[:1], attention(states[:1], states[:1]))
