"""`jumok align`: word alignments, and their error rate against gold links."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.table import Table

from jumok.cli import options as option
from jumok.cli.columns import linked_pairs_of, named_columns
from jumok.cli.output.cells import COLUMNS, JSON, Form, as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import console, counted
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.alignment import aligner as alignment_aligner
    from jumok.alignment import words
    from jumok.evaluation import alignment_settings
    from jumok.systems.translation import pairs as translation_pairs

if TYPE_CHECKING:
    from jumok.alignment.aligner import Aligner
    from jumok.alignment.setting import AlignmentSetting
    from jumok.evaluation.alignment import AlignmentScores
    from jumok.evaluation.alignment_settings import AlignedPair, SettingTable
    from jumok.systems.translation.translator import Translator

AHEAD = 32
"""Batches that are read before the first is aligned, to put lines of similar length into one."""

WHERE = "Alignment setting"

LINKS = tuple(suffix for suffix in COLUMNS if suffix not in JSON)
"""What --output writes with gold links: --json is then for the error rates on the screen."""


Gold = Annotated[
    Path | None,
    typer.Option(help="Gold alignments, one line per pair (0-0 = sure, 1p2 = possible)."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="In --data: columns of source, target and, optionally, gold links (default: 0,1)."
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        min=1, help="Decoder layer, counted from 1 (default: the bundle's).", rich_help_panel=WHERE
    ),
]
Head = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Head, counted from 1 (default: the bundle's, or the mean over heads).",
        rich_help_panel=WHERE,
    ),
]
Step = Annotated[
    Literal["write", "read"] | None,
    typer.Option(
        help="Use the attention of the step that writes a word, or of the next, which reads it "
        "(default: the bundle's).",
        rich_help_panel=WHERE,
    ),
]
Norms = Annotated[
    bool,
    typer.Option(
        "--norms",
        help="Rank by the norm of the attended value instead of the attention weight.",
        rich_help_panel=WHERE,
    ),
]


def align(
    model: option.Model,
    source: option.Source = None,
    target: option.Target = None,
    data: option.Pairs = None,
    columns: Columns = None,
    from_: option.From = None,
    to: option.To = None,
    gold: Gold = None,
    layer: Layer = None,
    head: Head = None,
    reading: Step = None,
    norms: Norms = False,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 64,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Align the words of texts and their translations by a model's attention.

    Prints the links of each pair, source word first: 0-0 1-2 (Pharaoh
    format). Words are separated by spaces.

      jumok align MODEL --source a.en --target a.fr > a.align

    With gold links it prints the alignment error rate of every layer and
    head instead, and --output receives the links.

      jumok align MODEL --data gold.tsv --columns 0,1,2
    """
    check_output(output, source, target, data, gold)
    named = named_columns(data, columns, from_, to) or "0,1"
    corpus, links = linked_pairs_of(source, target, data, named, gold)
    judged = gold is not None or links is not None
    form = form_of(output, as_json and not judged, LINKS if judged else COLUMNS)
    if judged and len(option.model_folders(model)) > 1:
        raise ConfigError(
            "--gold needs a single model, not an ensemble.", got=model, do="give one model"
        )
    translator = option.load_translator(model, device, precision, threads)
    changes = _Changes(
        layer=None if layer is None else layer - 1,
        head=None if head is None else head - 1,
        at_input=None if reading is None else reading == "read",
        norms=norms or None,
    )
    aligner = _aligner(translator, changes, model)
    table = alignment_settings.SettingTable(translator) if judged else None
    pairs = alignment_settings.read_aligned(corpus, gold, links)
    lines = _lines(_Work(translator, aligner, table, batch), pairs, form, corpus.files[0])
    if table is None or output is not None:
        with open_output(output) as stream:
            stream.writelines(counted(lines))
    else:
        deque(counted(lines), maxlen=0)
    if table is not None:
        _say(table.scores(), aligner.readings[0], model, as_json)


class _Changes(NamedTuple):
    """The options that change alignment settings; None: the setting's own."""

    layer: int | None
    head: int | None
    at_input: bool | None
    norms: bool | None

    def of(self, setting: "AlignmentSetting") -> "AlignmentSetting":
        """The setting with these changes."""
        return replace(
            setting,
            layer=setting.layer if self.layer is None else self.layer,
            head=setting.head if self.head is None else self.head,
            at_input=setting.at_input if self.at_input is None else self.at_input,
            norms=setting.norms if self.norms is None else self.norms,
        )


