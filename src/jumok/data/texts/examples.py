"""The token ids of texts on disk, with or without the numbers of their labels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.report import CorpusReport
from jumok.data.store import Ragged, StoreWriter, cached_store, digest, id_type
from jumok.data.texts.corpus import Example, TextCorpus
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location

TEXTS_AT_ONCE = 20_000  # texts encoded at once


@dataclass(frozen=True)
class ExampleStore:
    """A prepared corpus.

    Attributes:
        texts: the ids of every text, without START and END.
        labels: the number of each text's label; None without labels.
    """

    key: str
    texts: Ragged
    labels: npt.NDArray[np.int64] | None
    report: CorpusReport

    def __len__(self) -> int:
        return len(self.texts)


def label_names(texts: Iterable[Example]) -> tuple[str, ...]:
    """The different labels in order: numbers by value, words alphabetically.

    Raises:
        DataError: fewer than two.
    """
    labels = {text.label for text in texts if text.label}
    if len(labels) < 2:
        raise DataError(
            "a classifier needs at least two different labels.",
            expected="at least two different labels",
            got=", ".join(map(repr, labels)) or "no label",
            do="give the column of the labels: label_column in the recipe",
        )
    return sorted_labels(labels)


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Numbers by value, words alphabetically."""
    names = set(labels)
    numbers = all(label.isdecimal() for label in names)
    return tuple(sorted(names, key=lambda label: (int(label) if numbers else 0, label)))


def label_number(text: Example, labels: Sequence[str]) -> int:
    """The index of the text's label in `labels`; raises DataError if it is not one of them."""
    if text.label not in labels:
        raise DataError(
            "the model does not know this label." if text.label else "the row has no label.",
            expected=f"one of {', '.join(labels)}",
            got=repr(text.label),
            do="correct the row, or train on data with this label",
            place=Location(text.file, text.line),
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

    A text without tokens is left out. One of more than `max_tokens` tokens is split into several if
    there are no labels, and otherwise truncated.

    Args:
        corpora: the sources of the texts.
        labels: all permitted labels; () without labels.
        identity: JSON that changes with the selection of texts.

    Raises:
        DataError: what reading raises; a label that is not in `labels`; no text is left; the cache
            cannot be written.
    """
    where = [
        [digest(corpus.file), corpus.file.suffixes, str(replace(corpus, file=Path()))]
        for corpus in corpora
    ]
    described = ["texts", where, identity, tokenizer.hash, max_tokens, list(labels)]

    def fill(writer: StoreWriter) -> dict[str, object]:
        rest = iter(texts)
        while chunk := list(islice(rest, TEXTS_AT_ONCE)):
            rows = list(_tokenized(chunk, tokenizer, max_tokens, bool(labels), report))
            lengths = np.array([len(row) for _, row in rows], dtype=np.int64)
            flat = [id for _, row in rows for id in row]
            writer.add_sequences("texts", np.array(flat, id_type(tokenizer.size)), lengths)
            if labels:
                numbers = [label_number(text, labels) for text, _ in rows]
                writer.add("labels", np.array(numbers, dtype=np.int64))
        if report.kept == 0:
            raise DataError("no text is left after the filters.", got=str(report))
        return {"report": report.to_json()}

    with cached_store(cache, described, fill) as store:
        stored = store.sequences("texts", tokenizer.size)
        numbers = store.numbers("labels", len(stored), len(labels)) if labels else None
        return ExampleStore(
            store.key, stored, numbers, CorpusReport.from_json(store.about["report"])
        )


def _tokenized(
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
