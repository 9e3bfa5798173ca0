"""`jumok align`: word alignments, and their error rate against gold links."""

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from jumok.cli.columns import columns_beside, linked_pairs_of, of_languages
from jumok.cli.options import GoldFiles, Machine, ModelOrEnsemble, Output, model_folders
from jumok.cli.output.cells import COLUMNS, JSON, OutputForm, as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import console, counted, plain_table
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.alignment.extract import Aligner
    from jumok.alignment.setting import AlignmentSetting
    from jumok.evaluation.alignment import AlignmentScores
    from jumok.evaluation.alignment_settings import AlignedPair, SettingTable
    from jumok.systems.translation.translator import Translator

PAIRS_AHEAD = 32
"""Batches that are read before the first is aligned, to put lines of similar length into one."""

WHERE = "Alignment setting"

LINKS = tuple(suffix for suffix in COLUMNS if suffix not in JSON)
"""What --output writes with gold links: --json is then for the error rates on the screen."""


@dataclass(frozen=True)
class SettingChanges:
    """The options that change alignment settings; None: the setting's own."""

    layer: int | None = option(
        None,
        "Decoder layer, counted from 1 (default: the bundle's setting).",
        minimum=1,
        panel=WHERE,
    )
    head: int | None = option(
        None,
        "Head, counted from 1 (default: the bundle's setting, or the mean over heads).",
        minimum=1,
        panel=WHERE,
    )
    reading: Literal["write", "read"] | None = option(
        None,
        "Use the attention of the step that writes a word, or of the next step, which reads it "
        "(default: the bundle's setting).",
        panel=WHERE,
    )
    norms: bool = option(
        False,
        "Rank by the norm of the attended value instead of the attention weight.",
        panel=WHERE,
    )

    def of(self, setting: "AlignmentSetting") -> "AlignmentSetting":
        """The setting with these changes."""
        return replace(
            setting,
            layer=setting.layer if self.layer is None else self.layer - 1,
            head=setting.head if self.head is None else self.head - 1,
            at_input=setting.at_input if self.reading is None else self.reading == "read",
            norms=self.norms or setting.norms,
        )


def align(
    model: ModelOrEnsemble,
    *,
    files: Annotated[GoldFiles, GoldFiles()],
    changes: Annotated[SettingChanges, SettingChanges()],
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine(batch=64)],
) -> None:
    """Align the words of texts and translations by a model's attention.

    For each pair, prints the links as SOURCE-TARGET word indices: 0-0 1-2
    (Pharaoh format). Words are separated by spaces.

    With gold alignments, prints the alignment error rate of every layer and
    head instead; --output then receives the links.

      jumok align MODEL --source a.en --target a.fr > a.align

      jumok align MODEL --data gold.tsv --columns 0,1,2
    """
    output, as_json, gold = written.output, written.as_json, files.gold
    check_output(output, files.source, files.target, files.data, gold)
    columns = columns_beside(files) or "0,1"
    corpus, links = linked_pairs_of(files.source, files.target, files.data, columns, gold)
    corpus = replace(corpus, encoding=files.encoding, delimiter=files.delimiter)
    judged = gold is not None or links is not None
    form = form_of(output, as_json and not judged, LINKS if judged else COLUMNS)
    if judged and len(model_folders(model)) > 1:
        raise ConfigError(
            "--gold needs a single model, not an ensemble.", got=model, do="give one model"
        )
    translator: Translator = of_languages(machine.load(model, "translate"), files)
    aligner = _aligner(translator, changes, model)
    from jumok.evaluation.alignment_settings import SettingTable, read_aligned

    table = SettingTable(translator) if judged else None
    pairs = read_aligned(corpus, gold, links)
    lines = _link_lines(
        _Work(translator, aligner, table, machine.batch), pairs, form, corpus.files[0]
    )
    if table is None or output is not None:
        with open_output(output) as stream:
            stream.writelines(counted(lines))
    else:
        deque(counted(lines), maxlen=0)
    if table is not None:
        _print_rates(table.scores(), aligner.readings[0], model, as_json)


def _aligner(translator: "Translator", changes: SettingChanges, model: str) -> "Aligner":
    aligner = translator.aligner
    if not aligner.aligns:
        raise ConfigError("this model has no cross-attention, so it cannot align words.", got=model)
    readings = [reading and changes.of(reading) for reading in aligner.readings]
    from jumok.alignment.extract import Aligner

    return Aligner(aligner.models, readings, aligner.tokenizer)


