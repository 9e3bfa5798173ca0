"""Training a part of a model: what is frozen keeps its bits, and low-rank additions are merged."""

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.config import StartConfig
from jumok.errors import ConfigError
from jumok.kernels.linear import linears
from jumok.layers.block import Block
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.partial import leave_out, merge_additions
from jumok.training.run import train
from tests.training.conftest import Recorder
from tests.training.runs import Killed, assert_same_end, killed_at
from tests.training.starts import FAMILIES, earlier, further


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """For each family the bundle of a model to start from, and its folder."""
    made = {}

    def of(family):
        if family not in made:
            folder = tmp_path_factory.mktemp(family)
            train(earlier(family, folder), folder / "runs", Recorder())
            made[family] = folder, folder / "runs" / "old" / "model"
        return made[family]

    return of


def weights_of(bundle):
    return load_file(bundle / "model.safetensors")


@pytest.mark.parametrize("family", FAMILIES)
def test_frozen_parameters_keep_their_bits_and_the_others_change(old, family, tmp_path):
    folder, model = old(family)
    before = weights_of(model)
    frozen = next(name for name in before if name.endswith("bias"))
    config = further(family, folder, model, f'start.freeze=["{frozen}"]', 'name="partly"')
    result = train(config, tmp_path / "runs", Recorder())
    last = sorted((result.folder / "steps").iterdir())[-1]
    after = weights_of(last)
    assert after.keys() == before.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert frozen not in changed
    assert len(changed) > len(before) // 2
    assert f"frozen: {frozen}" in read_bundle(last).card.started_from


def test_frozen_parameters_have_neither_gradient_nor_moments(old):
    _, bundle = old("transformer")
    model = load_model(read_bundle(bundle))
    every = FlatParameters(model).size
    leave_out(model, StartConfig(model=bundle, freeze=("encoder.*",)))
    layout = FlatParameters(model)
    assert layout.size < every
    assert not any(name.startswith("encoder.") for name, _, _ in layout.entries)


def test_a_pattern_that_names_nothing(old):
    _, bundle = old("transformer")
    model = load_model(read_bundle(bundle))
    with pytest.raises(ConfigError, match="names no parameter") as raised:
        leave_out(model, StartConfig(model=bundle, freeze=("encodr.*",)))
    assert "encoder.blocks.*.self_attention.query.weight" in str(raised.value)
    with pytest.raises(ConfigError, match="nothing of the model is left"):
        leave_out(model, StartConfig(model=bundle, freeze=("*",)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_additions_are_those_of_a_hand_computation(old, dtype):
    _, bundle = old("transformer")
    model = load_model(read_bundle(bundle)).train()
    leave_out(model, StartConfig(model=bundle, lora=3, lora_alpha=5.0))
    model.to(dtype)
    block = next(each for each in model.modules() if isinstance(each, Block))
    layers = [block.self_attention.query, block.self_attention.key]
    torch.manual_seed(1)
    states = torch.randn(2, 32, layers[0].in_features).to(dtype)
    for layer in layers:
        torch.nn.init.normal_(layer.parametrizations.weight[0].up)
    for joint in (False, True):
        model.zero_grad()
        outputs = linears(states, layers) if joint else [layer(states) for layer in layers]
        sum((each.float() ** 2).sum() for each in outputs).backward()
        for layer, output in zip(layers, outputs, strict=True):
            held = layer.parametrizations.weight
            weight, up, down = (
                each.detach().float().requires_grad_()
                for each in (held.original, held[0].up, held[0].down)
            )
            given = states.float()
            bias = layer.bias.detach().float()
            mine = F.linear(given, weight, bias) + 5 / 3 * (given @ down.T) @ up.T
            (mine**2).sum().backward()
            close = (
                {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 0.1, "atol": 8}
            )
            torch.testing.assert_close(
                output.float(),
                mine,
                rtol=close["rtol"],
                atol=0.2 if dtype != torch.float32 else 1e-4,
            )
            torch.testing.assert_close(held[0].up.grad.float(), up.grad, **close)
            torch.testing.assert_close(held[0].down.grad.float(), down.grad, **close)
            assert held.original.grad is None
            assert layer.bias.grad is None


def test_low_rank_additions_are_merged_and_resumed_in_the_same_bits(old, tmp_path):
    folder, model = old("transformer")
    asked = "transformer", folder, model, "start.lora=2", 'name="low"'
    config = further(*asked)
    whole = train(config, tmp_path / "whole", Recorder())
    with pytest.raises(Killed):
        train(config, tmp_path / "cut", killed_at(Recorder, 3))
    config = further(*asked, runs=tmp_path / "cut")
    again = train(config, tmp_path / "cut", Recorder(), resume=True)
    assert_same_end(whole.folder, again.folder)
    before = weights_of(model)
    last = sorted((whole.folder / "steps").iterdir())[-1]
    after = weights_of(last)
    assert after.keys() == before.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    inside = {name for name in before if ".blocks." in name and before[name].ndim == 2}
    assert changed == inside
    for name in changed:
        assert torch.linalg.matrix_rank(after[name] - before[name], rtol=1e-3) <= 2
    assert "low-rank additions of rank 2" in read_bundle(last).card.started_from


def test_a_merged_model_computes_the_same(old):
    _, bundle = old("transformer")
    model = load_model(read_bundle(bundle)).eval()
    leave_out(model, StartConfig(model=bundle, lora=2))
    for name, parameter in model.named_parameters():
        if name.endswith("up"):
            torch.nn.init.normal_(parameter)
    source, target = torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]])
    with torch.no_grad():
        before = model.decoder(model.encode(source), target)
        merge_additions(model)
        after = model.decoder(model.encode(source), target)
    torch.testing.assert_close(after, before)
    assert model.state_dict().keys() == load_model(read_bundle(bundle)).state_dict().keys()
