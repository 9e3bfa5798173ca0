"""`jumok translate`: lines in, lines out; or a document in, a document out."""

import gc
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli import options as option
from jumok.cli.answers import Answers
from jumok.cli.documents import document_asked, translate_to
from jumok.cli.output.arriving import Lines, arriving
from jumok.cli.output.cells import COLUMNS, as_csv, form_of
from jumok.cli.output.resuming import Steps, command_of, open_steps
from jumok.cli.output.streams import check_output
from jumok.cli.screen import counted
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.alignment import words
    from jumok.systems.translation import translator as translation_translator

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.translator import Translator


def translate(
    context: typer.Context,
    model: option.Model,
    file: option.Text = None,
    format: option.Format = "auto",
    beam: option.Beam = 5,
    nbest: option.Nbest = 1,
    length_penalty: option.LengthPenalty = 1.0,
    coverage_penalty: option.CoveragePenalty = 0.0,
    minimum_length: option.MinimumLength = 0,
    maximum_length: option.MaximumLength = 256,
    no_repeat_ngram: option.NoRepeatNgram = 0,
    prefix: option.Prefix = "",
    split: option.Split = "auto",
    keep: option.Keep = None,
    no_keep: option.NoKeep = False,
    glossary: option.GlossaryFile = None,
    sample: option.Sample = False,
    temperature: option.Temperature = 1.0,
    top_k: option.TopK = None,
    top_p: option.TopP = None,
    min_p: option.MinP = None,
    seed: option.Seed = 0,
    alignments: option.Alignments = False,
    scores: option.Scores = False,
    confidence: option.Confidence = False,
    flag_below: option.FlagBelow = None,
    as_json: option.Json = False,
    output: option.Output = None,
    resume: option.Resume = False,
    stream: option.Stream = False,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    engine: option.Engine = "auto",
    precision: option.EnginePrecision = "auto",
    threads: option.Threads = 0,
) -> None:
    """Translate lines of text (N lines in, N lines out), or a document.

    Documents (HTML, Markdown, DOCX, SRT, WebVTT, PO, XLIFF, TMX) keep their
    structure.

    Further columns are tab-separated. With --nbest above 1 every translation
    has a line of its own that starts with the number of the source line.
    With --json every source line gives one object.

      echo "I am a student." | jumok translate runs/demo/model --alignments

      jumok translate runs/a/model,runs/b/model page.html --output page.ko.html

      jumok translate runs/a/model book.en --glossary terms.tsv --flag-below 0.3
    """
    with without_collector():
        options = decoding_options(
            beam, nbest, length_penalty, minimum_length, maximum_length, sample, temperature, top_k,
            top_p, seed, min_p, coverage_penalty=coverage_penalty,
            no_repeat_ngram=no_repeat_ngram,
        )  # fmt: skip
        check_output(output, file, glossary)
        translator = option.load_fast_translator(model, device, engine, precision, threads)
    if alignments:
        translator.check_alignments()
    kept = patterns_kept(keep, no_keep)
    answers = Answers(translator, options, alignments, prefix, batch, split, kept, glossary)
    columns = (nbest > 1, scores, alignments, confidence, flag_below is not None, as_json)
    if kind := document_asked(file, format, any((*columns, stream, resume))):
        translate_to(answers.document(), file, output, kind)
        return say_left(translator)
    form = form_of(output, as_json, COLUMNS if file is None else (*COLUMNS, file.suffix))
    write, header = to_columns(nbest > 1, scores, alignments, confidence), ""
    if form == "json":
        write = to_json
    elif form == "csv":
        write, header = to_csv(scores, alignments, confidence)
    incoming = arriving(file, alone=stream, whole=sample, plain=format == "auto")
    with open_steps(output, this_command(context, output, glossary), resume) as steps:
        if not steps.done.lines:
            steps.write(header)
        write_all(answers, incoming, steps, write, Flag(flag_below))
    say_left(translator)


