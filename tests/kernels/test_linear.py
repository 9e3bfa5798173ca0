import copy
import math

import pytest
import torch
from torch import nn

from jumok.config import TransformerConfig
from jumok.kernels.linear import Linear, Projection, prepare_for_inference
from jumok.kernels.packed import Packs, can_be_packed
from jumok.models.encoder_decoder import Transformer


def test_weights_start_within_xaviers_bound_and_biases_at_zero():
    layer = Linear(150, 50)
    bound = math.sqrt(6 / 200)
    assert 0.99 * bound < layer.weight.abs().max() <= bound  # 7,500 draws reach close to it
    assert not layer.bias.any()


def test_linear_is_torchs():
    layer = Linear(5, 7)
    states = torch.randn(2, 3, 5)
    expected = torch.einsum("bld,od->blo", states, layer.weight) + layer.bias
    torch.testing.assert_close(layer(states), expected)


def test_linear_without_a_bias_has_none():
    layer, states = Linear(5, 7, bias=False), torch.randn(2, 3, 5)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    expected = torch.einsum("bld,od->blo", states, layer.weight)
    torch.testing.assert_close(layer(states), expected)


def test_projection_is_the_dot_product_with_each_row_of_its_table():
    table = nn.Parameter(torch.randn(7, 5))
    states = torch.randn(2, 3, 5)
    torch.testing.assert_close(Projection(table)(states), states @ table.t())


def sums(model: Transformer) -> torch.Tensor:
    source, target = torch.arange(2 * 13).view(2, 13), torch.arange(2 * 7).view(2, 7)
    with torch.inference_mode():
        return model.decoder(model.encode(source), target).float()


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch without oneDNN")
@pytest.mark.parametrize(("tied", "bias"), [("all", True), ("none", True), ("none", False)])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
def test_packed_weights_give_the_same_logits(tied, bias, positions, dtype, tolerance):
    torch.manual_seed(1)
    sizes = {"dim": 48, "heads": 3, "feedforward": 29}
    config = TransformerConfig(tied=tied, positions=positions, bias=bias, **sizes)
    model = Transformer(config, 31).eval()
    expected = sums(model)
    ready, packs = prepare_for_inference(copy.deepcopy(model).train(), dtype), Packs()
    with packs.at_work():
        found = sums(ready)
    limit = tolerance * float(expected.abs().max())
    torch.testing.assert_close(found, expected, atol=limit, rtol=0)
    assert not ready.training
    copies = [copy for _, copy in packs._copies.values() if copy is not None]
    assert len(copies) == (3 * 6 + 3 * 10 + 1 if can_be_packed(next(ready.parameters())) else 0)
    assert all(copy.packed.layout == torch._mkldnn for copy in copies)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [(3, 13), (64, 1), (1, 67)])
def test_rows_of_zeros_change_neither_a_product_nor_its_gradients(rows, bias):
    states = torch.randn(*rows, 32).bfloat16()
    slope = torch.randn(*rows, 48).bfloat16()
    layer = Linear(32, 48, bias).bfloat16()
    plain = nn.Linear(32, 48, bias).bfloat16()
    plain.load_state_dict(layer.state_dict())
    found, expected = states.clone().requires_grad_(), states.clone().requires_grad_()
    layer(found).backward(slope)
    plain(expected).backward(slope)
    torch.testing.assert_close(layer(states), plain(states))
    torch.testing.assert_close(found.grad, expected.grad)
    torch.testing.assert_close(layer.weight.grad, plain.weight.grad, rtol=2e-2, atol=2e-2)
    if bias:
        torch.testing.assert_close(layer.bias.grad, plain.bias.grad, rtol=2e-2, atol=6e-2)
