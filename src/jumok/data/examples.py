"""Texts, with labels or without, and their token ids on disk."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jumok.data.flat import STORE, Flat, FlatWriter, digest, kept, map_flat
from jumok.data.reading import read_lines
from jumok.data.report import Report
from jumok.data.tables import Rows, read_csv, read_jsonl, read_parquet, read_tsv
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError, DataError, Place

VERSION = 1
CHUNK = 20_000  # texts encoded at once
KIND = np.dtype(np.uint32)

Column = str | int


class Example(NamedTuple):
    """One text, its label ("" where there are none), the file and the line (from 1) it is from."""

    text: str
    label: str
    file: Path
    line: int


@dataclass(frozen=True)
class ExampleCorpus:
    """Where texts are: the lines of a file, or a column of a table.

    Attributes:
        column: in a table, the text's column: its name (CSV and TSV with a header line, JSONL,
            Parquet) or its number from 0 (CSV and TSV without a header, Parquet).
        label_column: the label's column; None where there are no labels.
        format: text, csv, tsv, jsonl or parquet; None finds it from the file's suffix, and takes
            the file for text where that says nothing.
        take: only the first so many texts; None takes all.
    """

    file: Path
    column: Column = 0
    label_column: Column | None = None
    format: str | None = None
    take: int | None = None


READERS: dict[str, Callable[[Path, Column, Column, Report | None], Rows]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": partial(read_jsonl, numbers=True),
    "parquet": partial(read_parquet, numbers=True),
}
"""Labels are often whole numbers, which JSON and Parquet tell from text."""


def read_examples(corpus: ExampleCorpus, report: Report | None = None) -> Iterator[Example]:
    """The corpus's texts in order, one at a time; NFC, and no line break inside a text.

    Raises:
        ConfigError: labels are asked of lines, which have none.
        DataError: a file cannot be read as what it was said to be; the text says where.
        MissingExtraError: the format's library is not installed.
    """
    texts = islice(_read(corpus, report), corpus.take)
    first = next(texts, None)
    if first is None:
        raise DataError("There is not one text in it.", place=Place(corpus.file))
    yield first
    yield from texts


def _read(corpus: ExampleCorpus, report: Report | None) -> Iterator[Example]:
    suffix = Path(corpus.file.name.removesuffix(".gz").removesuffix(".zst")).suffix[1:]
    reader = READERS.get(corpus.format or suffix)
    if reader is not None:
        label = corpus.column if corpus.label_column is None else corpus.label_column
        for text, other, line in reader(corpus.file, corpus.column, label, report):
            found = "" if corpus.label_column is None else other.strip()
            yield Example(text, found, corpus.file, line)
    elif corpus.label_column is not None:
        raise ConfigError(
            "Lines of text have no labels.",
            expected=f"a table: {', '.join(READERS)}",
            do="set format if the file is a table without saying so by its suffix",
            place=Place(corpus.file),
        )
    else:
        for line, text in enumerate(read_lines(corpus.file, report), start=1):
            yield Example(text, "", corpus.file, line)


@dataclass(frozen=True)
class ExampleStore:
    """A prepared corpus.

    Attributes:
        key: names the content.
        texts: the ids of every text, neither START nor END among them.
        labels: the number of each text's label; None where there are none.
        report: what was read, mended and left out.
    """

    key: str
    texts: Flat
    labels: npt.NDArray[np.unsignedinteger[Any]] | None
    report: Report

    def __len__(self) -> int:
        return len(self.texts.lengths)


def label_names(texts: Iterable[Example]) -> tuple[str, ...]:
    """The different labels in order: numbers by their size, words by the alphabet.

    Raises:
        DataError: fewer than two.
    """
    found = {text.label for text in texts if text.label}
    if len(found) < 2:
        raise DataError(
            "There is nothing to tell apart.",
            expected="two different labels at the very least",
            got=", ".join(map(repr, found)) or "no label",
            do="name the label's column: label_column in the recipe",
        )
    return in_order(found)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Numbers by their size, words by the alphabet."""
    found = set(labels)
    numbers = all(label.isdecimal() for label in found)
    return tuple(sorted(found, key=lambda label: (int(label) if numbers else 0, label)))


