"""Lines translated as they arrive, and documents, for `jumok translate`."""

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.language import table
from jumok.cli.options import Formats
from jumok.cli.output.arriving import ArrivingLines
from jumok.cli.output.resuming import Steps
from jumok.cli.output.streams import STANDARD, standard_input
from jumok.cli.screen import counted
from jumok.data.files.atomic import atomic_file
from jumok.data.files.formats import COMPRESSED, kind_of_name
from jumok.data.files.reading import first_bytes, open_bytes, whole_file
from jumok.data.report import UTF8
from jumok.environment import language
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.segments import Split
    from jumok.systems.translation.translator import Translator

OWN_CHARSET = {"docx", "html", "ipynb", "po", "tmx", "xliff"}
MOST_NAMED = 10  # unknown words
COUNTERS = {"line": "줄", "text": "개"}
LINES_AHEAD = 16  # batches read before the first is translated, to sort lines by length


@dataclass(frozen=True)
class Answers:
    """How lines are translated."""

    translator: "Translator"
    options: "DecodingOptions"
    alignments: bool
    prefix: str
    batch: int
    split: "Split"
    keep: bool | list[str]
    glossary: Path | None

    def of(self, incoming: ArrivingLines[str], steps: Steps) -> "Iterator[Translation]":
        """The translation of each line; progress is recorded after each chunk."""
        done = steps.done.lines
        for chunk in incoming.chunks(LINES_AHEAD * self.batch):
            yield from self.each(chunk, done)
            done += len(chunk)
            steps.settle(chunk)

    def each(self, lines: Iterable[str], done: int = 0) -> "Iterator[Translation]":
        """The translation of each of these lines; `done` lines came before them."""
        return self.translator.translate_lines(
            lines,
            self.options.seeded(done),
            alignments=self.alignments,
            prefix=self.prefix,
            split=self.split,
            keep=self.keep,
            glossary=self.glossary,
            batch_size=self.batch,
            ahead=LINES_AHEAD,
        )

    def document(self) -> "Answers":
        """The same for a document, whose markup needs alignments."""
        return replace(self, alignments=self.translator.aligns)


class NoteCounter:
    """What was odd about translations: how often, and where first.

    Args:
        what: was translated, in the singular: "line".
        of: the beginning of each note, the name of one of several files.
    """

    def __init__(self, what: str, of: str = "") -> None:
        self._what, self._of = what, of
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}
        self._words: dict[str, None] = {}

    def counted(
        self, translations: "Iterable[Translation]", start: int = 1
    ) -> "Iterator[Translation]":
        """The translations, of which the first has this number."""
        for number, each in enumerate(translations, start):
            self._counts.update(each.notes)
            for code in each.notes:
                self._first.setdefault(code, number)
            self._words |= dict.fromkeys(each.unknown_words)
            yield each

    def lines(self) -> Iterator[str]:
        """A line for each kind of note."""
        if not self._counts:
            return
        from jumok.systems.translation.judging import UNKNOWN_WORDS

        for code, count in self._counts.most_common():
            words = self._words if code == UNKNOWN_WORDS else ()
            yield self._of + note_line(code, words, (count, self._what, self._first[code]))

    def say(self) -> None:
        """Prints them on stderr."""
        for line in self.lines():
            typer.echo(line, err=True)


def note_line(
    code: str, words: Collection[str] = (), found: tuple[int, str, int] | None = None
) -> str:
    """What is said of a note, in the reader's language.

    Args:
        words: those that it names.
        found: how often it was found, in what, and the number of the first.
    """
    from jumok.systems.translation.judging import NOTES

    means = NOTES.get(code, "")
    more, named = len(words) - MOST_NAMED, ", ".join(islice(words, MOST_NAMED))
    if language() == "ko":
        named += f" 외 {more:,}개" * (more > 0)
        return _korean_note(table()["notes"].get(means, code), named, found)
    parts = ["note", code]
    if found:
        count, what, first = found
        parts.append(f"{count:,} {what}{'s' * (count > 1)}, the first is {first:,}")
    parts += filter(None, (means, named + f" (and {more:,} more)" * (more > 0)))
    return ": ".join(parts)


