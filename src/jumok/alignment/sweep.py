"""All readings of a model's alignments in one pass: every layer, head and step, weight and norm."""

from collections.abc import Iterator, Sequence

import torch

from jumok.alignment.norms import given_norms, output_weight
from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import Attention, observe
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, Tensor

Words = Sequence[int]
"""For each token the index of its word, from 0 without gaps."""


def every_setting(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    source_words: Sequence[Words],
    target_words: Sequence[Words],
) -> Iterator[tuple[AlignmentSetting, Int[Tensor, "batch target_words"]]]:
    """Each setting with the source word that it links every target word to (`word_links`).

    Args:
        tokens: START and the target's tokens, padded with anything.
        source_words, target_words: those of each sentence's tokens, without START and END.
    """
    seen = _seen(model, memory, tokens)
    for layer, site in enumerate(model.cross_sites):
        maps = _maps(model, site, seen.pop(site))
        heads = [None, *range(maps.shape[1] // 2 - 1)]
        for at_input in (False, True):
            rows = maps[:, :, 1:] if at_input else maps[:, :, :-1]
            found = word_links(rows, source_words, target_words)
            for column in range(found.shape[1]):
                norms, which = divmod(column, len(heads))
                yield AlignmentSetting(layer, at_input, heads[which], bool(norms)), found[:, column]


# A generator under `no_grad` would depend on nothing wrapping it: these two return.
@torch.no_grad()
def _seen(
    model: SequenceToSequence, memory: Memory, tokens: Int[Tensor, "batch target"]
) -> dict[str, list[Attention]]:
    """The cross-attention of each site, call by call, while the decoder reads these tokens."""
    seen: dict[str, list[Attention]] = {site: [] for site in model.cross_sites}

    def keep(site: str, attention: Attention) -> None:
        seen[site].append(attention)

    with observe(model, keep, seen.__contains__):
        model.decoder.hidden(memory, tokens)
    return seen


@torch.no_grad()
def _maps(
    model: SequenceToSequence, site: str, calls: Sequence[Attention]
) -> Float[Tensor, "batch maps target source"]:
    """Weights, of the mean and of each head, then norms, of all together and of each head."""
    # An RNN attends step by step, and the values stay the same.
    weights = torch.cat([each.weights for each in calls], dim=2).float()
    together, apart = given_norms(weights, calls[-1].value, output_weight(model, site))
    return torch.cat([weights.mean(1, keepdim=True), weights, together[:, None], apart], dim=1)


def word_links(
    maps: Float[Tensor, "batch maps target source"],
    source_words: Sequence[Words],
    target_words: Sequence[Words],
) -> Int[Tensor, "batch maps target_words"]:
    """For each target word the source word of the largest weight; -1 where there is no such word.

    The batched form of `links(merge_words(...))` in `jumok.alignment.extract`.

    Args:
        source_words, target_words: positions beyond a sentence's own (END, padding) are left out.
    """
    into = _membership(source_words, maps.shape[3]).to(maps)
    out = _membership(target_words, maps.shape[2]).to(maps)
    merged = out[:, None] @ maps @ into.transpose(1, 2)[:, None]
    merged = merged.masked_fill(~into.any(dim=2)[:, None, None], -1.0)
    return merged.argmax(dim=3).masked_fill(~out.any(dim=2)[:, None], -1)


def _membership(words: Sequence[Words], length: int) -> Float[Tensor, "batch words length"]:
    """1 where a token belongs to a word.

    The sum over a target word's tokens is not divided by their number: the largest is the same.
    """
    index = torch.full((len(words), length), -1)
    for row, of_sentence in enumerate(words):
        index[row, : len(of_sentence)] = torch.tensor(of_sentence, dtype=torch.long)
    return (torch.arange(int(index.max()) + 1)[:, None] == index[:, None]).float()