def label_number(text: Example, labels: Sequence[str]) -> int:
    """The place of the text's label among `labels`.

    Raises:
        DataError: it is none of them.
    """
    if text.label not in labels:
        raise DataError(
            "This label is unknown to the model." if text.label else "The row has no label.",
            expected=f"one of {', '.join(labels)}",
            got=repr(text.label),
            do="mend the row, or train on data that has this label",
            place=Place(text.file, text.line),
        )
    return labels.index(text.label)


def prepare_examples(
    texts: Iterable[Example],
    corpora: Sequence[ExampleCorpus],
    tokenizer: Tokenizer,
    cache: Path,
    max_tokens: int,
    *,
    labels: Sequence[str] = (),
    identity: object = "",
    report: Report,
) -> ExampleStore:
    """The texts as token ids, from the cache if the same content was prepared before.

    A text without a piece is left out. One of more than `max_tokens` pieces is cut: into texts of
    their own where there are no labels, and after the first `max_tokens` where there are.

    Args:
        corpora: where the texts come from.
        labels: every label there may be; () where there are none.
        identity: JSON that must change when the choice of texts would, besides the corpora.

    Raises:
        DataError: what reading raises; a label that is none of `labels`; no text is left; the
            cache cannot be written.
    """
    where = [
        [digest(corpus.file), corpus.file.suffixes, str(replace(corpus, file=Path()))]
        for corpus in corpora
    ]
    described = ["texts", VERSION, where, identity, tokenizer.hash, max_tokens, list(labels)]

    def write(folder: Path) -> dict[str, Any]:
        rest = iter(texts)
        with ExitStack() as stack:
            ids, numbers = (
                stack.enter_context(FlatWriter(folder, name, KIND)) for name in ("texts", "labels")
            )
            while chunk := list(islice(rest, CHUNK)):
                rows = list(_rows(chunk, tokenizer, max_tokens, bool(labels), report))
                lengths = np.array([len(row) for _, row in rows], dtype=np.int64)
                flat = [id for _, row in rows for id in row]
                ids.append(np.array(flat, dtype=np.uint32), lengths)
                if labels:
                    found = [label_number(text, labels) for text, _ in rows]
                    numbers.append(np.array(found, dtype=np.uint32), np.ones_like(lengths))
        if report.kept == 0:
            raise DataError("No text is left after the filters.", got=str(report))
        return {"labelled": bool(labels), "report": report.to_json()}

    return open_examples(kept(cache, described, write))


def open_examples(folder: Path) -> ExampleStore:
    """The store in this folder, its ids mapped and not read.

    Raises:
        DataError: a file is missing or does not hold what it should.
    """
    try:
        described = json.loads((folder / STORE).read_text("utf-8"))
        labels = map_flat(folder, "labels", KIND).values if described["labelled"] else None
        texts, report = map_flat(folder, "texts", KIND), Report.from_json(described["report"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            "The prepared corpus is damaged.",
            got=str(error),
            do="delete this folder; it is made again from the corpus",
            place=Place(folder),
        ) from None
    return ExampleStore(folder.name, texts, labels, report)


def _rows(
    chunk: Sequence[Example], tokenizer: Tokenizer, max_tokens: int, labelled: bool, report: Report
) -> Iterator[tuple[Example, list[int]]]:
    """Each text that is kept with its ids; a long one without labels comes in parts."""
    report.read += len(chunk)
    encoded = tokenizer.encode_batch([text.text for text in chunk], threads=2)
    for text, ids in zip(chunk, encoded, strict=True):
        if not ids:
            report.drop("empty", [text.line])
            continue
        report.kept += 1
        if len(ids) > max_tokens:
            report.mend(f"longer than {max_tokens} tokens, cut", text.line)
        for start in range(0, 1 if labelled else len(ids), max_tokens):
            yield text, ids[start : start + max_tokens]
