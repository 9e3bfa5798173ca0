"""Batching and word alignment of sentence pairs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jumok.alignment.extract import Aligner, word_links
from jumok.alignment.words import Link
from jumok.data.pairs.batches import Batch, SourceBatch, collate, source_batches
from jumok.models.memory import Memory
from jumok.shapes import Int, Tensor
from jumok.systems.translation.translator import Translator

MAX_TOKENS = 2_048
"""The maximum length in tokens of a sentence if the model's positions set no limit."""

MAX_POSITIONS = 8_192
"""The maximum number of positions in a batch, padding included: attention maps grow with
their square."""

Links = tuple[Link, ...]


@dataclass(frozen=True)
class PairBatch:
    """Pairs that are read together.

    Attributes:
        rows: their indices in what was given.
        memories: what each model wrote of the sources.
        tokens: START and the targets' tokens, padded with PAD.
        sources, targets: the tokens of each pair.
    """

    rows: list[int]
    memories: list[Memory]
    tokens: Int[Tensor, "batch target"]
    sources: list[list[int]]
    targets: list[list[int]]


@dataclass(frozen=True)
class EncodedPairs:
    """Encoded pairs.

    Attributes:
        sources, targets: their tokens.
        long: the rows that are too long to be read whole.
    """

    sources: list[list[int]]
    targets: list[list[int]]
    long: frozenset[int]

    def collated(self, batch_size: int) -> Iterator[tuple[list[int], Batch]]:
        """All pairs with words on both sides that are not too long, and their rows.

        Pairs of similar length are batched together.
        """
        whole = [
            row
            for row, (source, target) in enumerate(zip(self.sources, self.targets, strict=True))
            if source and target and row not in self.long
        ]
        longer = [max(self.sources[row], self.targets[row], key=len) for row in whole]
        plan = source_batches(longer, sentences=batch_size, tokens=MAX_POSITIONS) if whole else ()
        for planned in plan:
            rows = [whole[place] for place in planned.rows]
            sources, targets = (
                [side[row] for row in rows] for side in (self.sources, self.targets)
            )
            yield rows, collate(sources, targets)

    def batches(self, translator: Translator, batch_size: int) -> Iterator[PairBatch]:
        """As `collated`, with what the models wrote of the sources."""
        device = next(translator._models[0].parameters()).device
        for rows, batch in self.collated(batch_size):
            memories = translator.read(SourceBatch(batch.source, batch.source_allowed, rows))
            sources, targets = (
                [side[row] for row in rows] for side in (self.sources, self.targets)
            )
            yield PairBatch(rows, memories, batch.target_input.to(device), sources, targets)


def encode_pairs(
    translator: Translator, sources: Sequence[str], targets: Sequence[str]
) -> EncodedPairs:
    """The texts as tokens, as many sources as targets."""
    tokenizer = translator.tokenizer
    read, write = tokenizer.encode_batch(sources), tokenizer.target.encode_batch(targets)
    limit = min(translator.longest_target or MAX_TOKENS, MAX_TOKENS)
    pairs = enumerate(zip(read, write, strict=True))
    long = frozenset(row for row, pair in pairs if max(map(len, pair)) > limit)
    return EncodedPairs(read, write, long)


def align_pairs(
    translator: Translator, aligner: Aligner, pairs: EncodedPairs, batch_size: int = 32
) -> list[Links]:
    """For each pair every target word with the source word it attended to most.

    Pairs with an empty side, and those that are too long, have no links.
    """
    pair_links: list[Links] = [()] * len(pairs.sources)
    words = translator.tokenizer.words
    for batch in pairs.batches(translator, batch_size):
        weights = aligner.between_pieces(batch.memories, batch.targets)
        linked = word_links(
            weights[:, None], list(map(words, batch.sources)), list(map(words, batch.targets))
        )
        for row, places in zip(batch.rows, linked[:, 0].tolist(), strict=True):
            pair_links[row] = links_of(places)
    return pair_links


def links_of(places: Iterable[int]) -> Links:
    """The links of one sentence, from the source word of each target word; -1 is no link."""
    return tuple(sorted((source, target) for target, source in enumerate(places) if source >= 0))
