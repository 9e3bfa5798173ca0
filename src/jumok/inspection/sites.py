"""The sites of a trace: each attention module with its role, the sequences that it connects, and
what it computed.

Whatever observed the modules, a single pass (`inspection/hooks/capture.py`) or a recording of any
use (`jumok/tracing`), its sites are made here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import nn

from jumok.alignment.norms import changes_outputs, contribution_norms, output_weight
from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import Observable, role_of
from jumok.attention.role import Part
from jumok.errors import ModelError
from jumok.inspection.trace import Array, Mask, Site
from jumok.shapes import Tensor


class Sequences(NamedTuple):
    """The names of the axes of a site's queries and of its keys."""

    queries: str
    keys: str


SequencesOf = Callable[[str, Part], Sequences]
"""The sequences that a site connects, by its path in the model and its part."""

Vectors = tuple[Array, Array, Array]
"""Queries, keys and values."""


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
        source: the axis of the encoder's input.
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


@runtime_checkable  # the tests check annotations while they run
class Scored(Protocol):
    """The facts of a call that are the same for all of its queries and keys."""

    @property
    def kind(self) -> str: ...

    @property
    def scale(self) -> float | None: ...

    @property
    def energy(self) -> Tensor | None: ...

    @property
    def sink(self) -> Tensor | None: ...

    @property
    def factors(self) -> Tensor | None: ...


@dataclass(frozen=True)
class SiteBuilder:
    """Makes the sites of one model.

    Attributes:
        sequences: what its sites connect.
    """

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

    def site(
        self,
        name: str,
        call: Scored,
        weights: Array,
        vectors: Vectors | None,
        bias: Array | None,
        allowed: Mask | None,
    ) -> Site:
        """The site with what it computed for one input.

        Args:
            call: one of its calls.
            weights, vectors, bias, allowed: as in `Site`; norms need the vectors.
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
        )

    def _norms(self, name: str, weights: Array, value: Array) -> Array | None:
        if changes_outputs(self.model, name):
            return None
        output = output_weight(self.model, name)
        arrays = torch.from_numpy(weights), torch.from_numpy(value)
        return numpy_of(contribution_norms(*arrays, output))


def residual_gate_of(model: nn.Module, site: str) -> float | None:
    """The gate by which attention over pixels multiplies its output; None: another attention."""
    module = model.get_submodule(site)
    return float(module.residual_gate.detach()) if isinstance(module, PixelAttention) else None


def numpy_of(tensor: Tensor) -> Array:
    """The tensor as a float32 array, detached from the graph and the device."""
    array: Array = tensor.detach().float().cpu().numpy()
    return array
