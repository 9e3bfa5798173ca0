"""Word alignment from cross-attention.

The step that writes a token attends to what is to be translated next; the step after it, which
reads the token, attends to what was just translated. In deep models an early layer at the reading
step is best (Kobayashi et al. 2020), in shallow ones the writing step. So the setting is measured
for each model (`choose_setting`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from operator import itemgetter

import torch

from jumok.alignment.norms import batched_contribution_norms, output_weight
from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import Attention, observe
from jumok.data.pairs.batches import collate, on_device
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.errors import ModelError
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, Tensor

WordIndices = Sequence[int]
"""For each token the index of its word, from 0 without gaps."""

TokenPair = tuple[int, int]


@torch.no_grad()
def cross_attentions(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    settings: Sequence[AlignmentSetting],
) -> list[Float[Tensor, "batch tokens source"]]:
    """The cross-attention weights, or norms, of each target token over the source positions.

    All heads together are the mean of their weights, or the norm of the sum of their outputs.

    Args:
        tokens: START and the target's tokens; the results have a row for each of these tokens.
        settings: each has one result, all from one pass.

    Raises:
        ModelError: no such layer or head.
    """
    by_layer = model.cross_sites
    for setting in settings:
        if not 0 <= setting.layer < len(by_layer):
            raise ModelError(
                "the model has no such layer.",
                expected=f"1 to {len(by_layer)}, of the decoder's cross-attentions",
                got=str(setting.layer + 1),
            )
    sites = [by_layer[setting.layer] for setting in settings]
    recorded: list[list[Tensor]] = [[] for _ in settings]

    def record(name: str, attention: Attention) -> None:
        for steps, site, setting in zip(recorded, sites, settings, strict=True):
            if site == name:
                output = output_weight(model, site) if setting.norms else None
                steps.append(_weights_or_norms(attention, setting, output))

    with observe(model, record, sites.__contains__):
        model.decoder.hidden(memory, tokens)
    # An RNN may attend step by step.
    maps = [torch.cat(steps, dim=1) for steps in recorded]
    # Row i is the step whose input is tokens[i]: it reads token i - 1 and writes token i.
    return [
        steps[:, 1:] if setting.at_input else steps[:, :-1]
        for steps, setting in zip(maps, settings, strict=True)
    ]


def attention_at_setting(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    setting: AlignmentSetting,
) -> Float[Tensor, "batch tokens source"]:
    """`cross_attentions` for one setting."""
    return cross_attentions(model, memory, tokens, [setting])[0]


def _weights_or_norms(
    attention: Attention, setting: AlignmentSetting, output: Tensor | None
) -> Float[Tensor, "batch query key"]:
    weights, head = attention.weights, setting.head
    if head is not None and not 0 <= head < weights.shape[1]:
        raise ModelError(
            "the model has no such head.", expected=f"1 to {weights.shape[1]}", got=str(head + 1)
        )
    if not setting.norms:
        return weights.mean(dim=1) if head is None else weights[:, head]
    together, apart = batched_contribution_norms(weights, attention.value, output)
    return together if head is None else apart[:, head]


@dataclass(frozen=True)
class Aligner:
    """Extracts word alignments from the attention of the models that wrote.

    Attributes:
        readings: the alignment setting of each model; None for one without attention.
    """

    models: Sequence[SequenceToSequence]
    readings: Sequence[AlignmentSetting | None]
    tokenizer: Tokenizer

    @property
    def aligns(self) -> bool:
        return any(reading is not None for reading in self.readings)

    def between_pieces(
        self, memories: Sequence[Memory], targets: Sequence[Sequence[int]]
    ) -> Float[Tensor, "batch target source"]:
        """How much each target token attended to each source position, END's included, by the
        models that have an attention, at least one.
        """
        longest = max(map(len, targets))
        tokens = torch.tensor(
            [[START, *target, *[END] * (longest - len(target))] for target in targets],
            device=memories[0].states.device,
        )
        maps = [
            attention_at_setting(model, its, tokens, reading)
            for model, its, reading in zip(self.models, memories, self.readings, strict=True)
            if reading is not None
        ]
        return torch.stack(maps).mean(0).float().cpu()


@torch.no_grad()
def choose_setting(
    model: SequenceToSequence, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> AlignmentSetting | None:
    """The layer and step whose links are the most informative; None without cross-attention.

    Each target token is linked to the source token with the largest weight. The better the links,
    the better a source token predicts the target tokens that are linked to it: their mutual
    information. It needs no gold links.

    Args:
        model: in evaluation mode.
        sources, targets: at least one pair with tokens on both sides; some dozens are enough.
    """
    batch = on_device(collate(sources, targets), next(model.parameters()).device)
    memory = model.encode(batch.source, batch.source_allowed)
    settings = [
        AlignmentSetting(layer, at_input)
        for layer, at_input in product(range(len(model.cross_sites)), (False, True))
    ]

    maps = cross_attentions(model, memory, batch.target_input, settings) if settings else []

    def informativeness(weights: Float[Tensor, "batch tokens source"]) -> float:
        links = Counter[TokenPair]()
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            attended = weights[row, : len(target), : len(source)].argmax(dim=1).tolist()
            links.update(zip((source[position] for position in attended), target, strict=True))
        return mutual_information(links)

    scores = [informativeness(weights.cpu()) for weights in maps]
    return max(zip(scores, settings, strict=True), key=itemgetter(0), default=(0.0, None))[1]


def mutual_information(pairs: Counter[TokenPair]) -> float:
    """sum of p(x, y) log(p(x, y) / (p(x) p(y))) in nats, from relative frequencies."""
    total = pairs.total()
    left, right = Counter[int](), Counter[int]()
    for (x, y), count in pairs.items():
        left[x] += count
        right[y] += count
    return sum(
        count / total * log(count * total / (left[x] * right[y])) for (x, y), count in pairs.items()
    )


def every_setting(
    model: SequenceToSequence,
    memory: Memory,
    tokens: Int[Tensor, "batch target"],
    source_words: Sequence[WordIndices],
    target_words: Sequence[WordIndices],
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
            linked = word_links(rows, source_words, target_words)
            for column in range(linked.shape[1]):
                norms, which = divmod(column, len(heads))
                yield (
                    AlignmentSetting(layer, at_input, heads[which], bool(norms)),
                    linked[:, column],
                )


# A generator under `no_grad` would depend on nothing wrapping it: these two return.
@torch.no_grad()
def _seen(
    model: SequenceToSequence, memory: Memory, tokens: Int[Tensor, "batch target"]
) -> dict[str, list[Attention]]:
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
    weights = torch.cat([attention.weights for attention in calls], dim=2).float()
    output = output_weight(model, site)
    together, apart = batched_contribution_norms(weights, calls[-1].value, output)
    return torch.cat([weights.mean(1, keepdim=True), weights, together[:, None], apart], dim=1)


def word_links(
    maps: Float[Tensor, "batch maps target source"],
    source_words: Sequence[WordIndices],
    target_words: Sequence[WordIndices],
) -> Int[Tensor, "batch maps target_words"]:
    """For each target word the source word of the largest weight; -1 where there is no such word.

    The batched form of `links(merge_words(...))` in `jumok.alignment.words`.

    Args:
        source_words, target_words: positions beyond a sentence's own (END, padding) are left out.
    """
    into = _word_matrix(source_words, maps.shape[3]).to(maps)
    out = _word_matrix(target_words, maps.shape[2]).to(maps)
    merged = out[:, None] @ maps @ into.transpose(1, 2)[:, None]
    merged = merged.masked_fill(~into.any(dim=2)[:, None, None], -1.0)
    return merged.argmax(dim=3).masked_fill(~out.any(dim=2)[:, None], -1)


def _word_matrix(words: Sequence[WordIndices], length: int) -> Float[Tensor, "batch words length"]:
    """1 where a token belongs to a word; not divided by its number of tokens, as the largest weight
    is the same.
    """
    index = torch.full((len(words), length), -1)
    for row, of_sentence in enumerate(words):
        index[row, : len(of_sentence)] = torch.tensor(of_sentence, dtype=torch.long)
    return (torch.arange(int(index.max()) + 1)[:, None] == index[:, None]).float()
