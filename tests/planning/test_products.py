"""The arithmetic against torch: products counted while they run, tensors that autograd keeps."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from jumok.attention import core, fused, multihead
from jumok.attention.variants import sink
from jumok.errors import ConfigError
from jumok.kernels import native
from jumok.models.size import numbers_in
from jumok.parts import PARTS, PartEntry
from jumok.planning.activations import kept_numbers
from jumok.planning.blocks import keys_seen
from jumok.planning.plan import numbers_of
from jumok.planning.products import TextLengths, model_parts
from jumok.training.devices.memory import recompute
from tests.planning.models import (
    SOURCE,
    TARGET,
    VOCABULARY,
    loss,
    model_of,
    recipe,
    states,
    targets_of,
    texts,
)

LENGTHS = TextLengths(SOURCE, TARGET)
SMALL = {"dim": 24, "heads": 3, "feedforward": 40}
GRID = {"kind": "cnn", "size": 32, "channels": [6, 8]}
MODELS = {
    "transformer": SMALL | {"encoder_layers": 2, "decoder_layers": 3},
    "transformer with parts": SMALL
    | {"kv_heads": 1, "tied": "none", "feedforward_kind": "gated", "value_dim": 5}
    | {"positions": "learned"},
    "causal": SMALL | {"kind": "causal-lm", "layers": 2, "tied": False},
    "masked": SMALL | {"kind": "masked-lm", "layers": 2},
    "text classifier": SMALL | {"kind": "text-classifier", "layers": 2},
    "gru, additive": {"kind": "rnn", "dim": 20, "embedding": 14},
    "lstm, one vector": {
        "kind": "rnn",
        "dim": 20,
        "embedding": 14,
        "cell": "lstm",
        "attention": "none",
        "decoder_layers": 2,
        "encoder_layers": 2,
    },
    "luong": {"kind": "rnn", "dim": 20, "embedding": 14, "attention": "dot", "order": "luong"},
    "latent, with experts": SMALL
    | {"attention_kind": "latent", "latent_dim": 9, "query_latent_dim": 7, "rotary_dim": 4}
    | {"experts": 4, "experts_used": 2, "positions": "rotary"},
    "linear, with gates": SMALL
    | {"attention_kind": "linear", "process_output": ["head-gate", "element-gate"]}
    | {"value_residual": True, "kv_heads": 1},
    "differential": SMALL
    | {"attention_kind": "differential", "heads": 4, "kv_heads": 2, "layers": 2}
    | {"kind": "causal-lm", "logit_cap": 20.0, "activation": "relu2"},
    "sinks and experts": SMALL
    | {"kind": "causal-lm", "sinks": True, "score": "bilinear", "kv_heads": 1}
    | {"experts": 3, "experts_used": 1, "feedforward_kind": "gated"},
    "capped": SMALL | {"score_cap": 5.0, "score": "additive"},
    "images": {
        "kind": "image-classifier",
        "height": 20,
        "width": 16,
        "channels": [6, 8],
        "attention_after": [2],
        "mixing_after": [1],
        "patch": 2,
    },
    "captions": {
        "kind": "captioner",
        "encoder": GRID,
        "decoder": {"kind": "transformer", **SMALL},
        "reader": {"layers": 1, "heads": 2, "feedforward": 30},
    },
    "captions, one vector": {
        "kind": "captioner",
        "encoder": GRID,
        "memory": "one",
        "decoder": {"kind": "rnn", "dim": 24, "embedding": 12},
    },
}


class FlopCounter(TorchDispatchMode):
    """Counts by the table of torch's FlopCounterMode, whose start takes ten seconds."""

    total = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            self.total += formula(*args, **kwargs, out_val=output)
        return output


@pytest.fixture(autouse=True)
def without_own_kernels(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: None)