@contextmanager
def without_collector() -> Iterator[None]:
    """Within it Python does not look for garbage: importing and loading leave next to none, and
    looking for it takes a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def say_left(translator: "Translator") -> None:
    """Reports how many lines the native engine left to torch."""
    if translator.left:
        typer.echo(f"lines that the engine left to torch: {translator.left:,}", err=True)


def write_all(
    answers: "Answers",
    incoming: Lines[str],
    steps: Steps,
    write: Callable[[int, "Translation"], str],
    flag: "Flag",
) -> None:
    """Writes the translation of every line that is not finished yet."""
    steps.skip(incoming.lines)
    first = steps.done.lines + 1
    for number, translation in enumerate(counted(answers.of(incoming, steps)), start=first):
        steps.write(write(number, translation))
        flag.see(number, translation)


def this_command(
    context: typer.Context, output: Path | None, glossary: Path | None
) -> dict[str, str]:
    """What the output of this command depends on besides its input; empty without --output."""
    if output is None:
        return {}
    apart = {"model", "file", "output", "resume", "threads"}
    options = {name: value for name, value in context.params.items() if name not in apart}
    if glossary is not None:
        options["glossary"] = sha256(glossary.read_bytes()).hexdigest()
    return command_of(options, option.model_folders(context.params["model"]), version("jumok"))


def decoding_options(
    beam: int,
    nbest: int,
    length_penalty: float,
    minimum_length: int,
    maximum_length: int,
    sample: bool,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
    min_p: float | None,
    coverage_penalty: float = 0.0,
    no_repeat_ngram: int = 0,
) -> "DecodingOptions":
    """The decoding options of the command line.

    Raises:
        ConfigError: an option is out of range, or options contradict each other.
    """
    if not sample and (temperature != 1.0 or top_k or top_p or min_p or seed):
        raise ConfigError(
            "--temperature, --top-k, --top-p, --min-p and --seed need --sample.",
            do="add --sample, or leave them out",
        )
    if not sample and nbest > beam >= 1:
        raise ConfigError(
            "--nbest cannot exceed the beam size.",
            expected=f"--nbest {beam} or less",
            got=f"--nbest {nbest}",
            do=f"add --beam {nbest}",
        )
    return replace(
        translation_translator.DEFAULTS,
        beam=beam,
        nbest=nbest,
        length_penalty=length_penalty,
        minimum_length=minimum_length,
        maximum_length=maximum_length,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        seed=seed,
        coverage_penalty=coverage_penalty,
        no_repeat_ngram=no_repeat_ngram,
    )


def patterns_kept(patterns: list[str] | None, nothing: bool) -> bool | list[str]:
    """The argument `keep` of `Translator.translate`.

    Raises:
        ConfigError: both --keep and --no-keep were given.
    """
    if nothing and patterns:
        raise ConfigError("--keep and --no-keep contradict each other.", do="leave one of them out")
    return patterns or not nothing


@dataclass
class Flag:
    """Reports lines with a confidence below `below` on stderr; None: no line."""

    below: float | None

    def see(self, number: int, translation: "Translation") -> None:
        """Reports this line if its confidence is too low; a line without a word has none."""
        sure = translation.confidence
        if self.below is not None and sure is not None and sure < self.below:
            typer.echo(f"line {number}: confidence {sure:.3f}", err=True)


def to_json(number: int, translation: "Translation") -> str:
    """One JSON object a source line; lines are counted from 1."""
    return json.dumps({"line": number} | translation.facts(), ensure_ascii=False) + "\n"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def to_columns(
    numbered: bool, scores: bool, alignments: bool, confidence: bool = False
) -> Callable[[int, "Translation"], str]:
    """A writer of tab-separated columns: number, text, score, confidence, alignment, if given."""

    def write(number: int, translation: "Translation") -> str:
        lines = []
        for one in (translation, *translation.alternatives):
            columns = [str(number)] if numbered else []
            columns.append(one.text)
            columns += [f"{one.score:.4f}"] if scores else []
            columns += [_share(one.confidence)] if confidence else []
            columns += [words.pharaoh(one.alignment or ())] if alignments else []
            lines.append("\t".join(columns) + "\n")
        return "".join(lines)

    return write


def to_csv(
    scores: bool, alignments: bool, confidence: bool
) -> tuple[Callable[[int, "Translation"], str], str]:
    """A writer of rows of CSV, one for each translation of a line, and their header."""
    asked = {"score": scores, "confidence": confidence, "alignment": alignments}
    header = ("line", "translation", *(name for name, wanted in asked.items() if wanted))

    def write(number: int, translation: "Translation") -> str:
        rows = (
            {
                "line": number,
                "translation": one.text,
                "score": one.score,
                "confidence": one.confidence,
                "alignment": words.pharaoh(one.alignment or ()),
            }
            for one in (translation, *translation.alternatives)
        )
        return as_csv(*([row[name] for name in header] for row in rows))

    return write, as_csv(header)
