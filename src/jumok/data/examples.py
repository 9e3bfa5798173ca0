"""The token ids of texts on disk, with the numbers of their labels or without."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from jumok.data.cache import Flat, FlatWriter, cached_folder, digest, map_flat, opened
from jumok.data.report import CorpusReport
from jumok.data.texts import Example, TextCorpus
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
        texts: the ids of every text, neither START nor END among them.
        labels: the number of each text's label; None where there are none.
        report: what was read, mended and left out.
    """

    key: str
    texts: Flat
    labels: npt.NDArray[np.unsignedinteger[Any]] | None
    report: CorpusReport

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
