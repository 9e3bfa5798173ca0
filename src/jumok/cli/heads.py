"""`jumok heads`: what every attention head does, and how many of them are needed."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from jumok.cli import options as option
from jumok.cli.align import corpus_of
from jumok.cli.screen import counted
from jumok.cli.streams import open_output, read_lines
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.evaluation.readings import AlignedPair
    from jumok.inspection.cards import HeadCard
    from jumok.inspection.pruning import PrunedPoint
    from jumok.systems.translator import Translator

Models = Annotated[
    list[str],
    typer.Argument(
        help="A bundle; several, with the same heads, are put side by side: "
        "a run after less and after more training."
    ),
]
Columns = Annotated[
    str, typer.Option(help="In --data: source, target and, if there are any, gold links.")
]
Gold = Annotated[
    Path | None, typer.Option(help="Links by people, line for line: 0-0 sure, 1p2 possible.")
]
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
Save = Annotated[
    Path | None, typer.Option(help="The cards as a page (.html) that needs no network.")
]
WIDEST = 100
"""Columns of the widest table: several models, and gold links."""

TEXTS = ("language-model", "masked-lm", "text-classification")
SCORERS = {"bleu": "BLEU, greedy", "likelihood": "log-probability, nats a piece"}


def heads(
    models: Models,
    source: option.Source = None,
    target: option.Target = None,
    data: option.Pairs = None,
    columns: Columns = "0,1",
    gold: Gold = None,
    sentences: Sentences = None,
    prune: Prune = False,
    score: Scorer = "bleu",
    save: Save = None,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 64,
    device: option.Device = "auto",
    threads: option.Threads = 0,
) -> None:
    """Say what every attention head does, over texts and their translations.

    Models of single texts (language models, fillers of gaps, classifiers)
    take --data FILE with a text a line.

    Entropy in nats and as a share of the most it could be; confidence, the
    mean of the largest weight; the offset it looks at most often; its
    importance for the loss, as a share of its layer's; its role, if any;
    with gold links, the error rate of the alignment that it makes (AER).

      jumok heads MODEL --source dev.en --target dev.de --save cards.html

      jumok heads EARLY/model LATE/model --data dev.tsv --sentences 200

      jumok heads MODEL --data dev.tsv --prune
    """
    from jumok.evaluation.heads import check_same_heads, head_cards_over
    from jumok.evaluation.text_heads import text_head_cards_over
    from jumok.systems.catalog import SYSTEMS

    folders = _folders(models, prune, save)
    task = _task(folders)
    read, title = _corpus(task, _Given(source, target, data, columns, gold, sentences))
    if prune and task != "translation":
        raise ConfigError("--prune is for models that translate.", got=models[0])
    measured: dict[str, list[HeadCard]] = {}
    curves: dict[str, list[PrunedPoint]] = {}
    for model in folders:
        system = option.load_system(model, SYSTEMS[task].verb, device, "fp32", threads)
        over = head_cards_over if task == "translation" else text_head_cards_over
        measured[model] = over(system, lambda: counted(read()), batch)
        if prune:
            curves = _curves(system, measured[model], list(read()), score, batch)
    check_same_heads(list(measured.values()))
    shares = {"score": SCORERS[score], "curves": _points(curves)} if curves else {}
    if save is not None:
        _save(save, _named(measured, folders), title, sum(1 for _ in read()))
    with open_output(output) as stream:
        if as_json:
            stream.write(json.dumps(_facts(measured) | shares, indent=2) + "\n")
        else:
            _show(Console(file=stream, markup=False, highlight=False), measured, curves, score)


class _Given(NamedTuple):
    """Where the corpus is, as the options say it."""

    source: Path | None
    target: Path | None
    data: Path | None
    columns: str
    gold: Path | None
    sentences: int | None


def _task(folders: "Mapping[str, Path]") -> str:
    """What the models are for.

    Raises:
        ConfigError: not all for the same, or for pictures.
    """
    from jumok.bundle.reading import read_bundle

    tasks = {read_bundle(folder).config.task for folder in folders.values()}
    if len(tasks) > 1 or not tasks <= {"translation", *TEXTS}:
        raise ConfigError(
            "head cards are of models that read texts, all of one kind.",
            expected=f"translation, {', '.join(TEXTS)}",
            got=", ".join(sorted(tasks)),
        )
    return tasks.pop()


def _corpus(task: str, given: _Given) -> "tuple[Callable[[], Iterable[Any]], str]":
    """What reads the corpus from its beginning, and its name.

    Raises:
        ConfigError: a side is missing, or a model of single texts is given two.
    """
    from jumok.evaluation.readings import read_aligned

    if task == "translation":
        corpus, links = corpus_of(given.source, given.target, given.data, given.columns, given.gold)
        return lambda: islice(
            read_aligned(corpus, given.gold, links), given.sentences
        ), corpus.title
    file = given.data or given.source
    if file is None or given.target or given.gold or (given.data and given.source):
        raise ConfigError(
            "this model reads single texts.", expected="--data FILE, a text a line", got=task
        )
    return lambda: islice(read_lines(file), given.sentences), file.name


def _facts(measured: "Mapping[str, Sequence[HeadCard]]") -> dict[str, Any]:
    """The cards of one model, or those of each."""
    told = [
        {"model": model, "heads": [card.facts() for card in cards]}
        for model, cards in measured.items()
    ]
    return told[0] if len(told) == 1 else {"models": told}


def _folders(models: Sequence[str], prune: bool, save: Path | None) -> dict[str, Path]:
    """The folder of each model.

    Raises:
        ConfigError: an ensemble; a model twice; several to prune; a page of another kind of file.
    """
    folders = {}
    for model in models:
        named = option.model_folders(model)
        if len(named) > 1:
            raise ConfigError(
                "the heads are those of one model.", got=model, do="give the models one by one"
            )
        folders[model] = named[0]
    if prune and len(models) > 1:
        raise ConfigError("--prune takes one model.", got=" ".join(models))
    if len(folders) < len(models):
        raise ConfigError("a model is named twice.", got=" ".join(models))
    if save is not None and save.suffix != ".html":
        raise ConfigError(
            "the cards are saved as a page.", expected="--save FILE.html", got=str(save)
        )
    return folders


def _named(
    measured: "Mapping[str, Sequence[HeadCard]]", folders: "Mapping[str, Path]"
) -> "Mapping[str, Sequence[HeadCard]]":
    """The models by the names on their cards, or as they were given where names are alike."""
    from jumok.bundle.reading import read_bundle

    names = {model: read_bundle(folder).card.name for model, folder in folders.items()}
    if len(set(names.values())) < len(names):
        return measured
    return {names[model]: cards for model, cards in measured.items()}


def _save(
    file: Path, measured: "Mapping[str, Sequence[HeadCard]]", data: str, sentences: int
) -> None:
    from jumok.inspection.cards_page import cards_page

    with open_output(file) as stream:
        stream.write(cards_page(measured, data, sentences))
    typer.echo(str(file), err=True)


def _curves(
    translator: "Translator",
    cards: "Sequence[HeadCard]",
    pairs: "Sequence[AlignedPair]",
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


def _show(
    screen: Console,
    measured: "Mapping[str, Sequence[HeadCard]]",
    curves: "Mapping[str, Sequence[PrunedPoint]]",
    score: str,
) -> None:
    screen.width = max(screen.width, WIDEST)  # a longer line is better than half a word
    if len(measured) > 1:
        screen.print(*(f"{number}  {name}" for number, name in enumerate(measured, 1)), sep="\n")
    screen.print(_table(measured))
    if curves:
        screen.print(f"\n{SCORERS[score]}, with the least important heads off:")
        screen.print(_curve_table(curves))


def _table(measured: "Mapping[str, Sequence[HeadCard]]") -> Table:
    """A row for each head; of several models rows stand together, numbered as they were given."""
    from jumok.inspection.cards import OFFSETS

    first, *others = measured.values()
    gold = any(card.error_rate is not None for card in first)
    names = ["part", "head", "entropy", "share", "confidence", "offset", "importance"]
    names += ["AER"] if gold else []
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in (*(["model"] if others else []), *names, "role"):
        left = name in ("part", "head", "role")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for cards in zip(first, *others, strict=True):
        for number, card in enumerate(cards, start=1):
            often, place = max(zip(card.offsets, range(len(card.offsets)), strict=True))
            inner = (f"{each:+d}" if each else "0" for each in OFFSETS)
            offset = (f"< {OFFSETS[0]}", *inner, f"> {OFFSETS[-1]}")
            rate = "" if card.error_rate is None else f"{100 * card.error_rate:.1f} %"
            table.add_row(
                *([str(number)] if others else []),
                card.part,
                f"{card.layer + 1}.{card.head + 1}",
                f"{card.entropy:.3f}",
                f"{100 * card.uniform_share:.0f} %",
                f"{card.confidence:.3f}",
                f"{offset[place]} {100 * often:2.0f} %",
                f"{card.importance:.3f}",
                *([rate] if gold else []),
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


def _points(curves: "Mapping[str, Sequence[PrunedPoint]]") -> dict[str, list[dict[str, float]]]:
    return {part: [point._asdict() for point in points] for part, points in curves.items()}
