"""Attention rollout and flow: attention followed down through the layers to the input words.

A block adds its attention output to the residual stream, so half of each position is its own:
A' = A / 2 + I / 2, with A the mean of the heads. The effects of the feed-forward layers, the norms
and the values are left out.

The paper has one stack. Here a decoder's position is first half of itself and half of its
self-attention's context, then half of that and half of its cross-attention's context; the Memory
is given by the encoder's rollout. So with L decoder layers the source's share of a rollout row is
1 - 2^-L, whatever the sentence: rollout shows which word contributed, not whether the source did.

Flow takes the same weights as capacities of pipes: the maximum flow from a position down to a word.
The flows to several words have no meaningful sum.

Source: Abnar and Zuidema 2020, Quantifying attention flow in Transformers, sections 3.1 and 3.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from jumok.inspection.trace import Array, Site
from jumok.kernels.flow import max_flows

Matrix = npt.NDArray[np.float64]
Nodes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layers:
    """The weights of every layer, the mean of its heads, the lowest layer first.

    Attributes:
        encoder: (source source), each.
        decoder: (target target), each.
        cross: (target source), one for each layer of the decoder; empty for a model without
            cross-attention.
    """

    encoder: tuple[Matrix, ...] = ()
    decoder: tuple[Matrix, ...] = ()
    cross: tuple[Matrix, ...] = ()

    @classmethod
    def of(cls, sites: Sequence[Site]) -> "Layers":
        """The weights of a trace."""
        by_part: dict[str, list[Matrix]] = {}
        for site in sorted(sites, key=lambda site: site.layer):
            by_part.setdefault(site.part, []).append(attended_by(site))
        return cls(*(tuple(by_part.get(part, ())) for part in ("encoder", "decoder", "cross")))


def attended_by(site: Site) -> Matrix:
    """(query key): the mean of the heads.

    Where maps are subtracted (differential attention), of the pairs' differences: what is left is
    what a query attends to, so negative ones count as 0, and rows are scaled to sum to 1. Where
    there are sinks, rows sum to less: a sink holds no word.
    """
    if site.factors is None:
        return heads_mean(site.weights)
    kept: Matrix = np.maximum(site.mean, 0).astype(np.float64)
    sums = kept.sum(axis=1, keepdims=True)
    return np.divide(kept, sums, out=np.zeros_like(kept), where=sums > 0)


def heads_mean(weights: Array) -> Matrix:
    """(heads query key) -> (query key)."""
    mean: Matrix = weights.mean(axis=0, dtype=np.float64)
    return mean


def encoder_rollout(encoder: Sequence[Matrix], source: int) -> Matrix:
    """The share of each word in each state of the Memory: (source source); rows sum to 1.

    Args:
        encoder: the weights, the lowest layer first; none for an encoder without attention.
    """
    known = np.eye(source)
    for weights in encoder:
        known = (known + weights @ known) / 2
    return known


def decoder_rollout(layers: Layers) -> tuple[Matrix | None, Matrix]:
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


def decoder_flow(layers: Layers) -> tuple[Matrix | None, Matrix]:
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


class _Pipes:
    """A network whose nodes are the positions of each layer."""

    def __init__(self) -> None:
        self.nodes = 0
        self.tails: list[Nodes] = []
        self.heads: list[Nodes] = []
        self.capacities: list[Matrix] = []

    def level(self, length: int) -> Nodes:
        """Adds a node for each position."""
        self.nodes += length
        return np.arange(self.nodes - length, self.nodes)

    def above(self, own: Nodes, seen: Nodes, weights: Matrix) -> Nodes:
        """Adds a level: half its own positions in the level below, half those they attend to."""
        level = self.level(len(own))
        for below, looked in [(own, np.eye(len(own))), (seen, weights)]:
            query, key = np.nonzero(looked)
            self.tails.append(level[query])
            self.heads.append(below[key])
            self.capacities.append(looked[query, key] / 2)
        return level

    def flows(self, tops: Nodes, bottoms: Nodes) -> Matrix:
        """Adds edges from each node of the one level to each node of the other."""
        edges = (np.concatenate(each) for each in (self.tails, self.heads, self.capacities))
        values = max_flows(*(torch.from_numpy(each) for each in (*edges, tops, bottoms)))
        return values.double().numpy()
