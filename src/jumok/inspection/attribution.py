"""Attribution: how much each input word contributed to each output token, by several measures.

    attention weights        of the last layer, the mean of its heads
    norms                    of the attended values in the same layer: | weight value W_O |
    rollout                  the weights of all layers multiplied
    flow                     the maximum flow through the weights of all layers
    gradient x input         (`jumok.inspection.gradients_and_occlusion`)
    gradient                 its length
    occlusion                the drop of the token's log-probability when the word's vector is 0
    pixel occlusion          for an image: the drop when the pixels of the cell are covered

Row t is the step that writes token t. The measures disagree; their Spearman rank correlations, of
absolute values, show how far. Attention shows where a model looked; occlusion shows what it needed.

The share of the source, against the prefix, is

    sum over source words of |m| / sum over source words and prefix of |m|

for a measure m of both. Relevance is not propagated as by Voita et al. (2021): the shares are of
gradients or of occlusion, whose sum differs from token to token, so only the ratio can be compared.

For an image, a word is a cell of the grid that the decoder reads.

Rollout follows the weights down through the layers. A block adds its attention output to the
residual stream, so half of each position is its own: A' = A / 2 + I / 2, with A the mean of the
heads. The effects of the feed-forward layers, the norms and the values are left out. The paper has
one stack; here a decoder's position is first half of itself and half of its self-attention's
context, then half of that and half of its cross-attention's context; the Memory is given by the
encoder's rollout. So with L decoder layers the source's share of a row is 1 - 2^-L, whatever the
sentence: rollout shows which word contributed, not whether the source did.

Flow takes the same weights as capacities of pipes: the maximum flow from a position down to a word.
The flows to several words have no meaningful sum.

Source: rollout, flow, comparison: Abnar and Zuidema 2020, Quantifying attention flow in
Transformers, sections 3 and 4; Jain and Wallace 2019, Attention is not explanation; share: Voita et
al. 2021, Analyzing the source and target contributions to predictions in neural machine
translation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from jumok.inspection.findings import Attributions, Numbers, Unit
from jumok.inspection.gradients_and_occlusion import (
    ForcedTarget,
    Groups,
    gradients,
    occlude_words,
)
from jumok.inspection.heads.ranks import rank_correlations
from jumok.inspection.sites import float64_of
from jumok.inspection.trace import Axis, Site
from jumok.kernels.flow import max_flows
from jumok.shapes import Tensor

NodeNumbers = npt.NDArray[np.int64]

AxisMatrices = Mapping[str, Numbers]
"""By axis: (tokens written, tokens or words of the axis)."""

SHARED = ("product", "slope", "blank")
"""The measures that have a share of the source; that of rollout is constant."""


@dataclass(frozen=True)
class LayerWeights:
    """The weights of every layer, the mean of its heads, the lowest layer first.

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
    def of(cls, sites: Sequence[Site]) -> "LayerWeights":
        by_part: dict[str, list[Numbers]] = {}
        for site in sorted(sites, key=lambda site: site.layer):
            by_part.setdefault(site.part, []).append(attended_by(site))
        return cls(*(tuple(by_part.get(part, ())) for part in ("encoder", "decoder", "cross")))


def attended_by(site: Site) -> Numbers:
    """(query key): the mean of the heads.

    Where maps are subtracted (differential attention), of the pairs' differences: what is left is
    what a query attends to, so negative ones count as 0, and rows are scaled to sum to 1. Where
    there are sinks, rows sum to less: a sink holds no word.
    """
    if site.factors is None:
        mean: Numbers = site.weights.mean(axis=0, dtype=np.float64)
        return mean
    kept: Numbers = np.maximum(site.mean, 0).astype(np.float64)
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
        for below, looked in [(own, np.eye(len(own))), (seen, weights)]:
            query, key = np.nonzero(looked)
            self.tails.append(level[query])
            self.heads.append(below[key])
            self.capacities.append(looked[query, key] / 2)
        return level

    def flows(self, tops: NodeNumbers, bottoms: NodeNumbers) -> Numbers:
        """Adds edges from each node of the one level to each node of the other."""
        edges = (np.concatenate(each) for each in (self.tails, self.heads, self.capacities))
        values = max_flows(*(torch.from_numpy(each) for each in (*edges, tops, bottoms)))
        return values.double().numpy()


def attributions_of(
    text: ForcedTarget,
    sites: Sequence[Site],
    axes: Mapping[str, Axis],
    also: Mapping[str, AxisMatrices] | None = None,
) -> dict[Unit, Attributions]:
    """The attributions by tokens (START and END included) and by words.

    The attribution of an input word is the sum over its tokens, and that to an output word the
    mean over its tokens; occlusion covers all tokens of a word at once.

    Args:
        sites: those of its trace, with all weights.
        also: further measures, by tokens; None: there is none.
    """
    also = also or {}
    axes = {axis: axes[axis] for axis in text.words}
    looked = _weight_measures(sites, text)
    sloped = gradients(text)
    looked["product"] = {axis: float64_of(each.product) for axis, each in sloped.items()}
    looked["slope"] = {axis: float64_of(each.length) for axis, each in sloped.items()}
    pieces = {axis: [[i] for i in range(length)] for axis, length in text.lengths.items()}
    groups = {axis: token_groups(each) for axis, each in axes.items()}
    alone, together = _occluded(text, pieces, groups)
    by_piece = looked | {"blank": {axis: float64_of(each) for axis, each in alone.items()}}
    by_piece |= also
    written = _written_words(axes[text.own])
    by_word = {name: _sum_groups(measure, groups) for name, measure in looked.items()}
    by_word["blank"] = {axis: float64_of(each) for axis, each in together.items()}
    by_word |= {name: _sum_groups(measure, groups) for name, measure in also.items()}
    of_words = {
        name: {
            axis: np.stack([matrix[steps].mean(axis=0) for steps in written])
            for axis, matrix in measure.items()
        }
        for name, measure in by_word.items()
    }
    words = {axis: groups[axis][: len(each.texts)] for axis, each in axes.items()}
    return {
        "pieces": _compare_measures(text.own, by_piece, list(range(text.count)), pieces),
        "words": _compare_measures(text.own, of_words, [steps[0] for steps in written], words),
    }