@pytest.mark.parametrize("name", MODELS)
def test_products_are_those_that_torch_counts(name):
    masked = {"masking": {"share": 0.5}} if name == "masked" else {}
    config = recipe(MODELS[name], **masked)
    model = model_of(config)
    # One call of oneDNN is a whole LSTM; without it, torch's is made of products.
    with torch.backends.mkldnn.flags(enabled=False), FlopCounter() as counter:
        value = loss(model, config)
        forward = counter.total
        value.backward()
    parts, targets = model_parts(config, VOCABULARY, LENGTHS), targets_of(config)
    assert sum(part.forward for part in parts) * targets == pytest.approx(forward, rel=1e-9)
    # An RNN's first state is a constant, whose gradient torch leaves out.
    both = pytest.approx(counter.total, rel=0.006)
    assert sum(part.both for part in parts) * targets == both


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_the_matrices_of_the_model(name):
    config = recipe(MODELS[name])
    model = model_of(config)
    matrices = sum(each.numel() for each in model.parameters() if each.dim() > 1)
    planned = sum(part.weights for part in model_parts(config, VOCABULARY, LENGTHS))
    assert planned == pytest.approx(matrices, rel=0.002)


def test_weights_are_those_by_which_bundles_are_checked():
    """The other count has the vectors of computed positions, too."""
    config = recipe(MODELS["transformer"])
    planned = sum(part.weights for part in model_parts(config, VOCABULARY, LENGTHS))
    assert planned == numbers_in(config.model, VOCABULARY, 0) - 2 * 1024 * 24


def saved_numbers(config, model) -> float:
    """Numbers in the tensors that autograd keeps, weights left out, for each target."""
    weights = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        alive = states(model, config)
    assert alive.requires_grad
    return sum(size for size, _ in kept.values()) / 4 / targets_of(config)


def as_on_gpus(monkeypatch) -> None:
    """The path of GPUs; on processors torch keeps the weights of attention, too."""

    def attend(query, key, value, allowed=None, bias=None, drop=None, scale=None):
        assert drop is None
        return fused.attend(query, key, value, allowed, bias, scale)

    monkeypatch.setattr(multihead, "attend", attend)
    monkeypatch.setattr(sink, "attend", attend)


DEEP = SMALL | {"kind": "causal-lm", "layers": 4, "dropout": 0.0}


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [
        (SMALL | {"encoder_layers": 4, "decoder_layers": 4, "dropout": 0.0}, 0.08),
        (SMALL | {"encoder_layers": 4, "decoder_layers": 4, "dropout": 0.1}, 0.08),
        (SMALL | {"kind": "causal-lm", "layers": 4, "activation": "gelu"}, 0.05),
        (SMALL | {"kind": "causal-lm", "layers": 4, "feedforward_kind": "gated"}, 0.05),
        (SMALL | {"kind": "masked-lm", "layers": 4, "norm_kind": "rms"}, 0.06),
        (DEEP | {"attention_kind": "latent", "query_latent_dim": 7}, 0.08),
        (DEEP | {"attention_kind": "linear", "value_residual": True}, 0.08),
        (DEEP | {"attention_kind": "differential", "heads": 4}, 0.08),
        (DEEP | {"sinks": True, "process_output": ["element-gate"]}, 0.08),
        (DEEP | {"score_cap": 5.0, "process_heads": ["qk-norm"]}, 0.08),
        (DEEP | {"experts": 4, "experts_used": 2}, 0.08),
        ({"kind": "rnn", "dim": 40, "embedding": 30, "dropout": 0.0}, 0.3),
        ({"kind": "rnn", "dim": 40, "embedding": 30, "cell": "lstm"}, 0.3),
        ({"kind": "image-classifier", "channels": [8, 16], "blocks": 2}, 0.2),
    ],
)
def test_activations_are_what_autograd_keeps(model, tolerance, monkeypatch):
    as_on_gpus(monkeypatch)
    config = recipe(model)
    measured = saved_numbers(config, model_of(config))
    assert kept_numbers(config, LENGTHS) == pytest.approx(measured, rel=tolerance)


def test_attention_without_fused_kernels_keeps_its_weights():
    assert multihead.attend is core.attend
    config = recipe(SMALL | {"kind": "causal-lm", "layers": 4, "dropout": 0.0, "heads": 6})
    measured = saved_numbers(config, model_of(config))
    assert kept_numbers(config, LENGTHS, fused=False) == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize("kind", ["transformer", "causal", "sinks and experts"])
def test_blocks_that_are_computed_again(kind):
    """All of a block is computed twice, and nothing beside the blocks is."""
    config = recipe(MODELS[kind], training={"recompute": True})
    model = model_of(config)
    recompute(model)
    with FlopCounter() as counter:
        loss(model, config).backward()
    planned = sum(part.both for part in model_parts(config, VOCABULARY, LENGTHS))
    assert planned * targets_of(config) == pytest.approx(counter.total, rel=1e-9)