def _aligner(translator: "Translator", changes: _Changes, model: str) -> "Aligner":
    """The aligner with the bundles' alignment settings, changed by the given options.

    Raises:
        ConfigError: no model has cross-attention.
    """
    aligner = translator.aligner
    if not aligner.aligns:
        raise ConfigError("this model has no cross-attention, so it cannot align words.", got=model)
    readings = [reading and changes.of(reading) for reading in aligner.readings]
    return alignment_aligner.Aligner(aligner.models, readings, aligner.tokenizer)


class _Work(NamedTuple):
    translator: "Translator"
    aligner: "Aligner"
    table: "SettingTable | None"
    batch: int


def _lines(work: _Work, pairs: "Iterator[AlignedPair]", form: Form, file: Path) -> Iterator[str]:
    """The links of each pair as a line; at the end, pairs too long for the model are reported."""
    long: list[int] = []
    if form == "csv":
        yield as_csv(("line", "alignment"))
    while chunk := list(islice(pairs, AHEAD * work.batch)):
        encoded = translation_pairs.encode_pairs(
            work.translator, [pair.source for pair in chunk], [pair.target for pair in chunk]
        )
        if work.table is not None:
            gold = [pair.gold for pair in chunk if pair.gold is not None]
            work.table.add(encoded, gold, work.batch)
        long += [chunk[row].line for row in sorted(encoded.long)]
        aligned = translation_pairs.align_pairs(work.translator, work.aligner, encoded, work.batch)
        for pair, links in zip(chunk, aligned, strict=True):
            if form == "json":
                yield json.dumps({"line": pair.line, "alignment": links}) + "\n"
            elif form == "csv":
                yield as_csv((pair.line, words.pharaoh(links)))
            else:
                yield words.pharaoh(links) + "\n"
    if long:
        lines = ", ".join(map(str, long[:10])) + (", ..." if len(long) > 10 else "")
        typer.echo(f"{file}: too long for the model, so without links: line {lines}", err=True)


def _say(
    scores: "Mapping[AlignmentSetting, AlignmentScores]",
    asked: "AlignmentSetting | None",
    model: str,
    as_json: bool,
) -> None:
    """Prints the error rates by layer and head, or everything as one JSON object."""
    best = min(scores, key=lambda reading: scores[reading].error_rate)
    if as_json:
        rows = [_facts(reading, scores[reading]) for reading in scores]
        chosen = None if asked is None else _facts(asked, scores[asked])
        facts = {"model": model, "best": _facts(best, scores[best]), "used": chosen}
        typer.echo(json.dumps(facts | {"readings": rows}, indent=2))
        return
    ways = [(norms, at_input) for norms in (False, True) for at_input in (False, True)]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("layer.head", no_wrap=True)
    for norms, at_input in ways:
        name = f"{'norm' if norms else 'weight'}, {'read' if at_input else 'write'}"
        table.add_column(name, justify="right", no_wrap=True)
    for layer, head in dict.fromkeys((reading.layer, reading.head) for reading in scores):
        name = f"{layer + 1}.{'all' if head is None else head + 1}"
        cells = [replace(best, layer=layer, head=head, norms=n, at_input=i) for n, i in ways]
        table.add_row(name, *(_cell(scores[each], each == best) for each in cells))
    screen = console()
    screen.print(table)
    screen.print("Alignment error rate, percent; * is the best.")
    for name, reading in (("best", best), ("used", asked)):
        if reading is not None:
            found = scores[reading]
            screen.print(
                f"{name}: {_named(reading)}: error rate {100 * found.error_rate:.2f}, precision "
                f"{100 * found.precision:.2f}, recall {100 * found.recall:.2f}, "
                f"{found.links:,} links",
                soft_wrap=True,
            )


def _cell(scores: "AlignmentScores", best: bool) -> str:
    return f"{'* ' if best else ''}{100 * scores.error_rate:.1f}"


def _named(reading: "AlignmentSetting") -> str:
    head = "all heads" if reading.head is None else f"head {reading.head + 1}"
    step = "reads" if reading.at_input else "writes"
    return (
        f"layer {reading.layer + 1}, {head}, at the step that {step} the word, by "
        f"{'norms' if reading.norms else 'weights'}"
    )


def _facts(reading: "AlignmentSetting", scores: "AlignmentScores") -> dict[str, object]:
    """A setting and its scores for JSON; layers and heads are counted from 1."""
    return {
        "layer": reading.layer + 1,
        "head": None if reading.head is None else reading.head + 1,
        "reading": "read" if reading.at_input else "write",
        "norms": reading.norms,
        **asdict(scores),
    }