def _occluded(text: ForcedTarget, *groupings: Groups) -> Iterator[dict[str, Tensor]]:
    """Occlusion by each grouping; what is a group in several is occluded once."""
    distinct = {
        axis: list(dict.fromkeys(tuple(group) for groups in groupings for group in groups[axis]))
        for axis in text.words
    }
    effects = occlude_words(text, distinct)
    columns = {
        axis: dict(zip(groups, effects[axis].unbind(dim=1), strict=True))
        for axis, groups in distinct.items()
    }
    for groups in groupings:
        yield {
            axis: torch.stack([columns[axis][tuple(group)] for group in of_axis], dim=1)
            for axis, of_axis in groups.items()
        }


def _weight_measures(sites: Sequence[Site], text: ForcedTarget) -> dict[str, AxisMatrices]:
    """The measures that are computed from the weights, for the steps that wrote a token."""
    layers = LayerWeights.of(sites)
    over = [site for site in sites if site.part == ("cross" if layers.cross else "decoder")]
    last = max(over, key=lambda site: site.layer)
    measures = {"weights": {last.keys: attended_by(last)}}
    if last.norms is not None:
        measures["norms"] = {last.keys: last.norms.astype(np.float64)}
    # An RNN has one attention, not a stack of layers to follow.
    if layers.decoder:
        for name, follow in (("rollout", decoder_rollout), ("flow", decoder_flow)):
            read, known = follow(layers)
            measures[name] = {text.own: known} | ({} if read is None else {last.keys: read})
    return {
        name: {axis: matrix[: text.count] for axis, matrix in measure.items()}
        for name, measure in measures.items()
    }


def token_groups(axis: Axis) -> list[list[int]]:
    """The tokens of each word, then each token without a word (START, END) by itself."""
    words: list[list[int]] = [[] for _ in axis.texts]
    alone = []
    for token, word in enumerate(axis.words):
        if word is None:
            alone.append([token])
        else:
            words[word].append(token)
    return [*words, *alone]


def _written_words(target: Axis) -> list[list[int]]:
    """For each word the steps that write its tokens: each is written a step before it is read."""
    words: list[list[int]] = [[] for _ in target.texts]
    for token, word in enumerate(target.words):
        if word is not None:
            words[word].append(token - 1)
    return words


def _sum_groups(
    measure: AxisMatrices, groups: Mapping[str, Sequence[Sequence[int]]]
) -> AxisMatrices:
    """A column for each group: the sum of its tokens' columns."""
    return {
        axis: np.stack([matrix[:, list(group)].sum(axis=1) for group in groups[axis]], axis=1)
        for axis, matrix in measure.items()
    }


def _compare_measures(
    own: str,
    measures: Mapping[str, AxisMatrices],
    steps: Sequence[int],
    shown: Mapping[str, Sequence[Sequence[int]]],
) -> Attributions:
    """Shares over all columns, rank correlations over those that are shown.

    Args:
        steps: for each row the number of the step that writes it, or its first token.
        shown: by axis the tokens of each of the first columns; the others are left out. A row is
            compared over what its step has read.
    """
    (read,) = measures["weights"]
    shares = {}
    if read != own:
        for name in SHARED:
            source, prefix = (np.abs(measures[name][axis]).sum(axis=1) for axis in (read, own))
            shares[name] = source / np.maximum(source + prefix, 1e-30)
    kept = {
        name: {axis: matrix[:, : len(shown[axis])] for axis, matrix in measure.items()}
        for name, measure in measures.items()
    }
    rest = {
        name: {
            axis: np.abs(matrix[:, len(shown[axis]) :]).sum(axis=1)
            for axis, matrix in measure.items()
            if matrix.shape[1] > len(shown[axis])
        }
        for name, measure in measures.items()
    }
    ends = np.array([max(tokens) if read == own else -1 for tokens in shown[read]])
    ranks = tuple(
        rank_correlations([np.abs(measure[read][row, ends <= step]) for measure in kept.values()])
        for row, step in enumerate(steps)
    )
    rest = rest if any(rest.values()) else {}
    return Attributions(read, own, kept, ranks, mean_ranks(ranks), shares, rest)


def mean_ranks(ranks: Sequence[Numbers]) -> Numbers:
    """The mean of the correlations, ignoring NaN."""
    together = np.stack(ranks)
    count = (~np.isnan(together)).sum(axis=0)
    mean: Numbers = np.nansum(together, axis=0) / np.where(count, count, np.nan)
    return mean
