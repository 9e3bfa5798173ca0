"""`jumok translate`: lines or a document, translated."""

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import (
    CONTENT,
    ENCODING,
    OUTPUT,
    ChosenLanguages,
    EngineMachine,
    Formats,
    ModelOrEnsemble,
    Output,
    ReadingOptions,
    Without,
    model_folders,
)
from jumok.cli.output.arriving import arriving
from jumok.cli.output.cells import COLUMNS, OutputForm, as_csv, form_of
from jumok.cli.output.resuming import (
    command_of,
    is_interrupted,
    nothing_to_resume,
    open_steps,
)
from jumok.cli.output.streams import check_output, outputs_in
from jumok.cli.screen import counted
from jumok.cli.translation import (
    Answers,
    NoteCounter,
    document_asked,
    say_missing_terms,
    translate_to,
)
from jumok.data.report import UTF8
from jumok.decoding.options import FOR_TRANSLATION, ONLY_FOR_CONTINUATION, DecodingOptions
from jumok.options import option

if TYPE_CHECKING:
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.translator import Translator


@dataclass(frozen=True)
class Content(ReadingOptions):
    """How lines are read, and what their translations must contain."""

    prefix: str = option("", "Start every translation with this text.", panel=CONTENT)
    glossary: Path | None = option(
        None, "File of terms and their required translations, tab-separated.", panel=CONTENT
    )


@dataclass(frozen=True)
class TranslationOutput(Output):
    """What is printed besides the translation, and where."""

    alignments: bool = option(
        False, "Also print the word alignment (Pharaoh format, e.g. 0-0 1-2).", panel=OUTPUT
    )
    scores: bool = option(False, "Also print the score that ranks the hypotheses.", panel=OUTPUT)
    confidence: bool = option(
        False,
        "Also print the model's confidence, from 0 to 1; jumok info shows its meaning.",
        panel=OUTPUT,
    )
    flags: bool = option(
        False,
        "Also print warnings about a line or its translation, such as unknown-script or "
        "repetition.",
        panel=OUTPUT,
    )
    flag_below: float | None = option(
        None,
        "Report lines with a confidence below this on stderr.",
        minimum=0,
        maximum=1,
        panel=OUTPUT,
    )
    resume: bool = option(False, "Continue the --output of an interrupted command.", panel=OUTPUT)
    stream: bool = option(
        False,
        "Translate each line before reading the next. (By default, lines from a pipe are "
        "translated once their writer pauses.)",
        panel=OUTPUT,
    )

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        asked = {
            "score": self.scores,
            "confidence": self.confidence,
            "alignment": self.alignments,
            "notes": self.flags,
        }
        return ("line", "translation", *(name for name, wanted in asked.items() if wanted))

    @property
    def of_lines(self) -> bool:
        """Whether an option was given that only lines support."""
        columns = self.alignments, self.scores, self.confidence, self.flags
        flagged = self.flag_below is not None
        return any((*columns, flagged, self.as_json, self.stream))


def translate(
    context: typer.Context,
    model: ModelOrEnsemble,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Text file with one sentence per line (.gz or .zst also work), or a document. "
            "Several files or a folder need -o FOLDER (default: stdin).",
        ),
    ] = None,
    format: Annotated[
        Formats,
        typer.Option(
            help="Format of the file; auto detects it from the first bytes and the name. lines: "
            "one sentence per line; paragraphs: plain text with wrapped lines."
        ),
    ] = "auto",
    *,
    encoding: Annotated[str, typer.Option(help=f"{ENCODING} The output is UTF-8.")] = UTF8,
    decoding: Annotated[DecodingOptions, FOR_TRANSLATION, Without(*ONLY_FOR_CONTINUATION)],
    languages: Annotated[ChosenLanguages, ChosenLanguages()],
    content: Annotated[Content, Content()],
    columns: Annotated[TranslationOutput, TranslationOutput()],
    machine: Annotated[EngineMachine, EngineMachine()],
) -> None:
    """Translate lines of text (N lines in, N lines out), or a document.

    Documents (HTML, Markdown, DOCX, SRT, WebVTT, ASS, PO, XLIFF, TMX, JSON, YAML,
    .properties, .strings and Jupyter notebooks) keep their structure.

    Additional columns are separated by tabs. With --nbest above 1, each
    translation has its own line, which starts with the number of the source
    line. With --json, each source line gives one object.

      echo "I am a student." | jumok translate runs/first/model --alignments

      jumok translate runs/a/model,runs/b/model page.html --output page.ko.html

      jumok translate runs/a/model book.en notes/ --output translated

      jumok translate runs/a/model book.en --glossary terms.tsv --flag-below 0.3
    """
    given, output = files or [], columns.output
    several = len(given) > 1 or any(map(os.path.isdir, given))
    outputs: list[tuple[Path | None, Path | None]] = [(next(iter(given), None), output)]
    if several:
        outputs = [*outputs_in(output, given).items()]
    with _without_collector():
        for file, to in outputs:
            check_output(to, file, content.glossary)
        translator = languages.chosen(machine.load(model, "translate"))
    if columns.alignments:
        translator.check_alignments()
    answers = Answers(
        translator, decoding, columns.alignments, content.prefix, machine.batch, content.split,
        content.kept, content.glossary,
    )  # fmt: skip
    begun = [to for _, to in outputs if not several or (to is not None and is_interrupted(to))]
    if columns.resume and not begun:
        raise nothing_to_resume(output)
    lines_alone = columns.of_lines or decoding.nbest > 1 or (columns.resume and not several)
    kinds = {file: document_asked(file, format, lines_alone, encoding) for file, _ in outputs}
    for file, to in outputs:
        of = f"{file}: " if several else ""
        if kind := kinds[file]:
            translate_to(answers.document(), file, to, kind, encoding, of)
        else:
            own = replace(columns, output=to, resume=columns.resume and to in begun)
            _translate_lines(context, answers, file, own, of)
    _say_notes(translator)


