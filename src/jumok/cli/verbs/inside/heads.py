"""`jumok heads`: head cards over a corpus, and pruning curves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer
from rich.console import Console

from jumok.cli.head_cards.corpora import CorpusArgs, HeadCorpus, PairsCorpus
from jumok.cli.head_cards.table import ModelCards, show_cards, show_curves, write_cells
from jumok.cli.options import ChosenLanguages, Machine, Output, Without, model_folders
from jumok.cli.output.cells import SEPARATORS
from jumok.cli.output.streams import check_output, open_output
from jumok.errors import ConfigError
from jumok.kinds import KINDS

if TYPE_CHECKING:
    from jumok.evaluation.alignment_settings import AlignedPair
    from jumok.inspection.heads.cards import AnyHeadCard
    from jumok.inspection.heads.pruning import PrunedPoint
    from jumok.systems.catalog import OpenedModel
    from jumok.systems.translation.translator import Translator

SCORERS = {"bleu": "BLEU, greedy", "likelihood": "log-probability, nats per token"}


def heads(
    models: Annotated[
        list[str],
        typer.Argument(
            help="Bundles; several with the same heads, such as stages of one training run, are "
            "printed side by side."
        ),
    ],
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Prune 0 to 100 % of the heads, the least important first, and score the model.",
        ),
    ] = False,
    score: Annotated[
        Literal["bleu", "likelihood"],
        typer.Option(
            help="With --prune: score by BLEU of greedy decoding, or by the likelihood of the "
            "reference, which is faster."
        ),
    ] = "bleu",
    save: Annotated[
        Path | None, typer.Option(help="Save the head cards as a page (.html) that works offline.")
    ] = None,
    *,
    data: Annotated[CorpusArgs, CorpusArgs()],
    languages: Annotated[ChosenLanguages, ChosenLanguages()],
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine(batch=64), Without("precision")],
) -> None:
    """Summarize the behaviour of each attention head over a corpus.

    Translators need a parallel corpus; models of single texts need --data
    FILE with one text per line; models of images need --data as in jumok
    evaluate.

    For each head, prints: the entropy in nats and as a share of its maximum;
    the confidence (mean of the largest weight); the most frequent offset; the
    importance for the loss, as a share of the layer's importance; the role,
    if the head has a clear one; with gold alignments, the alignment error
    rate (AER); with gold boxes, the score of the pointing game.

      jumok heads MODEL --source dev.en --target dev.de --save cards.html

      jumok heads MODEL --data captions.tsv --images photos.zip

      jumok heads EARLY/model LATE/model --data dev.tsv --sentences 200

      jumok heads MODEL --data dev.tsv --prune
    """
    if score != "bleu" and not prune:
        raise ConfigError("--score needs --prune.", do="add --prune, or leave out --score")
    folders = _folders(models, prune, save)
    kind, output, batch = (
        _output_kind(written.output, written.as_json),
        written.output,
        machine.batch,
    )
    for file in (output, save):
        check_output(file, data.source, data.target, data.data, data.gold)
    opened = _open_all(folders)
    task, kind_of = next((each.task, each.kind) for each in opened.values())
    make: Callable[[CorpusArgs], HeadCorpus] = kind_of.entry("corpus")
    corpus = make(replace(data, task=task))
    if prune and not isinstance(corpus, PairsCorpus):
        raise ConfigError("--prune needs a translation model.", got=models[0])
    measured: dict[str, list[AnyHeadCard]] = {}
    curves: dict[str, list[PrunedPoint]] = {}
    for model in folders:
        system = languages.chosen(machine.load(opened[model], kind_of.verb))
        measured[model] = corpus.cards(system, batch)
        if prune and isinstance(corpus, PairsCorpus):
            curves = _curves(system, measured[model], list(corpus.pairs()), score, batch)
    from jumok.evaluation.heads.pairs import check_same_heads

    check_same_heads(list(measured.values()))
    if save is not None:
        _save(save, _by_name(measured, opened), corpus)
    with open_output(output) as stream:
        _write_cards(stream, kind, measured, curves, score)


def _write_cards(
    stream: TextIO,
    kind: str,
    measured: "Mapping[str, Sequence[AnyHeadCard]]",
    curves: "Mapping[str, Sequence[PrunedPoint]]",
    score: str,
) -> None:
    if kind in SEPARATORS:
        write_cells(stream, _card_facts(measured), SEPARATORS[kind])
    elif kind == ".json":
        points = {part: [each._asdict() for each in points] for part, points in curves.items()}
        pruned = {"score": SCORERS[score], "curves": points} if curves else {}
        models = _card_facts(measured)
        cards = {**models[0]} if len(models) == 1 else {"models": models}
        stream.write(json.dumps(cards | pruned, indent=2) + "\n")
    else:
        screen = Console(file=stream, markup=False, highlight=False)
        show_cards(screen, measured)
        if curves:
            show_curves(screen, curves, SCORERS[score])


def _output_kind(output: Path | None, as_json: bool) -> str:
    """The suffix of the output's format; "": the table of the terminal."""
    suffix = "" if output is None else output.suffix.lower()
    if as_json and suffix in ("", ".json"):
        return ".json"
    if as_json or suffix not in ("", ".txt", ".json", *SEPARATORS):
        raise ConfigError(
            "the cards cannot be written in this format.",
            expected="--output FILE.csv, .tsv, .json or .txt; --json is for .json",
            got=f"{output}{' with --json' if as_json else ''}",
        )
    return "" if suffix == ".txt" else suffix


