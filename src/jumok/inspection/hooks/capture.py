"""Capturing every attention of a model during one pass, for all families of models.

A family defines what runs and the queries and keys of each site (`jumok/tracing`); the rest is
the same for all. A decoder's output is run in one parallel pass, which gives the same states as
decoding step by step (a test of every model checks that), so the capture shows what happened while
the output was written. An RNN attends step by step in that pass too, and its steps are joined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import torch
from torch import nn

from jumok.attention.convolution import PixelAttention
from jumok.attention.observe import Attention, observe, roles_of
from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.hooks.streams import Streams, watch_streams
from jumok.inspection.sites import SequencesOf, SiteBuilder, numpy_of
from jumok.inspection.trace import Array, Level, Mask, Site
from jumok.shapes import Tensor

Result = TypeVar("Result")


@dataclass(frozen=True)
class Watched(Generic[Result]):
    """What was captured during one pass, and the result of the pass.

    Attributes:
        streams: at level "full" the residual streams (`Trace.streams`); otherwise empty.
    """

    sites: tuple[Site, ...]
    streams: Mapping[str, Array]
    result: Result


def sites_at(full: tuple[Site, ...], level: Level) -> tuple[Site, ...]:
    """The part of a full capture that the level keeps."""
    if level != "weights":
        return full
    return tuple(replace(site, query=None, key=None, value=None) for site in full)


def watch(
    model: nn.Module,
    run: Callable[[], Result],
    sequences: SequencesOf,
    level: Level = "weights",
) -> Watched[Result]:
    """Captures every attention of the model while `run` runs one pass over one input.

    The first row of a batch is kept. The outputs are the same as without capturing.

    Args:
        sequences: what the model's sites connect.
        level: "weights"; "qk" keeps queries, keys and values too; "full" also the streams.

    Raises:
        ModelError: an attention module has no role.
    """
    builder = SiteBuilder(model, sequences)
    roles_of(model)  # a module without one is refused, even if this pass does not use it
    seen: list[tuple[str, Attention]] = []
    with torch.inference_mode(), ExitStack() as watching:
        watching.enter_context(
            observe(model, lambda site, attention: seen.append((site, attention)))
        )
        streams = Streams()
        if level == "full":
            watching.enter_context(watch_streams(model, streams.add))
        result = run()
        found = sites_at(tuple(_sites(builder, seen)), level)
    return Watched(found, streams.arrays(), result)


def _sites(builder: SiteBuilder, seen: Sequence[tuple[str, Attention]]) -> Iterator[Site]:
    """The sites in the order in which they were used; the steps of a site are joined."""
    calls: dict[str, list[Attention]] = {}
    for name, attention in seen:
        calls.setdefault(name, []).append(attention)
    for name, attentions in calls.items():
        weights = numpy_of(torch.cat([each.weights[0] for each in attentions], dim=1))
        last = attentions[-1]
        query = torch.cat([each.query[0] for each in attentions], dim=1)
        vectors = numpy_of(query), numpy_of(last.key[0]), numpy_of(last.value[0])
        bias = None
        if last.bias is not None:
            bias = numpy_of(last.bias[0].expand(weights.shape))
        yield builder.site(name, last, weights, vectors, bias, _mask(attentions))


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
