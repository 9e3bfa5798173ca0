"""`jumok heads`: what every attention head does, and how many of them are needed."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from jumok.cli import options as option
from jumok.cli.align import corpus_of
from jumok.cli.screen import counted
from jumok.cli.streams import open_output
from jumok.errors import ConfigError, DataError

if TYPE_CHECKING:
    from jumok.data.batches import Batch
    from jumok.data.corpora import Pair
    from jumok.inspection.measures import HeadCard
    from jumok.inspection.pruning import PrunedPoint
    from jumok.systems.translator import Translator

AHEAD = 32
"""Batches of sentences that are read before the first is measured."""

Columns = Annotated[str, typer.Option(help="In --data: the source's and the target's.")]
Sentences = Annotated[
    int | None, typer.Option(min=1, help="Only so many pairs, from the beginning.")
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Switch off ever more heads, and score what is left.")
]
Scorer = Annotated[
    Literal["bleu", "likelihood"],
    typer.Option(help="With --prune: BLEU of greedy translations, or the quick one."),
]
SCORERS = {"bleu": "BLEU, greedy", "likelihood": "log-probability, nats a piece"}


def heads(
    model: option.Model,
    source: option.Source = None,
    target: option.Target = None,
    data: option.Pairs = None,
    columns: Columns = "0,1",
    sentences: Sentences = None,
    prune: Prune = False,
    score: Scorer = "bleu",
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 64,
    device: option.Device = "auto",
    threads: option.Threads = 0,
) -> None:
    """Say what every attention head does, over texts and their translations.

    Entropy in nats and as a share of the most it could be; confidence, the
    mean of the largest weight; the offset it looks at most often; its
    importance for the loss, as a share of its layer's; its role, if any.

      jumok heads MODEL --source dev.en --target dev.de

      jumok heads MODEL --data dev.tsv --sentences 200 --prune
    """
    from jumok.data.corpora import read_pairs

    folders = option.model_folders(model)
    if len(folders) > 1:
        raise ConfigError("the heads are those of one model.", got=model, do="give one model")
    corpus, _ = corpus_of(source, target, data, columns, None)
    translator = option.load_translator(model, device, "fp32", threads)
    pairs = islice(read_pairs(corpus), sentences)
    kept: list[Pair] = []
    cards = _cards(translator, folders[0], _keeping(pairs, kept) if prune else pairs, batch)
    curves = _curves(translator, cards, kept, score, batch) if prune else {}
    with open_output(output) as stream:
        if as_json:
            facts: dict[str, Any] = {"model": model, "heads": list(map(_facts, cards))}
            if curves:
                facts |= {"score": SCORERS[score], "curves": _points(curves)}
            stream.write(json.dumps(facts, indent=2) + "\n")
            return
        screen = Console(file=stream, markup=False, highlight=False)
        screen.print(_table(cards))
        if curves:
            screen.print(f"\n{SCORERS[score]}, with the least important heads off:")
            screen.print(_curve_table(curves))


def _keeping(pairs: "Iterable[Pair]", kept: "list[Pair]") -> "Iterator[Pair]":
    """The pairs as they pass, put into `kept`."""
    for pair in pairs:
        kept.append(pair)
        yield pair


def _cards(
    translator: "Translator", folder: Path, pairs: "Iterable[Pair]", batch_size: int
) -> "list[HeadCard]":
    """A card for each head.

    Raises:
        ConfigError: the model has no attention.
        DataError: not one pair with words on both sides.
    """
    from jumok.bundle.reading import read_bundle
    from jumok.bundle.weights import load_model
    from jumok.inspection.intervene import sites
    from jumok.inspection.measures import head_cards
    from jumok.models.memory import SequenceToSequence

    # What translates is laid out for inference, and has no slopes.
    device = next(translator.models[0].parameters()).device
    model = load_model(read_bundle(folder), str(device))
    assert isinstance(model, SequenceToSequence)
    if not sites(model):
        raise ConfigError("this model has no attention.", got=str(folder))
    cards = head_cards(model, _batches(translator, counted(pairs), batch_size))
    if not cards:
        raise DataError("there is no pair with words on both sides to look at.")
    return cards


def _batches(
    translator: "Translator", pairs: "Iterable[Pair]", batch_size: int
) -> "Iterator[Batch]":
    from jumok.systems.pairs import encode_pairs

    stream = iter(pairs)
    while chunk := list(islice(stream, AHEAD * batch_size)):
        encoded = encode_pairs(
            translator, [pair.source for pair in chunk], [pair.target for pair in chunk]
        )
        for _, batch in encoded.collated(batch_size):
            yield batch


def _curves(
    translator: "Translator",
    cards: "Sequence[HeadCard]",
    pairs: "Sequence[Pair]",
    score: str,
    batch: int,
) -> "dict[str, list[PrunedPoint]]":
    from jumok.evaluation.likelihood import likelihood
    from jumok.evaluation.text import score_text
    from jumok.inspection.pruning import pruning_curves

    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]

    def bleu() -> float:
        found = translator.translate(sources, beam=1, alignments=False, batch_size=batch)
        texts = [translation.text for translation in found]
        language = translator.target_language
        (found_bleu,) = score_text(
            texts, targets, target_language=language, metrics=("bleu",), resamples=0
        )
        return found_bleu.value

    def log_probability() -> float:
        return -likelihood(translator.score(sources, targets, batch_size=batch)).loss

    scorer = bleu if score == "bleu" else log_probability
    return pruning_curves(translator.models[0], cards, scorer)


def _table(cards: "Sequence[HeadCard]") -> Table:
    from jumok.inspection.measures import OFFSETS

    table = Table(box=None, padding=(0, 2, 0, 0))
    names = ("part", "head", "entropy", "share", "confidence", "offset", "importance", "role")
    for name in names:
        left = name in ("part", "head", "role")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for card in cards:
        often, offset = max(zip(card.offsets, OFFSETS, strict=True))
        table.add_row(
            card.part,
            f"{card.layer + 1}.{card.head + 1}",
            f"{card.entropy:.3f}",
            f"{100 * card.uniform_share:.0f} %",
            f"{card.confidence:.3f}",
            f"{offset:+d} {100 * often:3.0f} %",
            f"{card.importance:.3f}",
            card.role,
        )
    return table


def _curve_table(curves: "Mapping[str, Sequence[PrunedPoint]]") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("off", justify="right")
    for part in curves:
        table.add_column(part, justify="right", no_wrap=True)
    for row in zip(*curves.values(), strict=True):
        table.add_row(f"{row[0].percent} %", *(f"{point.score:.2f}" for point in row))
    return table


def _facts(card: "HeadCard") -> dict[str, Any]:
    """Layers and heads counted from 1, as everywhere a person sees them."""
    counted_from_one = {"layer": card.layer + 1, "head": card.head + 1, "role": card.role}
    return asdict(card) | counted_from_one


def _points(curves: "Mapping[str, Sequence[PrunedPoint]]") -> dict[str, list[dict[str, float]]]:
    return {part: [point._asdict() for point in points] for part, points in curves.items()}
