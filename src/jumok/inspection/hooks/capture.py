"""Capturing every attention of a model during one pass, for all families of models.

A family defines what runs and the queries and keys of each site (`jumok/tracing`); the rest is
the same for all. A decoder's output is run in one parallel pass, which gives the same states as
decoding step by step (a test of every model checks that), so the capture shows what happened while
the output was written. An RNN attends step by step in that pass too, and its steps are joined.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import nn

from jumok.alignment.norms import changes_outputs, contribution_norms, output_weight
from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import Attention, Observable, observe
from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.hooks.streams import Streams, watch_streams
from jumok.inspection.trace import Array, Level, Mask, Part, Site
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Tensor

Result = TypeVar("Result")


class Edge(NamedTuple):
    """A kind of attention: the part of the model, and the axes of the queries and of the keys."""

    part: Part
    queries: str
    keys: str


Edges = Callable[[str], Edge]
"""The kind of attention of every site, by the site's path in the model."""


@dataclass(frozen=True)
class Watched(Generic[Result]):
    """What was captured during one pass, and the result of the pass.

    Attributes:
        streams: at level "full" the residual streams (`Trace.streams`); otherwise empty.
    """

    sites: tuple[Site, ...]
    streams: Mapping[str, Array]
    result: Result


def sites_at(sites: tuple[Site, ...], level: Level) -> tuple[Site, ...]:
    """The part of a full capture that the level keeps."""
    if level != "weights":
        return sites
    return tuple(replace(site, query=None, key=None, value=None) for site in sites)


def watch(
    model: nn.Module, run: Callable[[], Result], edges: Edges, level: Level = "weights"
) -> Watched[Result]:
    """Captures every attention of the model while `run` runs one pass over one input.

    The first row of a batch is kept. The outputs are the same as without capturing.

    Args:
        level: "weights"; "qk" keeps queries, keys and values too; "full" also the streams.
    """
    seen: list[tuple[str, Attention]] = []
    with torch.inference_mode(), ExitStack() as watching:
        watching.enter_context(
            observe(model, lambda site, attention: seen.append((site, attention)))
        )
        streams = Streams()
        if level == "full":
            watching.enter_context(watch_streams(model, streams.add))
        result = run()
        sites = tuple(_sites(model, seen, edges, level))
    return Watched(sites, streams.arrays(), result)


def sequence_edges(
    model: SequenceToSequence,
    source: str = "source",
    target: str = "target",
    reads: Part = "encoder",
) -> Edges:
    """The kinds of attention of an encoder and a decoder; the model names the cross-attentions.

    It names none where the Memory is one vector, though blocks attend to that too.

    Args:
        reads: the part of the encoder's sites: "image" where cells attend to cells.
    """

    def edge(site: str) -> Edge:
        if site in model.cross_sites or site.endswith(".cross_attention"):
            return Edge("cross", target, source)
        if site.startswith("decoder."):
            return Edge("decoder", target, target)
        return Edge(reads, source, source)

    return edge


def heads_of(model: nn.Module) -> dict[str, int]:
    """How many heads each attention site has, by its path in the model."""
    return {
        name: module.heads
        for name, module in model.named_modules()
        if isinstance(module, Observable)
    }


def _sites(
    model: nn.Module, seen: Sequence[tuple[str, Attention]], edges: Edges, level: Level
) -> Iterator[Site]:
    """The sites in the order in which they were used; the steps of a site are joined."""
    calls: dict[str, list[Attention]] = {}
    for name, attention in seen:
        calls.setdefault(name, []).append(attention)
    for name, attentions in calls.items():
        weights = torch.cat([each.weights[0] for each in attentions], dim=1)
        last = attentions[-1]
        edge = edges(name)
        vectors: dict[str, Tensor] = {}
        if level != "weights":
            query = torch.cat([each.query[0] for each in attentions], dim=1)
            vectors = {"query": query, "key": last.key[0], "value": last.value[0]}
        norms = None
        if not changes_outputs(model, name):
            norms = numpy_of(contribution_norms(weights, last.value[0], output_weight(model, name)))
        yield Site(
            name=name,
            kind=last.kind,
            part=edge.part,
            layer=layer_of(name),
            queries=edge.queries,
            keys=edge.keys,
            weights=numpy_of(weights),
            norms=norms,
            bias=None if last.bias is None else numpy_of(last.bias[0].expand_as(weights)),
            allowed=_mask(attentions),
            energy=None if last.energy is None else numpy_of(last.energy),
            scale=last.scale,
            residual_gate=residual_gate_of(model, name),
            **{vector: numpy_of(tensor) for vector, tensor in vectors.items()},
        )


def _mask(attentions: Sequence[Attention]) -> Mask | None:
    """(query key); None where every key is permitted. Masks are the same for all heads."""
    rows = [
        each.allowed[0, 0].expand(each.weights.shape[2], -1)
        for each in attentions
        if each.allowed is not None
    ]
    if not rows:
        return None
    mask: Mask = torch.cat(rows).cpu().numpy()
    return None if mask.all() else mask


def residual_gate_of(model: nn.Module, site: str) -> float | None:
    """The gate by which attention over pixels multiplies its output; None: another attention."""
    module = model.get_submodule(site)
    return float(module.residual_gate.detach()) if isinstance(module, PixelAttention) else None


def pixel_grids(model: nn.Module, run: Callable[[], object]) -> dict[str, tuple[int, int]]:
    """Rows and columns of the feature map that each attention over pixels reads, by its path.

    `run` runs the model once, during which the sizes are recorded.
    """
    grids: dict[str, tuple[int, int]] = {}

    def hear(path: str) -> Callable[[tuple[Tensor]], None]:
        def keep(given: tuple[Tensor]) -> None:
            rows, columns = given[0].shape[2:]
            grids[path] = rows, columns

        return keep

    with ExitStack() as watching:
        for path, module in model.named_modules():
            if isinstance(module, PixelAttention):
                watching.enter_context(hooked(module, hear(path)))
        run()
    return grids


def part_of(site: str) -> Part:
    """The part of the model, from the module's path."""
    if site.startswith("encoder"):
        return "encoder"
    return "decoder" if "self_attention" in site else "cross"


def layer_of(site: str) -> int:
    """The number in the module's path; 0 where there is only one layer."""
    number = re.search(r"\.(\d+)\.", site)
    return int(number[1]) if number else 0


def numpy_of(tensor: Tensor) -> Array:
    """The tensor as a float32 array, detached from the graph and the device."""
    array: Array = tensor.detach().float().cpu().numpy()
    return array
