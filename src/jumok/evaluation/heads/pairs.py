"""What every head of a translator does over a corpus, and how well each aligns words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from jumok.alignment.setting import AlignmentSetting
from jumok.attention.observe import sites
from jumok.errors import ConfigError, DataError
from jumok.evaluation.alignment import AlignmentScores
from jumok.evaluation.alignment_settings import AlignedPair, SettingTable
from jumok.inspection.heads.cards import AnyHeadCard, HeadCard
from jumok.inspection.heads.measures import HeadMeter, Pieces
from jumok.systems.translation.pairs import encode_pairs
from jumok.systems.translation.translator import Translator

BATCHES_AHEAD = 32
"""The number of batches that are read ahead, to sort sentences by length."""


def head_cards_over(
    translator: Translator,
    pairs: Callable[[], Iterable[AlignedPair]],
    batch_size: int = 64,
) -> list[AnyHeadCard]:
    """A card for each head of the model; cross-attention is scored against gold alignments, if any.

    Args:
        translator: that of one model.
        pairs: returns the corpus from its beginning; it is read twice, because rare tokens are
            known only after all are counted.

    Raises:
        ConfigError: the model has no attention.
        DataError: no pair with words on both sides, or gold alignments without a sure link.
    """
    (model,) = translator._models
    if not sites(model):
        raise ConfigError("this model has no attention.", do="give one with attention")
    meter = HeadMeter(model, _pieces_of(translator, pairs(), batch_size))
    table: SettingTable | None = None
    for chunk in _pair_chunks(pairs(), batch_size):
        encoded = encode_pairs(
            translator, [pair.source for pair in chunk], [pair.target for pair in chunk]
        )
        for _, batch in encoded.collated(batch_size):
            meter.add(batch)
        gold = [pair.gold for pair in chunk if pair.gold is not None]
        if gold and model.cross_sites:
            table = table or SettingTable(translator)
            table.add(encoded, gold, batch_size)
    cards = meter.cards()
    if not cards:
        raise DataError("there is no pair with words on both sides.")
    return cards if table is None else aligned(cards, model.cross_sites, table.scores())


def aligned(
    cards: Iterable[AnyHeadCard],
    cross_sites: Sequence[str],
    scores: dict[AlignmentSetting, AlignmentScores],
) -> list[AnyHeadCard]:
    """The cards with the precision and the error rate of the links from the heads' weights, at the
    step, writing or reading, with the lower error rate.

    Args:
        cross_sites: of cross-attention, by layer.
    """
    scored = []
    for card in cards:
        if isinstance(card, HeadCard) and card.site in cross_sites:
            layer = cross_sites.index(card.site)
            both = [scores[AlignmentSetting(layer, step, card.head)] for step in (False, True)]
            best = min(both, key=lambda step_scores: step_scores.error_rate)
            card = replace(card, precision=best.precision, error_rate=best.error_rate)
        scored.append(card)
    return scored


def check_same_heads(models: Sequence[Sequence[AnyHeadCard]]) -> None:
    """Raises ConfigError if the models to be compared do not have the same heads."""
    first, *others = ([(card.site, card.head) for card in cards] for cards in models)
    for number, heads in enumerate(others, start=2):
        if heads != first:
            raise ConfigError(
                "only models with the same heads can be compared.",
                expected=f"{len(first)} heads, as the first model has",
                got=f"{len(heads)} heads, or at other places, in model {number}",
                do="give checkpoints of one run, or other models of its size",
            )


def _pieces_of(translator: Translator, pairs: Iterable[AlignedPair], batch_size: int) -> Pieces:
    encoded = (
        encode_pairs(translator, [pair.source for pair in chunk], [pair.target for pair in chunk])
        for chunk in _pair_chunks(pairs, batch_size)
    )
    sides = (
        (chain(*chunk_of_pairs.sources), chain(*chunk_of_pairs.targets))
        for chunk_of_pairs in encoded
    )
    return Pieces.of(
        translator.tokenizer, ((list(source), list(target)) for source, target in sides)
    )


def _pair_chunks(pairs: Iterable[AlignedPair], batch_size: int) -> Iterator[list[AlignedPair]]:
    stream = iter(pairs)
    while chunk := list(islice(stream, BATCHES_AHEAD * batch_size)):
        yield chunk