def _open_all(folders: "Mapping[str, Path]") -> "dict[str, OpenedModel]":
    """The models, read up to their weights; ConfigError if they cannot be compared."""
    from jumok.systems.catalog import open_model

    opened = {name: open_model(folder) for name, folder in folders.items()}
    tasks = {each.task for each in opened.values()}
    measured = [task for task, kind in KINDS.items() if kind.corpus is not None]
    if len(tasks) > 1 or not tasks <= set(measured):
        raise ConfigError(
            "the models must be of one kind that has head cards.",
            expected=f"one of {', '.join(measured)}",
            got=", ".join(sorted(tasks)),
        )
    return opened


def _card_facts(measured: "Mapping[str, Sequence[AnyHeadCard]]") -> list[ModelCards]:
    return [
        {"model": model, "heads": [card.facts() for card in cards]}
        for model, cards in measured.items()
    ]


def _folders(models: Sequence[str], prune: bool, save: Path | None) -> dict[str, Path]:
    folders = {}
    for model in models:
        named = model_folders(model)
        if len(named) > 1:
            raise ConfigError(
                "head cards need single models, not an ensemble.",
                got=model,
                do="separate the models by spaces",
            )
        folders[model] = named[0]
    if prune and len(models) > 1:
        raise ConfigError("--prune takes one model.", got=" ".join(models))
    if len(folders) < len(models):
        raise ConfigError("a model is named twice.", got=" ".join(models))
    if save is not None and save.suffix != ".html":
        raise ConfigError("--save writes a page.", expected="--save FILE.html", got=str(save))
    return folders


def _by_name(
    measured: "Mapping[str, Sequence[AnyHeadCard]]", opened: "Mapping[str, OpenedModel]"
) -> "Mapping[str, Sequence[AnyHeadCard]]":
    """The models by the names on their cards, or by their folders if two names are equal."""
    names = {model: each.name for model, each in opened.items()}
    if len(set(names.values())) < len(names):
        return measured
    return {names[model]: cards for model, cards in measured.items()}


def _save(file: Path, measured: "Mapping[str, Sequence[AnyHeadCard]]", corpus: HeadCorpus) -> None:
    with open_output(file) as stream:
        from jumok.inspection.page.cards_page import cards_page

        stream.write(cards_page(measured, corpus.title, corpus.count(), corpus.unit))
    typer.echo(str(file), err=True)


def _curves(
    translator: "Translator",
    cards: "Sequence[AnyHeadCard]",
    pairs: "Sequence[AlignedPair]",
    score: str,
    batch: int,
) -> "dict[str, list[PrunedPoint]]":
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]

    from jumok.evaluation.text import score_text
    from jumok.systems.translation.segments import MODEL_ALONE

    def bleu() -> float:
        translations = translator.translate(
            sources, beam=1, alignments=False, batch_size=batch, **MODEL_ALONE
        )
        texts = [translation.text for translation in translations]
        language = translator.target_language
        (measured,) = score_text(
            texts, targets, target_language=language, metrics=("bleu",), resamples=0
        )
        return measured.value

    from jumok.systems.translation.result import likelihood

    def log_probability() -> float:
        return -likelihood(translator.score(sources, targets, batch_size=batch, **MODEL_ALONE)).loss

    scorer = bleu if score == "bleu" else log_probability
    from jumok.inspection.heads.pruning import pruning_curves

    return pruning_curves(translator.models[0], cards, scorer)