class _Work(NamedTuple):
    translator: "Translator"
    aligner: "Aligner"
    table: "SettingTable | None"
    batch: int


def _link_lines(
    work: _Work, pairs: "Iterator[AlignedPair]", form: OutputForm, file: Path
) -> Iterator[str]:
    """The links of each pair as a line; too long pairs are reported at the end."""
    long: list[int] = []
    if form == "csv":
        yield as_csv(("line", "alignment"))
    from jumok.alignment.words import pharaoh
    from jumok.systems.translation.pairs import align_pairs, encode_pairs

    while chunk := list(islice(pairs, PAIRS_AHEAD * work.batch)):
        encoded = encode_pairs(
            work.translator, [pair.source for pair in chunk], [pair.target for pair in chunk]
        )
        if work.table is not None:
            gold = [pair.gold for pair in chunk if pair.gold is not None]
            work.table.add(encoded, gold, work.batch)
        long += [chunk[row].line for row in sorted(encoded.long)]
        aligned = align_pairs(work.translator, work.aligner, encoded, work.batch)
        for pair, links in zip(chunk, aligned, strict=True):
            if form == "json":
                yield json.dumps({"line": pair.line, "alignment": links}) + "\n"
            elif form == "csv":
                yield as_csv((pair.line, pharaoh(links)))
            else:
                yield pharaoh(links) + "\n"
    if long:
        lines = ", ".join(map(str, long[:10])) + (", ..." if len(long) > 10 else "")
        typer.echo(f"{file}: too long for the model, so without links: line {lines}", err=True)


def _print_rates(
    scores: "Mapping[AlignmentSetting, AlignmentScores]",
    asked: "AlignmentSetting | None",
    model: str,
    as_json: bool,
) -> None:
    best = min(scores, key=lambda reading: scores[reading].error_rate)
    if as_json:
        rows = [_setting_facts(reading, scores[reading]) for reading in scores]
        chosen = None if asked is None else _setting_facts(asked, scores[asked])
        facts = {"model": model, "best": _setting_facts(best, scores[best]), "used": chosen}
        typer.echo(json.dumps(facts | {"readings": rows}, indent=2))
        return
    ways = [(norms, at_input) for norms in (False, True) for at_input in (False, True)]
    names = (
        f"{'norm' if norms else 'weight'}, {'read' if at_input else 'write'}"
        for norms, at_input in ways
    )
    table = plain_table("layer.head", *names, left=("layer.head",))
    for layer, head in dict.fromkeys((reading.layer, reading.head) for reading in scores):
        name = f"{layer + 1}.{'all' if head is None else head + 1}"
        cells = [replace(best, layer=layer, head=head, norms=n, at_input=i) for n, i in ways]
        rates = (f"{'* ' * (each == best)}{100 * scores[each].error_rate:.1f}" for each in cells)
        table.add_row(name, *rates)
    screen = console()
    screen.print(table)
    screen.print("Alignment error rate, percent; * is the best.")
    for name, reading in (("best", best), ("used", asked)):
        if reading is not None:
            score = scores[reading]
            screen.print(
                f"{name}: {_setting_words(reading)}: error rate {100 * score.error_rate:.2f}, "
                f"precision {100 * score.precision:.2f}, recall {100 * score.recall:.2f}, "
                f"{score.links:,} links",
                soft_wrap=True,
            )


def _setting_words(reading: "AlignmentSetting") -> str:
    head = "all heads" if reading.head is None else f"head {reading.head + 1}"
    step = "reads" if reading.at_input else "writes"
    return (
        f"layer {reading.layer + 1}, {head}, at the step that {step} the word, by "
        f"{'norms' if reading.norms else 'weights'}"
    )


def _setting_facts(reading: "AlignmentSetting", scores: "AlignmentScores") -> dict[str, object]:
    """A setting and its scores for JSON; layers and heads are counted from 1."""
    return {
        "layer": reading.layer + 1,
        "head": None if reading.head is None else reading.head + 1,
        "reading": "read" if reading.at_input else "write",
        "norms": reading.norms,
        **asdict(scores),
    }
