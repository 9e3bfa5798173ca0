"""Attribution: how much each input word contributed to each output token, by several measures.

    attention weights        of the last layer, the mean of its heads
    norms                    of the attended values in the same layer: | weight value W_O |
    rollout                  the weights of all layers multiplied (`jumok.inspection.rollout`)
    flow                     the maximum flow through the weights of all layers
    gradient x input         (`jumok.inspection.gradients_and_occlusion`)
    gradient                 its length
    occlusion                the drop of the token's log-probability when the word's vector is 0
    pixel occlusion          for an image: the drop when the pixels of the cell are covered

Row t is the step that writes token t. The measures disagree; their Spearman rank correlations, of
absolute values, show how far. Attention shows where a model looked; occlusion shows what it needed.

The share of the source, against the prefix, is

    sum over source words of |m| / sum over source words and prefix of |m|

for a measure m of both. Voita et al. (2021) propagate relevance down through the layers so that
the relevance of source and prefix has the same sum for every token. Nothing is propagated here:
the shares are of gradients or of occlusion, whose sum differs from token to token, so that only the
ratio can be compared. The two methods ask the same question.

For an image, a word is a cell of the grid that the decoder reads.

Source: comparison: Jain and Wallace 2019, Attention is not explanation; Abnar and Zuidema 2020,
Quantifying attention flow in Transformers, section 4; share: Voita et al. 2021, Analyzing the
source and target contributions to predictions in neural machine translation.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from jumok.inspection.findings import Attributions
from jumok.inspection.gradients_and_occlusion import ForcedTarget, gradients, occlude_words
from jumok.inspection.heads.ranks import rank_correlations
from jumok.inspection.rollout import Layers, attended_by, decoder_flow, decoder_rollout
from jumok.inspection.trace import Axis, Site
from jumok.shapes import Tensor

Matrix = npt.NDArray[np.float64]
Measure = Mapping[str, Matrix]
"""By axis: (tokens written, tokens or words of the axis)."""

SHARED = ("product", "slope", "blank")
"""The measures that have a share of the source; that of rollout is constant.

They are gradient x input, the gradient's length, and occlusion.
"""


def attributions_of(
    text: ForcedTarget,
    sites: Sequence[Site],
    axes: Mapping[str, Axis],
    also: Mapping[str, Measure] | None = None,
) -> dict[Literal["pieces", "words"], Attributions]:
    """The attributions by tokens (START and END included) and by words.

    The attribution of an input word is the sum over its tokens, and that to an output word the
    mean over its tokens; occlusion covers all tokens of a word at once.

    Args:
        text: the output and its input.
        sites: those of its trace, with all weights.
        axes: those of its trace.
        also: further measures, by tokens; None: there is none.

    Returns:
        pieces: those by tokens. words: those by words.
    """
    also = also or {}
    axes = {axis: axes[axis] for axis in text.words}
    looked = _looked(sites, text)
    sloped = gradients(text)
    looked["product"] = {axis: _numbers(each.product) for axis, each in sloped.items()}
    looked["slope"] = {axis: _numbers(each.length) for axis, each in sloped.items()}
    pieces = {axis: [[i] for i in range(length)] for axis, length in text.lengths.items()}
    groups = {axis: token_groups(each) for axis, each in axes.items()}
    alone = occlude_words(text, pieces)
    together = _occluded(text, groups, alone)
    by_piece = looked | {"blank": {axis: _numbers(each) for axis, each in alone.items()}}
    by_piece |= also
    written = _written_words(axes[text.own])
    by_word = {name: _grouped(measure, groups) for name, measure in looked.items()}
    by_word["blank"] = {axis: _numbers(each) for axis, each in together.items()}
    by_word |= {name: _grouped(measure, groups) for name, measure in also.items()}
    of_words = {
        name: {
            axis: np.stack([matrix[steps].mean(axis=0) for steps in written])
            for axis, matrix in measure.items()
        }
        for name, measure in by_word.items()
    }
    words = {axis: groups[axis][: len(each.texts)] for axis, each in axes.items()}
    return {
        "pieces": _compared(text.own, by_piece, list(range(text.count)), pieces),
        "words": _compared(text.own, of_words, [steps[0] for steps in written], words),
    }


def _occluded(
    text: ForcedTarget, groups: Mapping[str, list[list[int]]], alone: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Occlusion by words. A word of one token, as every cell of an image, is not occluded twice.

    Args:
        alone: occlusion by tokens.
    """
    longer = {axis: [each for each in of_axis if len(each) > 1] for axis, of_axis in groups.items()}
    further = occlude_words(text, longer) if any(longer.values()) else {}
    found = {}
    for axis, of_axis in groups.items():
        others = iter(further[axis].unbind(dim=1) if longer[axis] else ())
        columns = [alone[axis][:, each[0]] if len(each) == 1 else next(others) for each in of_axis]
        found[axis] = torch.stack(columns, dim=1)
    return found


def _looked(sites: Sequence[Site], text: ForcedTarget) -> dict[str, Measure]:
    """The measures that are computed from the weights, for the steps that wrote a token."""
    layers = Layers.of(sites)
    over = [site for site in sites if site.part == ("cross" if layers.cross else "decoder")]
    last = max(over, key=lambda site: site.layer)
    found = {"weights": {last.keys: attended_by(last)}}
    if last.norms is not None:
        found["norms"] = {last.keys: last.norms.astype(np.float64)}
    # An RNN has one attention, not a stack of layers to follow.
    if layers.decoder:
        for name, follow in (("rollout", decoder_rollout), ("flow", decoder_flow)):
            read, known = follow(layers)
            found[name] = {text.own: known} | ({} if read is None else {last.keys: read})
    return {
        name: {axis: matrix[: text.count] for axis, matrix in measure.items()}
        for name, measure in found.items()
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


def _grouped(measure: Measure, groups: Mapping[str, Sequence[Sequence[int]]]) -> Measure:
    """A column for each group: the sum of its tokens' columns."""
    return {
        axis: np.stack([matrix[:, list(group)].sum(axis=1) for group in groups[axis]], axis=1)
        for axis, matrix in measure.items()
    }


def _compared(
    own: str,
    measures: Mapping[str, Measure],
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


def mean_ranks(ranks: Sequence[Matrix]) -> Matrix:
    """The mean of the correlations, ignoring NaN."""
    together = np.stack(ranks)
    count = (~np.isnan(together)).sum(axis=0)
    mean: Matrix = np.nansum(together, axis=0) / np.where(count, count, np.nan)
    return mean


def _numbers(tensor: Tensor) -> Matrix:
    numbers: Matrix = tensor.double().cpu().numpy()
    return numbers
