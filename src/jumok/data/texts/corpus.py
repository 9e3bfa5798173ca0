"""Texts in files and in columns of tables, one by one or as documents.

A document of a language model is a whole file, a line, or the lines between two blank ones. A row
of a table counts as a line.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

from jumok.data.files.formats import kind_of_name
from jumok.data.files.reading import nonempty, read_lines
from jumok.data.files.tables import Column
from jumok.data.report import UTF8, CorpusReport
from jumok.errors import ConfigError, DataError, Location
from jumok.parts import builder_of, names

Rule = Literal["file", "line", "blank-line"]


class Example(NamedTuple):
    """One text, its label ("" without labels), its file and its line (from 1)."""

    text: str
    label: str
    file: Path
    line: int


@dataclass(frozen=True)
class TextCorpus:
    """The lines of a file, or a column of a table.

    Attributes:
        column, label_column: its name (CSV and TSV with a header line, JSONL, Parquet) or its
            number from 0 (CSV and TSV without a header, Parquet).
        format: text, or as for pairs (`jumok.data.pairs.corpus.Corpus`); None takes it from the
            file's suffix (text if the suffix is unknown), and refuses markup.
        take: the number of texts to read from the start; None: all.
        encoding, delimiter: as in `CorpusReport`.
    """

    file: Path
    column: Column = 0
    label_column: Column | None = None
    format: str | None = None
    take: int | None = None
    encoding: str = UTF8
    delimiter: str = ""


def read_examples(corpus: TextCorpus, report: CorpusReport | None = None) -> Iterator[Example]:
    """The corpus's texts in order, one at a time; NFC, and no line break inside a text.

    Raises:
        ConfigError: labels are requested for lines, which have none.
        DataError: a file cannot be read in its format.
        MissingExtraError: the format's library is not installed.
    """
    error = DataError("there is no text in it.", place=Location(corpus.file))
    report = report or CorpusReport(corpus.file.name)
    report.encoding, report.delimiter = corpus.encoding, corpus.delimiter
    return nonempty(islice(_read_texts(corpus, report), corpus.take), error)


def _read_texts(corpus: TextCorpus, report: CorpusReport | None) -> Iterator[Example]:
    format = corpus.format or kind_of_name(corpus.file)
    if format in names("format"):
        labels = () if corpus.label_column is None else (corpus.label_column,)
        rows = builder_of("format", format)(corpus.file, (corpus.column, *labels), report)
        for (text, *label), line in rows:
            yield Example(text, "".join(label).strip(), corpus.file, line)
    elif corpus.label_column is not None:
        raise ConfigError(
            "lines of text have no labels.",
            expected=f"a table: {', '.join(names('format'))}",
            do="set format if the file is a table with another suffix",
            place=Location(corpus.file),
        )
    else:
        plain = corpus.format is None
        for line, text in enumerate(read_lines(corpus.file, report, plain=plain), start=1):
            yield Example(text, "", corpus.file, line)


def documents(corpus: TextCorpus, rule: Rule, report: CorpusReport | None = None) -> Iterator[str]:
    """The documents of a corpus in order, without those of white space alone.

    Args:
        rule: "file": the whole text, with a line break after its last line; "line": every line;
            "blank-line": the lines between blank ones.

    Raises:
        DataError: the file cannot be read, or there is not a text in it.
    """
    lines = (example.text for example in read_examples(corpus, report))
    error = DataError("there is no text in it.", place=Location(corpus.file))
    yield from nonempty((text for text in _split_documents(lines, rule) if text.strip()), error)


def _split_documents(lines: Iterator[str], rule: Rule) -> Iterator[str]:
    if rule == "line":
        return lines
    if rule == "file":
        return iter(["".join(f"{line}\n" for line in lines)])
    groups = groupby(lines, key=lambda line: bool(line.strip()))
    return ("\n".join(group) for filled, group in groups if filled)


@dataclass(frozen=True)
class HeldOutTail:
    """The end of the text, which is held out: the last documents, or the end of each file.

    Attributes:
        share: 0 to 1.
        count: the number of documents.
        files: whether a document is a whole file. If there are few of them, the end of each is held
            out, since the last one could be most of the text. So is the end of a single document.
    """

    share: float
    count: int
    files: bool = False

    @classmethod
    def of(cls, corpora: Sequence[TextCorpus], rule: Rule, share: float) -> "HeldOutTail":
        """Reads everything once, to count the documents."""
        return cls(share, sum(1 for _ in all_documents(corpora, rule)), rule == "file")

    def training(self, texts: Iterable[str]) -> Iterator[str]:
        if self.ends:
            return (text[: self._cut(text)] for text in texts)
        return islice(texts, self._kept)

    def kept_out(self, texts: Iterable[str]) -> Iterator[str]:
        if self.ends:
            return (text[self._cut(text) :] for text in texts)
        return islice(texts, self._kept, None)

    @property
    def ends(self) -> bool:
        """Whether the end of every document is held out instead of the last documents."""
        return self.count == 1 or (self.files and self.share * self.count < 1)

    def _cut(self, text: str) -> int:
        return min(max(1, int(len(text) * (1.0 - self.share))), len(text) - 1)

    @property
    def _kept(self) -> int:
        return min(int(self.count * (1.0 - self.share)), self.count - 1)


def all_documents(corpora: Iterable[TextCorpus], rule: Rule) -> Iterator[str]:
    """The documents of all corpora, one after another."""
    return chain.from_iterable(documents(corpus, rule) for corpus in corpora)
