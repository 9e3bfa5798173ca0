"""A model as one with other keys of [model], which computes the same numbers."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from jumok.config.captioner import CaptionerConfig
from jumok.config.masked import MaskedConfig
from jumok.config.section import ModelSection, Section
from jumok.config.stack import StackConfig
from jumok.positions.sinusoidal import sinusoids

WITHOUT_EFFECT = frozenset(
    {"dropout", "attention_dropout", "feedforward_dropout", "word_dropout", "experts_balance"}
    | {"doubly_stochastic"}
)
"""The keys that matter in training alone."""
INCLUSIVE = {"sinusoidal": False, "sinusoidal-inclusive": True}
"""Positions that a learned table may hold, and whether their waves are inclusive."""
UNTIED = {
    "all": frozenset({"target", "inputs", "none"}),
    "target": frozenset({"none"}),
    "inputs": frozenset({"none"}),
    True: frozenset({False}),
}
"""What tied tables may become: each with a copy of its own."""
OF_THE_OUTPUT = "all", "target", True
"""Where the table of embeddings is that of the output, too."""


def _may_differ(key: str, mine: object, wanted: object) -> bool:
    """Whether a model with the other value may compute the same."""
    match key:
        case "output_bias":
            return wanted is True  # of zeros
        case "embedding_scale":
            return wanted is False  # in the table
        case "positions":
            return mine in INCLUSIVE and wanted == "learned"
        case "tied":
            return wanted in UNTIED.get(mine, ())
    return False


def differences(mine: Section, wanted: Section) -> dict[str, object]:
    """The keys that would have to be others for the model to be a wanted one, with the values
    wanted; {}: the same numbers are computed with these keys (`equivalent`).
    """
    parts = {key: (getattr(mine, key), part) for key, part in _stacks_in(wanted).items()}
    others: dict[str, object] = {
        f"{key}.kind": part.kind
        for key, (own, part) in parts.items()
        if type(own) is not type(part)
    }
    if others:  # whose own keys are not these
        return others
    found = {
        f"{key}.{name}": value
        for key, both in parts.items()
        for name, value in differences(*both).items()
    }
    return found | _own_differences(mine, wanted)


def _stacks_in(section: Section) -> dict[str, ModelSection]:
    """The encoder and the decoder that have a section each, by their keys."""
    return {key: value for key, value in section if isinstance(value, StackConfig)}


def _own_differences(mine: Section, wanted: Section) -> dict[str, object]:
    ours, theirs = _all_sizes(mine), _all_sizes(wanted)
    found = {
        key: theirs[key]
        for key, value in ours.items()
        if key not in WITHOUT_EFFECT
        and theirs[key] != value
        and not _may_differ(key, value, theirs[key])
    }
    scaled = ours.get("embedding_scale") and not theirs.get("embedding_scale")
    if scaled and theirs.get("tied") in OF_THE_OUTPUT:  # whose logits would be scaled, too
        found["embedding_scale"] = False
    if found.get("projection_bias") == found.get("bias"):  # which it follows
        found.pop("projection_bias", None)
    return found


def _all_sizes(section: Section) -> dict[str, object]:
    """Its own keys, with the values that those without one stand for."""
    values: dict[str, object] = section.model_dump(exclude={*_stacks_in(section)})
    if isinstance(section, StackConfig):
        sizes = section.sizes
        values |= {
            "head_dim": sizes.head_dim,
            "value_dim": sizes.value_dim,
            "kv_heads": sizes.kv_heads,
        }
        if section.specs.positions.enters == "scores":  # by distances, which have no limit
            values["max_length"] = 0
        if section.projection_bias is None:
            values["projection_bias"] = section.bias
        if section.window is None:
            values["window_layers"] = ("window",)
        if section.specs.positions.enters != "heads":
            values["rotary_base"] = 1e4
    return values


def equivalent(
    mine: ModelSection, state: Mapping[str, Tensor], wanted: ModelSection, model: nn.Module
) -> dict[str, Tensor]:
    """The weights of an equivalent model.

    Args:
        state: the `state_dict()` of ours, in float32.
        model: with the wanted section; its parameters need no memory.
    """
    reads, others = _with_table(mine), _with_table(wanted)
    found = {
        name: state[name] if name in state else _made(reads, name, tuple(tensor.shape))
        for name, tensor in model.named_parameters()
    }
    folded = getattr(reads, "embedding_scale", False) and not getattr(
        others, "embedding_scale", True
    )
    if folded and isinstance(reads, StackConfig):
        factor = math.sqrt(reads.dim)
        tables = [name for name in found if name.endswith("embedding.table")]
        found |= {name: found[name] * factor for name in tables}
        if norm := _norm_before_table(mine):
            last = [f"{norm}.{part}" for part in ("weight", "bias")]
            found |= {name: found[name] / factor for name in last}
    return found


def _with_table(section: ModelSection) -> Section:
    """That of the part which has the table of embeddings."""
    return section.decoder if isinstance(section, CaptionerConfig) else section


def _norm_before_table(section: ModelSection) -> str:
    """The norm whose vectors are multiplied with the table of embeddings alone, where the output
    has no table of its own there; "": it has.
    """
    if isinstance(section, MaskedConfig):
        return "head.norm"
    if isinstance(section, CaptionerConfig):
        return f"decoder.blocks.{section.decoder.layers - 1}.after_feedforward.norm"
    return ""


def _made(mine: Section, name: str, shape: tuple[int, ...]) -> Tensor:
    """A parameter that the model does not have: sinusoids, or a bias of zeros."""
    if name.endswith("positions.encoding.table"):
        assert isinstance(mine, StackConfig)
        return sinusoids(shape[0], shape[1], inclusive=INCLUSIVE[mine.positions])
    assert name.endswith(".bias"), name
    return torch.zeros(shape)
