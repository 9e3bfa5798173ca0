"""Linear attention by hand: its two orders of products, its state, and its weights."""

import math

import pytest
import torch

from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.observe import observe
from jumok.attention.role import Role
from jumok.attention.variants.linear import LinearAttention
from jumok.config.causal import CausalConfig
from jumok.errors import ModelError
from jumok.kernels.noise import Noise
from jumok.models.causal import CausalLanguageModel
from jumok.specs import AttentionSizes
from tests.parity.torch_weights import roughen


def of_sizes(dim: int, heads: int, kv_heads: int, head_dim: int) -> LinearAttention:
    torch.manual_seed(1)
    sizes = AttentionSizes(dim, heads, kv_heads, head_dim, head_dim)
    return roughen(LinearAttention.of(sizes, HeadParts(), Noise(), 0.0, Role("decoder"))).eval()


def test_the_formula_by_hand():
    """f(1) = 2, f(-1) = 1 / e: a query of 1 gives the keys 1 and -1 weights of 2 and 1 / e."""
    attention = of_sizes(1, 1, 1, 1)
    with torch.no_grad():
        for layer in (attention.query, attention.key, attention.value, attention.output):
            layer.weight.fill_(1.0)
            layer.bias.fill_(0.0)
    states = torch.tensor([[[1.0], [-1.0]]])
    total = 2 + 1 / math.e
    found = attention(states, states)[0, :, 0].tolist()
    assert found == pytest.approx([(2 - 1 / math.e) / total] * 2)
    assert attention(states, states, AttentionMask(causal=True))[0, 0, 0].item() == 1.0


@torch.no_grad()
def test_sums_of_products_are_what_the_weights_give():
    """The readable order against S and z, written out for every query."""
    attention = of_sizes(13, 6, 2, 5)
    states, heard = torch.randn(2, 7, 13), []
    key, value = attention.keys_values(states)
    query = attention.features_of(attention.query(states).unflatten(2, (6, 5)).transpose(1, 2), 0)
    outputs = torch.zeros(2, 6, 7, 5)
    for head in range(6):
        shared = head // 3
        for place in range(7):
            seen, given = key[:, shared, : place + 1], value[:, shared, : place + 1]
            products = torch.einsum("bnd,bnv->bdv", seen, given)
            asked = query[:, head, place]
            sums = (asked * seen.sum(1)).sum(1, keepdim=True)
            outputs[:, head, place] = torch.einsum("bd,bdv->bv", asked, products) / sums
    expected = attention.output(outputs.transpose(1, 2).flatten(2))
    with observe(attention, lambda _, attention: heard.append(attention)):
        found = attention(states, states, AttentionMask(causal=True))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert (heard[0].kind, heard[0].scale) == ("linear", None)
    torch.testing.assert_close(heard[0].weights.sum(-1), torch.ones(2, 6, 7))
    assert not heard[0].weights.triu(1).any()


def language_model() -> CausalLanguageModel:
    torch.manual_seed(1)
    config = CausalConfig(
        dim=12, heads=3, kv_heads=1, attention_kind="linear", layers=2, feedforward=17, dropout=0.0
    )
    return roughen(CausalLanguageModel(config, 23)).eval()


@torch.inference_mode()
def test_steps_are_all_positions_at_once_and_the_state_does_not_grow():
    model = language_model()
    tokens, sizes, found = torch.arange(40).view(2, 20) % 23, set(), []
    expected = model.decoder.logits(model.hidden(tokens))
    state = model.decoder.start(model.nothing(2))
    logits, state = model.decoder.read_all(tokens[:, :3], state)
    found.extend(logits.unbind(1))
    for column in tokens[:, 3:].T:
        logits, state = model.decoder.step(column, state)
        found.append(logits)
        past = state.blocks[0].past
        sizes.add((past.products.numel(), past.features.numel(), past.kept))
    torch.testing.assert_close(torch.stack(found, 1), expected, atol=1e-5, rtol=0)
    assert sizes == {(2 * 1 * 4 * 4, 2 * 1 * 4, None)}
    assert state.blocks[0].past.length == 20


@torch.inference_mode()
def test_who_observes_steps_gets_the_weights_of_all_positions_at_once():
    model = language_model()
    tokens, whole, steps = torch.arange(12).view(2, 6), [], []
    with observe(model, lambda site, attention: whole.append(attention)):
        model.hidden(tokens)
    state = model.decoder.start(model.nothing(2))
    with observe(model, lambda site, attention: steps.append(attention)):
        for column in tokens.T:
            _, state = model.decoder.step(column, state)
    for layer in range(2):
        for place in range(6):
            expected = whole[layer].weights[:, :, place, : place + 1]
            found = steps[2 * place + layer].weights[:, :, 0]
            torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@torch.inference_mode()
def test_who_begins_to_observe_in_the_middle_is_told_why_there_are_no_weights():
    model = language_model()
    _, state = model.decoder.step(torch.tensor([3, 5]), model.decoder.start(model.nothing(2)))
    with (
        observe(model, lambda site, attention: None),
        pytest.raises(ModelError, match="linear attention keeps no keys") as caught,
    ):
        model.decoder.step(torch.tensor([7, 11]), state)
    assert "one from position 2 on" in str(caught.value)


def test_what_it_cannot_be_combined_with_is_said():
    for keys, said in (
        ({"sinks": True}, 'attention_kind = "linear" has no sinks: leave it out'),
        ({"positions": "alibi"}, 'attention_kind = "linear" has no scores that positions'),
    ):
        with pytest.raises(ValueError, match=said):
            CausalConfig(attention_kind="linear", **keys)