@pytest.mark.parametrize("model", [DEEP, SMALL | {"encoder_layers": 4, "decoder_layers": 4}])
def test_blocks_that_are_computed_again_keep_their_inputs(model, monkeypatch):
    as_on_gpus(monkeypatch)
    depth = [key for key in model if key.endswith("layers")]
    sizes = [
        saved_numbers(config, model_of(config))
        for config in (recipe(model | dict.fromkeys(depth[-1:], count)) for count in (3, 4))
    ]
    config = recipe(model, training={"recompute": True})
    network = model_of(config)
    recompute(network)
    measured = saved_numbers(config, network) + sizes[1] - sizes[0]
    assert kept_numbers(config, LENGTHS) == pytest.approx(measured, rel=0.08)


def within(query, key, value, allowed=None, bias=None, drop=None, scale=None):
    """Causal attention that multiplies the keys of a window alone, one query after another."""
    width = allowed.window
    key, value = (F.pad(each, (0, 0, width - 1, 0)) for each in (key, value))
    real = torch.arange(width) >= width - 1 - torch.arange(query.shape[2])[:, None]
    outputs = []
    for at in range(query.shape[2]):
        seen = slice(at, at + width)
        scores = query[:, :, at : at + 1] @ key[:, :, seen].transpose(-2, -1) * scale
        outputs.append(scores.masked_fill(~real[at], -torch.inf).softmax(-1) @ value[:, :, seen])
    return torch.cat(outputs, dim=2)


def test_windows_leave_products_out(monkeypatch):
    """The same result as under a mask, by the products of the window."""
    config = recipe(DEEP | {"window": 5, "tied": False})
    model, text = model_of(config), texts(TARGET)
    masked = model.hidden(text)
    monkeypatch.setattr(multihead, "attend", within)
    torch.testing.assert_close(model.hidden(text), masked)
    with FlopCounter() as counter:
        loss(model, config).backward()
    planned = sum(part.both for part in model_parts(config, VOCABULARY, LENGTHS))
    assert planned * targets_of(config) == pytest.approx(counter.total, rel=1e-9)


@pytest.mark.parametrize(
    ("keys", "seen"),
    [
        ({"window": 5}, [5, 5, 5]),
        ({"window": 5, "window_layers": ["window", "whole"]}, [5, 12, 5]),
        ({"window": 50}, [12, 12, 12]),
        ({"window": 5, "sinks": True}, [12, 12, 12]),  # on paths that draw the mask
        ({"window": 5, "score_cap": 9.0}, [12, 12, 12]),
        ({"window": 5, "positions": "alibi"}, [12, 12, 12]),
        ({"window": 5, "attention_dropout": 0.1}, [12, 12, 12]),
    ],
)
def test_keys_of_windows(keys, seen):
    config = recipe(DEEP | keys).model
    assert keys_seen(config, 3, 12, causal=True) == seen
    if seen[0] == 5:  # on both sides of a query
        assert keys_seen(config, 1, 12, causal=False) == [9]


def test_parts_that_are_not_known_are_refused(monkeypatch):
    monkeypatch.setitem(
        PARTS["attention"], "other", PartEntry("jumok.attention.multihead:MultiHeadAttention")
    )
    with pytest.raises(ConfigError, match=r"not known\.(.|\n)*got: +attention_kind = other"):
        model_parts(recipe(SMALL | {"attention_kind": "other"}), VOCABULARY, LENGTHS)
    with pytest.raises(ConfigError, match="this model has none"):
        model_parts(recipe({"kind": "rnn"}, training={"recompute": True}), VOCABULARY, LENGTHS)


def test_r_drop_computes_every_target_twice():
    once, twice = (
        numbers_of(recipe(SMALL, training={"consistency": alpha}), VOCABULARY, LENGTHS).flop
        for alpha in (0.0, 5.0)
    )
    assert twice == 2 * once


def test_sizes_in_another_model_are_refused():
    config = recipe({"kind": "text-classifier", "pretrained": "bert"})
    with pytest.raises(ConfigError, match=r"which a plan does not read\.\n  got: .*bert"):
        model_parts(config, VOCABULARY, LENGTHS)