def _korean_note(means: str, named: str, found: tuple[int, str, int] | None) -> str:
    """A note in Korean; `means`: a noun, which the count follows, and perhaps a sentence."""
    noun, _, sentence = means.partition(". ")
    if found:
        count, what, first = found
        place = "처음은 " * (count > 1) + f"{first:,}번째" + " 줄" * (what == "line")
        noun += f" {count:,}{COUNTERS[what]}({place})"
    return f"알림: {noun}: {named}" if named else f"알림: {noun}. {sentence}".rstrip()


def document_asked(
    file: Path | None, format: Formats, columns: bool, encoding: str = UTF8
) -> str | None:
    """The format of the document to be translated; None: the input is lines of text.

    Args:
        columns: whether an option was given that only lines support, such as --scores.
        encoding: the character set of the text.

    Raises:
        ConfigError: such an option was given for a document, or a character set for one that names
            its own.
        DataError: the file cannot be read or translated.
    """
    kind = _format_of(file, format, encoding)
    if kind in OWN_CHARSET and encoding != UTF8:
        raise ConfigError(
            f"a document of this format ({kind}) names its character set itself.",
            do="leave --encoding out",
        )
    if kind and columns:
        raise ConfigError(
            "--nbest, --scores, --confidence, --flags, --flag-below, --alignments, --json, "
            "--stream and --resume need lines of text.",
            got=f"a document ({kind})",
            do="leave them out, or read the file as lines: --format lines",
        )
    return kind


def _format_of(file: Path | None, format: Formats, encoding: str) -> str | None:
    if format == "lines":
        return None
    if format != "auto":
        return format
    # A pipe can be read only once.
    if file is None or not os.path.isfile(file) or file.stat().st_size == 0:
        return None
    with open_bytes(file, encoding) as stream:
        head = first_bytes(stream)
    from jumok.documents.catalog import document_format

    kind = document_format(file, head)
    from jumok.documents.plain import looks_wrapped

    if kind is None and looks_wrapped(head.decode("utf-8", errors="replace")):
        typer.echo(
            f"note: the lines of {file} seem to be wrapped, and each is translated by itself; "
            "--format paragraphs joins them, --format lines leaves this note out",
            err=True,
        )
    return kind


def translate_to(
    answers: Answers,
    file: Path | None,
    output: Path | None,
    format: str,
    encoding: str = UTF8,
    of: str = "",
) -> None:
    """Translates a document, from a file or standard input to a file or standard output.

    It is written in UTF-8 if it was in another character set that its format cannot name.

    Args:
        of: the beginning of each note.

    Raises:
        ConfigError: the output has another format's suffix, or a binary format has no file.
        DataError: the document cannot be read, or the output cannot be written.
    """
    standard = output is None or output == STANDARD
    from jumok.documents.catalog import BINARY_FORMATS

    if standard and format in BINARY_FORMATS:
        raise ConfigError(
            f"a document of this format ({format}) is not written to standard output.",
            do=f"add --output FILE.{format}",
        )
    if output is not None and not standard:
        _check_name(output, format)
    if file is None or file == STANDARD:
        content, name = standard_input(encoding).read(), "standard input"
    else:
        content, name = whole_file(file, encoding), str(file)

    notes = NoteCounter("text", of)

    def lines(texts: Iterable[str]) -> "Iterable[Translation]":
        for number, (text, one) in enumerate(_with_texts(answers, notes, texts), start=1):
            say_missing_terms(f"{of}text {number} ({text[:40]})", one)
            yield one

    written = answers.translator.translate_content(content, format, lines, name)
    notes.say()
    if output is None or output == STANDARD:
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    with atomic_file(output) as part:
        part.write_bytes(written)


def _with_texts(
    answers: Answers, notes: NoteCounter, texts: Iterable[str]
) -> "Iterator[tuple[str, Translation]]":
    given, read = tee(texts)
    return zip(given, notes.counted(counted(answers.each(read))), strict=True)


def say_missing_terms(place: str, translation: "Translation") -> None:
    """Says on stderr which of the glossary's terms are not in a translation, and where."""
    for term in translation.missing_terms:
        typer.echo(
            f"{place}: the glossary's term {term} was not used: no word is surely its translation",
            err=True,
        )


def _check_name(output: Path, format: str) -> None:
    said = kind_of_name(output)
    if output.suffix in COMPRESSED or (said is not None and said != format):
        raise ConfigError(
            "the output has the format of the input document.",
            expected=f"a file name for {format}",
            got=str(output),
            do="change the suffix of --output",
        )
