"""Value residuals by hand, in a stack of three blocks."""

import torch

from jumok.attention.core import attend
from jumok.attention.variants.value_residual import FirstValues, ValueResidual
from jumok.config.causal import CausalConfig
from jumok.models.causal import CausalLanguageModel
from tests.parity.torch_weights import roughen


def test_the_mix_starts_as_the_mean_of_both():
    first, value = FirstValues(), torch.full((2, 1, 3, 5), 4.0)
    assert ValueResidual(0)(value, first) is value
    assert not list(ValueResidual(0).parameters())
    found = ValueResidual(1)(torch.full((2, 1, 3, 5), 10.0), first)
    assert torch.equal(found, torch.full((2, 1, 3, 5), 7.0))


@torch.no_grad()
def test_later_layers_attend_to_their_own_values_and_to_those_of_the_first():
    """The values of the third layer are replaced by what the formula gives, in a plain model."""
    torch.manual_seed(1)
    sizes = {"dim": 12, "heads": 3, "kv_heads": 1, "layers": 3, "feedforward": 17, "dropout": 0.0}
    model = roughen(CausalLanguageModel(CausalConfig(value_residual=True, **sizes), 23)).eval()
    tokens = torch.arange(10).view(2, 5)
    inputs, outputs = [], []
    for block in model.decoder.blocks:
        block.self_attention.register_forward_pre_hook(lambda _, given: inputs.append(given))
        block.self_attention.register_forward_hook(lambda _, __, found: outputs.append(found))
    model.hidden(tokens)
    attentions = [block.self_attention for block in model.decoder.blocks]
    values = [
        attention.value(given[0]).unflatten(2, (1, 4)).transpose(1, 2)
        for attention, given in zip(attentions, inputs, strict=True)
    ]
    assert attentions[0].value_residual.mix is None
    for layer in (1, 2):
        attention, (states, _, allowed) = attentions[layer], inputs[layer]
        mix = attention.value_residual.mix
        query = attention.query(states).unflatten(2, (3, 4)).transpose(1, 2)
        for process in attention.process_queries:
            query = process(query, 0)
        key, _ = attention.keys_values(states)
        value = mix[0] * values[0] + mix[1] * values[layer]
        found = attend(query, key, value, allowed).transpose(1, 2).flatten(2)
        torch.testing.assert_close(attention.output(found), outputs[layer], atol=1e-5, rtol=0)
