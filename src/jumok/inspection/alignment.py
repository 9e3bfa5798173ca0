"""Word alignment from cross-attention.

The alignment setting matters more than the model: which layer, and which step. The step that writes
a token attends to what is to be translated next; the step after it, which reads the token, attends
to what was just translated. In deep models an early layer at the reading step is best (alignment
error 29.8 against 47.7 for the best layer at the writing step, German-English, six layers;
Kobayashi et al. 2020, recorded experiments), in shallow ones the writing step. So the setting is
chosen by measurement for each model (`jumok.inspection.calibration`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from rich.cells import cell_len, set_cell_size

from jumok.attention.observe import Attention, observe
from jumok.errors import ModelError
from jumok.inspection.capture import given_norms, output_weight
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, Tensor

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""

WIDEST = 24
SHADES = (" ", "░", "▒", "▓", "█")


@dataclass(frozen=True)
class AlignmentSetting:
    """Where alignments are extracted.

    Attributes:
        layer: of the decoder's cross-attentions, from 0.
        at_input: True: at the step that reads a token; False: at the step that writes it.
        head: from 0; None: all heads together.
        norms: by the norm of the attended value, | weight value W_O |, not by the weight alone.
    """

    layer: int
    at_input: bool
    head: int | None = None
    norms: bool = False


def default_setting(layers: int) -> AlignmentSetting | None:
    """The setting for a model that was not measured: the last layer but one, writing step.

    None for a model without cross-attention.

    Source: Garg et al. 2019, Jointly learning to align and translate, section 3.
    """
    return AlignmentSetting(max(0, layers - 2), at_input=False) if layers else None


@torch.no_grad()
def cross_attentions(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    readings: Sequence[AlignmentSetting],
) -> list[Float[Tensor, "batch tokens source"]]:
    """The cross-attention weights, or norms, of each target token over the source positions.

    All heads together are the mean of their weights, or the norm of the sum of their outputs.

    Args:
        tokens: START and the target's tokens; the results have a row for each of these tokens.
        readings: the settings; each has one result, all from one pass.

    Raises:
        ModelError: no such layer or head.
    """
    for reading in readings:
        if not 0 <= reading.layer < len(model.cross_sites):
            raise ModelError(
                "the model has no such layer.",
                expected=f"1 to {len(model.cross_sites)}, of the decoder's cross-attentions",
                got=str(reading.layer + 1),
            )
    sites = [model.cross_sites[reading.layer] for reading in readings]
    seen: list[list[Tensor]] = [[] for _ in readings]

    def keep(name: str, attention: Attention) -> None:
        for steps, site, reading in zip(seen, sites, readings, strict=True):
            if site == name:
                output = output_weight(model, site) if reading.norms else None
                steps.append(_looked(attention, reading, output))

    with observe(model, keep, sites.__contains__):
        model.decoder.hidden(memory, tokens)
    # An RNN may attend step by step.
    found = [torch.cat(steps, dim=1) for steps in seen]
    # Row i is the step whose input is tokens[i]: it reads token i - 1 and writes token i.
    return [
        steps[:, 1:] if reading.at_input else steps[:, :-1]
        for steps, reading in zip(found, readings, strict=True)
    ]


def cross_attention(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    reading: AlignmentSetting,
) -> Float[Tensor, "batch tokens source"]:
    """`cross_attentions` for one setting."""
    return cross_attentions(model, memory, tokens, [reading])[0]


def _looked(
    attention: Attention, reading: AlignmentSetting, output: Tensor | None
) -> Float[Tensor, "batch query key"]:
    weights, head = attention.weights, reading.head
    if head is not None and not 0 <= head < weights.shape[1]:
        raise ModelError(
            "the model has no such head.", expected=f"1 to {weights.shape[1]}", got=str(head + 1)
        )
    if not reading.norms:
        return weights.mean(dim=1) if head is None else weights[:, head]
    together, apart = given_norms(weights, attention.value, output)
    return together if head is None else apart[:, head]


def merge_words(
    weights: Float[Tensor, "target source"],
    source_words: Sequence[int],
    target_words: Sequence[int],
) -> Float[Tensor, "target_words source_words"]:
    """Weights between words from weights between tokens.

    The weights to a word's tokens are summed, and those from a word's tokens averaged, so a row
    that summed to 1 still does.

    Source: Clark et al. 2019, What does BERT look at?, section 4.1.

    Args:
        source_words, target_words: for each token the index of its word, from 0 without gaps.
    """
    into = _membership(source_words).to(weights)
    out = _membership(target_words).to(weights)
    return (out / out.sum(dim=1, keepdim=True)) @ weights @ into.T


def links(weights: Float[Tensor, "target_words source_words"]) -> list[Link]:
    """Each target word with the source word of the largest weight, in the order of the source."""
    return sorted((source, target) for target, source in enumerate(weights.argmax(dim=1).tolist()))


def pharaoh(alignment: Iterable[Link]) -> str:
    """The links in Pharaoh format: "0-0 1-2", source word first, both from 0."""
    return " ".join(f"{source}-{target}" for source, target in alignment)


def heatmap(
    weights: Float[Tensor, "target_words source_words"],
    source: Sequence[str],
    target: Sequence[str],
    width: int = 80,
) -> str:
    """The weights drawn for a terminal: source words across, target words down.

    The shade shows the weight itself, not its share of the row's largest: a blank is less than
    1/8, then there is a step every 1/4. Words of wide characters (Hangul takes two columns) stay
    aligned. A source that is wider than the terminal is split into several panels.

    Args:
        width: columns of the terminal.
    """
    margin = max((_width(word) for word in target), default=0)
    panels: list[list[int]] = [[]]
    used = margin
    for column, word in enumerate(source):
        if panels[-1] and used + 1 + _width(word) > width:
            panels.append([])
            used = margin
        panels[-1].append(column)
        used += 1 + _width(word)
    return "\n\n".join(_panel(weights, source, target, panel, margin) for panel in panels)


def _panel(
    weights: Tensor, source: Sequence[str], target: Sequence[str], columns: list[int], margin: int
) -> str:
    widths = {column: _width(source[column]) for column in columns}
    head = [set_cell_size(source[column], widths[column]) for column in columns]
    lines = [" ".join([" " * margin, *head])]
    for row, word in enumerate(target):
        shades = {column: _shade(float(weights[row, column])) for column in columns}
        cells = [shades[column] * widths[column] for column in columns]
        lines.append(" ".join([set_cell_size(word, margin), *cells]))
    return "\n".join(line.rstrip() for line in lines)


def _shade(weight: float) -> str:
    return SHADES[round(weight * (len(SHADES) - 1))]


def _width(word: str) -> int:
    """Columns for a word: 1 to WIDEST."""
    return min(max(cell_len(word), 1), WIDEST)


def _membership(words: Sequence[int]) -> Tensor:
    """(words tokens), 1 where the token belongs to the word."""
    index = torch.tensor(words)
    return (torch.arange(int(index.max()) + 1)[:, None] == index).float()
