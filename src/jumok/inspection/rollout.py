"""Rollout and flow: the weights of all layers together.

Rollout follows the weights down through the layers. A block adds its attention output to the
residual stream, so half of each position is its own: A' = A / 2 + I / 2, with A the mean of the
heads. The effects of the feed-forward layers, the norms and the values are left out. The paper has
one stack; here a decoder's position is first half of itself and half of its self-attention's
context, then half of that and half of its cross-attention's context; the Memory is given by the
encoder's rollout. So with L decoder layers the source's share of a row is 1 - 2^-L, whatever the
sentence: rollout shows which word contributed, not whether the source did.

Flow takes the same weights as capacities of pipes: the maximum flow from a position down to a word.
The flows to several words have no meaningful sum.

Source: Abnar and Zuidema 2020, Quantifying attention flow in Transformers, section 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from jumok.errors import ModelError
from jumok.inspection.findings import Numbers
from jumok.inspection.trace import Axis, Site, Trace
from jumok.kernels.flow import max_flows

NodeNumbers = npt.NDArray[np.int64]

Heads = Literal["mean", "max", "min"]
"""How the weights of a layer's heads become one."""


@dataclass(frozen=True)
class LayerWeights:
    """The weights of every layer, its heads as one, the lowest layer first.

    Attributes:
        encoder: (source source), each.
        decoder: (target target), each.
        cross: (target source), one for each layer of the decoder; empty for a model without
            cross-attention.
    """

    encoder: tuple[Numbers, ...] = ()
    decoder: tuple[Numbers, ...] = ()
    cross: tuple[Numbers, ...] = ()

    @classmethod
    def of(
        cls, sites: Sequence[Site], axes: Mapping[str, Axis], heads: Heads = "mean"
    ) -> "LayerWeights":
        """Cells of an image that attend to cells are an encoder, on its finest grid."""
        by_part: dict[str, list[Numbers]] = {}
        finest = finest_axis(sites, axes)
        for site in sorted(sites, key=lambda site: site.layer):
            weights = attended_by(site, heads)
            if site.part == "image" and site.keys != finest:
                weights = _at_finer_cells(weights, axes[site.keys].grid, axes[finest].grid)
            part = "encoder" if site.part == "image" else site.part
            by_part.setdefault(part, []).append(weights)
        return cls(*(tuple(by_part.get(part, ())) for part in ("encoder", "decoder", "cross")))


def finest_axis(sites: Sequence[Site], axes: Mapping[str, Axis]) -> str:
    """The axis with the most cells of those that attend to cells of an image; "": none does."""
    own = [site.keys for site in sites if site.part == "image"]
    return max(own, key=lambda axis: len(axes[axis].tokens), default="")


def _at_finer_cells(
    weights: Numbers, grid: tuple[int, int] | None, finer: tuple[int, int] | None
) -> Numbers:
    """The weights of a feature map for the cells of a larger one before it: each attends as the
    cell that it is pooled into does, to all that are pooled into one equally."""
    assert grid is not None
    assert finer is not None
    rows, columns = (
        np.arange(fine) * coarse // fine for fine, coarse in zip(finer, grid, strict=True)
    )
    into = (rows[:, None] * grid[1] + columns).ravel()
    return weights[np.ix_(into, into)] / np.bincount(into)[into]


def attended_by(site: Site, heads: Heads = "mean") -> Numbers:
    """(query key): the mean of the heads; or the largest or least weight of any, with rows scaled
    to sum to 1.

    Where maps are subtracted (differential attention), of the pairs' differences: what is left is
    what a query attends to, so negative ones count as 0, and rows are scaled to sum to 1. Where
    there are sinks, rows sum to less: a sink holds no word.
    """
    if site.factors is None and heads == "mean":
        mean: Numbers = site.weights.mean(axis=0, dtype=np.float64)
        return mean
    if heads == "mean":
        kept: Numbers = np.maximum(site.mean, 0).astype(np.float64)
    else:
        kept = getattr(np, heads)(site.weights, axis=0).astype(np.float64)
    sums = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, sums, out=np.zeros_like(kept), where=sums > 0)


def encoder_rollout(encoder: Sequence[Numbers], source: int) -> Numbers:
    """The share of each word in each state of the Memory: (source source); rows sum to 1.

    Args:
        encoder: the weights, the lowest layer first; none for an encoder without attention.
    """
    known = np.eye(source)
    for weights in encoder:
        known = (known + weights @ known) / 2
    return known


