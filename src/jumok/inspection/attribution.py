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

For an image, a word is a cell of the grid that the decoder reads. A label of an image is the only
step: its rows are those of the state that it is read from ([CLS]), or their mean over all cells.

Source: rollout, flow, comparison: Abnar and Zuidema 2020, Quantifying attention flow in
Transformers, sections 3 and 4; Jain and Wallace 2019, Attention is not explanation; share: Voita et
al. 2021, Analyzing the source and target contributions to predictions in neural machine
translation.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch

from jumok.inspection.findings import Attributions, Numbers, Unit
from jumok.inspection.gradients_and_occlusion import (
    ForcedTarget,
    Groups,
    gradients,
    occlude_words,
)
from jumok.inspection.heads.ranks import rank_correlations
from jumok.inspection.rollout import (
    LayerWeights,
    attended_by,
    decoder_flow,
    decoder_rollout,
    encoder_rollout,
    summary_flow,
)
from jumok.inspection.sites import float64_of
from jumok.inspection.trace import Axis, Site
from jumok.shapes import Tensor

AxisMatrices = Mapping[str, Numbers]
"""By axis: (tokens written, tokens or words of the axis)."""

SHARED = ("product", "slope", "blank")
"""The measures that have a share of the source; that of rollout is constant."""


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
    looked = _weight_measures(sites, text, axes)
    axes = {axis: axes[axis] for axis in text.lengths}
    if text.words:
        sloped = gradients(text)
        looked["product"] = {axis: float64_of(each.product) for axis, each in sloped.items()}
        looked["slope"] = {axis: float64_of(each.length) for axis, each in sloped.items()}
    pieces = {axis: [[i] for i in range(length)] for axis, length in text.lengths.items()}
    groups = {axis: token_groups(each) for axis, each in axes.items()}
    written = _written_words(axes[text.own]) if text.own else [[0]]
    by_piece = dict(looked)
    by_word = {name: _sum_groups(measure, groups) for name, measure in looked.items()}
    if text.words:
        occluded = zip((by_piece, by_word), _occluded(text, pieces, groups), strict=True)
        for measures, effects in occluded:
            measures["blank"] = {axis: float64_of(each) for axis, each in effects.items()}
    by_piece |= also
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


def _weight_measures(
    sites: Sequence[Site], text: ForcedTarget, axes: Mapping[str, Axis]
) -> dict[str, AxisMatrices]:
    """The measures that are computed from the weights, for the steps that wrote a token."""
    layers = LayerWeights.of(sites, axes)
    if text.summary is not None:
        return _summary_measures(layers, sites, text)
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


def _summary_measures(
    layers: LayerWeights, sites: Sequence[Site], text: ForcedTarget
) -> dict[str, AxisMatrices]:
    """The same for what an encoder's states are read as."""
    summary = text.summary
    assert summary is not None
    (axis,) = text.lengths
    last = max(sites, key=lambda site: site.layer)
    measures = {"weights": summary @ layers.encoder[-1]}
    if last.norms is not None and last.keys == axis:
        measures["norms"] = summary @ last.norms.astype(np.float64)
    measures["rollout"] = summary @ encoder_rollout(layers.encoder, summary.shape[1])
    measures["flow"] = summary_flow(layers.encoder, summary)
    return {name: {axis: matrix} for name, matrix in measures.items()}


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
    if own and read != own:
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