def _translate_lines(
    context: typer.Context,
    answers: Answers,
    file: Path | None,
    columns: TranslationOutput,
    of: str,
) -> None:
    output, nbest = columns.output, answers.options.nbest > 1
    names = COLUMNS if file is None else (*COLUMNS, file.suffix)
    form = form_of(output, columns.as_json, names)
    incoming = arriving(
        file,
        alone=columns.stream,
        whole=answers.options.sample,
        plain=context.params["format"] == "auto",
        encoding=context.params["encoding"],
    )
    with open_steps(output, _this_command(context, output), columns.resume) as steps:
        if form == "csv" and not steps.done.lines:
            steps.write(as_csv(columns.header))
        steps.skip(incoming.lines)
        first = steps.done.lines + 1
        notes = NoteCounter("line", of)
        translations = notes.counted(counted(answers.of(incoming, steps)), first)
        for number, one in enumerate(translations, start=first):
            steps.write(_translation_lines(number, one, form, columns, numbered=nbest))
            sure = one.confidence  # a line without a word has none
            if columns.flag_below is not None and sure is not None and sure < columns.flag_below:
                typer.echo(f"{of}line {number}: confidence {sure:.3f}", err=True)
            say_missing_terms(f"{of}line {number}", one)
    notes.say()


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pauses garbage collection, which takes a tenth of the start and finds next to nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _say_notes(translator: "Translator") -> None:
    if translator.left:
        typer.echo(f"lines that the engine left to torch: {translator.left:,}", err=True)
    if translator.long_words:
        from jumok.systems.translation.kept.edges import LONGEST_WORD

        longer = f"longer than {LONGEST_WORD:,} characters"
        typer.echo(f"words {longer}, which were copied: {translator.long_words:,}", err=True)


def _this_command(context: typer.Context, output: Path | None) -> dict[str, str]:
    if output is None:
        return {}
    apart = {"model", "files", "output", "resume", "threads"}
    options = {name: value for name, value in context.params.items() if name not in apart}
    return command_of(options, model_folders(context.params["model"]), version("jumok"))


def _translation_lines(
    number: int, translation: "Translation", form: OutputForm, columns: TranslationOutput, *,
    numbered: bool,
) -> str:  # fmt: skip
    """The lines of a source line: its translation and the alternatives, or one JSON object."""
    if form == "json":
        return json.dumps({"line": number} | translation.facts(), ensure_ascii=False) + "\n"
    from jumok.alignment.words import pharaoh

    lines = []
    for one in (translation, *translation.alternatives):
        cells = {
            "line": number,
            "translation": one.text,
            "score": one.score,
            "confidence": one.confidence,
            "alignment": pharaoh(one.alignment or ()),
            "notes": ",".join(one.notes),
        }
        if form == "csv":
            lines.append(as_csv([cells[name] for name in columns.header]))
            continue
        names = columns.header if numbered else columns.header[1:]
        lines.append("\t".join(_plain_cell(cells[name], name) for name in names) + "\n")
    return "".join(lines)


def _plain_cell(value: object, name: str) -> str:
    if name in ("score", "confidence"):
        return "" if value is None else f"{value:.4f}"
    return str(value)
