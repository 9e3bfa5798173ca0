"""The token ids of texts on disk, with or without the numbers of their labels."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.cache import cached_folder, digest, opened
from jumok.data.flat import Flat, FlatWriter, map_flat
from jumok.data.report import CorpusReport
from jumok.data.texts.corpus import Example, TextCorpus
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Place

VERSION = 2
CHUNK = 20_000  # texts encoded at once
KIND = np.dtype(np.uint32)


@dataclass(frozen=True)
class ExampleStore:
    """A prepared corpus.

    Attributes:
        key: names the content.
        texts: the ids of every text, without START and END.
        labels: the number of each text's label; None without labels.
        report: the lines read, corrected and left out.
    """

    key: str
    texts: Flat
    labels: npt.NDArray[np.unsignedinteger] | None
    report: CorpusReport

    def __len__(self) -> int:
        return len(self.texts.lengths)


def label_names(texts: Iterable[Example]) -> tuple[str, ...]:
    """The different labels in order: numbers by value, words alphabetically.

    Raises:
        DataError: fewer than two.
    """
    found = {text.label for text in texts if text.label}
    if len(found) < 2:
        raise DataError(
            "a classifier needs at least two different labels.",
            expected="at least two different labels",
            got=", ".join(map(repr, found)) or "no label",
            do="give the column of the labels: label_column in the recipe",
        )
    return in_order(found)


def in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Numbers by value, words alphabetically."""
    found = set(labels)
    numbers = all(label.isdecimal() for label in found)
    return tuple(sorted(found, key=lambda label: (int(label) if numbers else 0, label)))


def label_number(text: Example, labels: Sequence[str]) -> int:
    """The index of the text's label in `labels`.

    Raises:
        DataError: it is not one of them.
    """
    if text.label not in labels:
        raise DataError(
            "the model does not know this label." if text.label else "the row has no label.",
            expected=f"one of {', '.join(labels)}",
            got=repr(text.label),
            do="correct the row, or train on data with this label",
            place=Place(text.file, text.line),
        )
    return labels.index(text.label)


def prepare_examples(
    texts: Iterable[Example],
    corpora: Sequence[TextCorpus],
    tokenizer: Tokenizer,
    cache: Path,
    max_tokens: int,
    *,
    labels: Sequence[str] = (),
    identity: object = "",
    report: CorpusReport,
) -> ExampleStore:
    """The texts as token ids, from the cache if the same content was prepared before.

    A text without tokens is left out. A text of more than `max_tokens` tokens is split into several
    if there are no labels, and otherwise truncated.

    Args:
        corpora: the sources of the texts.
        labels: all permitted labels; () without labels.
        identity: JSON that must change whenever the selection of texts changes, besides the
            corpora.

    Raises:
        DataError: what reading raises; a label that is not in `labels`; no text is left; the cache
            cannot be written.
    """
    where = [
        [digest(corpus.file), corpus.file.suffixes, str(replace(corpus, file=Path()))]
        for corpus in corpora
    ]
    described = ["texts", VERSION, where, identity, tokenizer.hash, max_tokens, list(labels)]

    def write(folder: Path) -> dict[str, object]:
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
            raise DataError("no text is left after the filters.", got=str(report))
        return {"report": report.to_json()}

    folder = cached_folder(cache, described, write)
    with opened(folder, "corpus is", "corpus") as about:
        stored = map_flat(folder, "texts", KIND, tokenizer.size)
        numbers = map_flat(folder, "labels", KIND, len(labels)).values if labels else None
        if numbers is not None and len(numbers) != len(stored.ends):
            raise ValueError("labels.values: not a label for each text")
        return ExampleStore(folder.name, stored, numbers, CorpusReport.from_json(about["report"]))


def _rows(
    chunk: Sequence[Example],
    tokenizer: Tokenizer,
    max_tokens: int,
    labelled: bool,
    report: CorpusReport,
) -> Iterator[tuple[Example, list[int]]]:
    """Each text that is kept, with its ids; a long one without labels is split."""
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
