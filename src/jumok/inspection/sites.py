"""Sites of a trace: each attention module, the sequences that it connects, and what it computed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import nn

from jumok.alignment.norms import contribution_norms, has_output_process, output_weight
from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import Attention, Observable, role_of
from jumok.attention.role import Part
from jumok.errors import ModelError
from jumok.inspection.findings import Numbers
from jumok.inspection.trace import Array, Level, Mask, Site
from jumok.shapes import Float, Tensor


class Sequences(NamedTuple):
    """The names of the axes of a site's queries and of its keys."""

    queries: str
    keys: str


SequencesOf = Callable[[str, Part], Sequences]
"""The sequences that a site connects, by its path in the model and its part."""


def by_part(sequences: Mapping[Part, Sequences]) -> SequencesOf:
    """For models whose sites connect the same sequences wherever their part is the same."""

    def of_site(site: str, part: Part) -> Sequences:
        if part not in sequences:
            raise ModelError(
                "this kind of model has no attention with this role.",
                expected=", ".join(sequences),
                got=f"{part}, at {site!r}",
            )
        return sequences[part]

    return of_site


def of_writers(source: str = "source", reader: Part = "encoder") -> SequencesOf:
    """For an encoder and a decoder.

    Args:
        reader: the part of the encoder's self-attention: "image" where cells attend to cells.
    """
    return by_part(
        {
            reader: Sequences(source, source),
            "decoder": Sequences("target", "target"),
            "cross": Sequences("target", source),
        }
    )


@dataclass(frozen=True)
class SitePlace:
    """The place of a site: the part and the layer are those of its role, from 0."""

    part: Part
    layer: int
    queries: str
    keys: str


@dataclass(frozen=True)
class AttentionCall:
    """A recorded call of an attention module: see `Attention`. At level "weights" there are no
    vectors, and no scores.
    """

    weights: Float[Tensor, "rows heads query key"]
    kind: str
    scale: float | None
    energy: Tensor | None
    bias: Tensor | None
    allowed: Tensor | None
    sink: Tensor | None
    factors: Tensor | None
    scores: Tensor | None
    vectors: tuple[Tensor, Tensor, Tensor] | None

    @classmethod
    def of(cls, attention: Attention, level: Level) -> "AttentionCall":
        """The call without its graph."""
        facts: dict[str, Any] = {
            name: fact.detach() if isinstance(fact, Tensor) else fact
            for name, fact in vars(attention).items()
        }
        vectors = facts.pop("query"), facts.pop("key"), facts.pop("value")
        if level == "weights":
            return cls(**facts | {"scores": None}, vectors=None)
        return cls(**facts, vectors=vectors)

    @property
    def full_bias(self) -> Float[Tensor, "rows heads query key"]:
        """The bias of every weight; all rows and heads may share it."""
        assert self.bias is not None
        return self.bias.expand_as(self.weights)


@dataclass(frozen=True)
class SiteBuilder:
    """Makes the sites of one model."""

    model: nn.Module
    sequences: SequencesOf

    def place(self, name: str) -> SitePlace:
        """The place of the site with this path in the model.

        Raises:
            ModelError: its role is not known, or is none that this kind of model has.
        """
        module = self.model.get_submodule(name)
        assert isinstance(module, Observable)
        role = role_of(name, module)
        return SitePlace(role.part, role.layer, *self.sequences(name, role.part))

    def window(self, name: str) -> int | None:
        """How far the queries of the site with this path see (`Observable.window`)."""
        module = self.model.get_submodule(name)
        assert isinstance(module, Observable)
        return module.window

    def whole(
        self,
        name: str,
        calls: Sequence[AttentionCall],
        row: int = 0,
        queries: int | None = None,
        keys: int | None = None,
    ) -> Site:
        """The site with what it computed for one row of a batch, in calls that follow one another.

        Args:
            queries, keys: how many of them are real; None: all.
        """
        last = calls[-1]
        weights = torch.cat([call.weights[row] for call in calls], dim=1)[:, :queries, :keys]
        vectors = bias = None
        if last.vectors is not None:
            query = torch.cat([call.vectors[0][row] for call in calls if call.vectors], dim=1)
            key, value = (numpy_of(each[row, :, :keys]) for each in last.vectors[1:])
            vectors = numpy_of(query[:, :queries]), key, value
        if last.bias is not None:
            biases = torch.cat([call.full_bias[row] for call in calls], dim=1)
            bias = numpy_of(biases[:, :queries, :keys])
        made = [call.scores[row] for call in calls if call.scores is not None]
        scores = numpy_of(torch.cat(made, dim=1)[:, :queries, :keys]) if made else None
        allowed = _mask(calls, row, queries, keys)
        return self.site(name, last, numpy_of(weights), vectors, bias, allowed, scores)

    def site(
        self,
        name: str,
        call: AttentionCall,
        weights: Array,
        vectors: tuple[Array, Array, Array] | None,
        bias: Array | None,
        allowed: Mask | None,
        scores: Array | None,
    ) -> Site:
        """The site with what it computed for one input.

        Args:
            weights, vectors, bias, allowed, scores: as in `Site`; norms need the vectors.
        """
        place = self.place(name)
        query, key, value = (None, None, None) if vectors is None else vectors
        return Site(
            name=name,
            kind=call.kind,
            part=place.part,
            layer=place.layer,
            queries=place.queries,
            keys=place.keys,
            weights=weights,
            norms=None if value is None else self._norms(name, weights, value),
            bias=bias,
            allowed=allowed,
            energy=None if call.energy is None else numpy_of(call.energy),
            query=query,
            key=key,
            value=value,
            scale=call.scale,
            residual_gate=residual_gate_of(self.model, name),
            sink=None if call.sink is None else numpy_of(call.sink),
            factors=None if call.factors is None else numpy_of(call.factors),
            scores=scores,
        )

    def _norms(self, name: str, weights: Array, value: Array) -> Array | None:
        if has_output_process(self.model, name):
            return None
        output = output_weight(self.model, name)
        arrays = torch.from_numpy(weights), torch.from_numpy(value)
        return numpy_of(contribution_norms(*arrays, output))


def _mask(
    calls: Sequence[AttentionCall], row: int, queries: int | None, keys: int | None
) -> Mask | None:
    """(query key); None where every key is permitted. Masks are the same for all heads."""
    rows = [
        call.allowed[row if len(call.allowed) > 1 else 0, 0].expand(call.weights.shape[2], -1)
        for call in calls
        if call.allowed is not None
    ]
    if not rows:
        return None
    mask: Mask = torch.cat(rows)[:queries, :keys].cpu().numpy()
    return None if mask.all() else mask


def sites_at(sites: Sequence[Site], level: Level) -> tuple[Site, ...]:
    """The part of the sites that the level keeps."""
    if level != "weights":
        return tuple(sites)
    return tuple(replace(site, query=None, key=None, value=None, scores=None) for site in sites)


def residual_gate_of(model: nn.Module, site: str) -> float | None:
    """The gate by which attention over pixels multiplies its output; None: another attention."""
    module = model.get_submodule(site)
    return float(module.residual_gate.detach()) if isinstance(module, PixelAttention) else None


def float64_of(tensor: Tensor, decimals: int | None = None) -> Numbers:
    """The tensor as a float64 array, rounded where `decimals` is given."""
    array: Numbers = tensor.detach().double().cpu().numpy()
    return array if decimals is None else array.round(decimals)


def numpy_of(tensor: Tensor) -> Array:
    """The tensor as a float32 array, detached from the graph and the device."""
    array: Array = tensor.detach().float().cpu().numpy()
    return array