def rollout(trace: Trace, heads: Heads = "mean") -> dict[str, Numbers]:
    """The attention rollout over all layers of a trace: the share of each token or cell in each
    position.

        shares = jumok.rollout(jumok.trace(classifier, "photo.jpg"))["picture"][0]   # of [CLS]

    Args:
        heads: combine the heads of a layer by the mean, or by the largest or smallest weight,
            scaled to a sum of 1.

    Returns:
        The shares by axis, (positions, tokens of the axis), after the last layer, for the positions
        of the decoder, or of a lone encoder. Rows sum to 1 over all axes together.

    Raises:
        ModelError: the model has no layers of self-attention.
    """
    layers = LayerWeights.of(trace.sites, trace.axes, heads)
    if layers.decoder:
        read, known = decoder_rollout(layers)
        own = next(site.keys for site in trace.sites if site.part == "decoder")
        from_source = {site.keys: read for site in trace.sites if site.part == "cross"}
        return {axis: each for axis, each in from_source.items() if each is not None} | {own: known}
    if not layers.encoder:
        raise ModelError("rollout follows layers of self-attention, and this trace has none.")
    axis = finest_axis(trace.sites, trace.axes) or next(
        site.keys for site in trace.sites if site.part == "encoder"
    )
    return {axis: encoder_rollout(layers.encoder, len(layers.encoder[0]))}


def decoder_rollout(layers: LayerWeights) -> tuple[Numbers | None, Numbers]:
    """The share of each word in each position of the decoder after the last layer.

    Returns:
        (target source), None where there is no source, and (target target), for the prefix;
        together their rows sum to 1.
    """
    target = len(layers.decoder[0])
    source = layers.cross[0].shape[1] if layers.cross else 0
    memory = encoder_rollout(layers.encoder, source)
    known, read = np.eye(target), np.zeros((target, source))
    for layer, weights in enumerate(layers.decoder):
        known, read = (known + weights @ known) / 2, (read + weights @ read) / 2
        if layers.cross:
            known, read = known / 2, (read + layers.cross[layer] @ memory) / 2
    return (read if layers.cross else None), known


def decoder_flow(layers: LayerWeights) -> tuple[Numbers | None, Numbers]:
    """The maximum flow from each position of the decoder to each word.

    Returns:
        As `decoder_rollout`; 0 to 1, but the sums of rows have no meaning.
    """
    target = len(layers.decoder[0])
    source = layers.cross[0].shape[1] if layers.cross else 0
    pipes = _Pipes()
    words = pipes.level(source)
    memory = words
    for weights in layers.encoder:
        memory = pipes.above(memory, memory, weights)
    written = pipes.level(target)
    top = written
    for layer, weights in enumerate(layers.decoder):
        top = pipes.above(top, top, weights)
        if layers.cross:
            top = pipes.above(top, memory, layers.cross[layer])
    flows = pipes.flows(top, np.concatenate([words, written]))
    return (flows[:, :source] if layers.cross else None), flows[:, source:]


def summary_flow(encoder: Sequence[Numbers], summary: Numbers) -> Numbers:
    """The maximum flow from the vectors that an encoder's states are read as, to each word.

    Args:
        encoder: the weights, the lowest layer first.
        summary: (written, positions), the share of each state.
    """
    pipes = _Pipes()
    words = states = pipes.level(summary.shape[1])
    for weights in encoder:
        states = pipes.above(states, states, weights)
    tops = pipes.level(len(summary))
    pipes.join(tops, states, summary)
    return pipes.flows(tops, words)


class _Pipes:
    """A network whose nodes are the positions of each layer."""

    def __init__(self) -> None:
        self.nodes = 0
        self.tails: list[NodeNumbers] = []
        self.heads: list[NodeNumbers] = []
        self.capacities: list[Numbers] = []

    def level(self, length: int) -> NodeNumbers:
        self.nodes += length
        return np.arange(self.nodes - length, self.nodes)

    def above(self, own: NodeNumbers, seen: NodeNumbers, weights: Numbers) -> NodeNumbers:
        """Adds a level: half its own positions in the level below, half those they attend to."""
        level = self.level(len(own))
        self.join(level, own, np.eye(len(own)) / 2)
        self.join(level, seen, weights / 2)
        return level

    def join(self, level: NodeNumbers, below: NodeNumbers, weights: Numbers) -> None:
        """Adds the pipes from one level to another."""
        query, key = np.nonzero(weights)
        self.tails.append(level[query])
        self.heads.append(below[key])
        self.capacities.append(weights[query, key])

    def flows(self, tops: NodeNumbers, bottoms: NodeNumbers) -> Numbers:
        """Adds edges from each node of the one level to each node of the other."""
        edges = (np.concatenate(each) for each in (self.tails, self.heads, self.capacities))
        values = max_flows(*(torch.from_numpy(each) for each in (*edges, tops, bottoms)))
        return values.double().numpy()
