"""`jumok classify`: a label for each image or text."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from jumok.cli.folders import pictures_in
from jumok.cli.options import MOST, Machine, Model, Output, open_models
from jumok.cli.output.arriving import arriving
from jumok.cli.output.cells import as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import counted
from jumok.errors import DataError, JumokError

if TYPE_CHECKING:
    from jumok.data.pictures.corpus import Fitted
    from jumok.systems.base import System
    from jumok.systems.image_classifier import ImageClassification
    from jumok.systems.text_classifier import TextClassification


@dataclass(frozen=True)
class Prediction:
    """The predicted labels of one item.

    Attributes:
        item: the text, or the image's file, as it was given.
        probabilities: of every label, the most probable first; empty if the item is unreadable.
        error: why it is.
    """

    item: str
    probabilities: Mapping[str, float] = field(default_factory=dict)
    error: JumokError | None = None


Classify: TypeAlias = "Callable[[System, Iterable[Sequence[str]], int], Iterator[Prediction]]"

Items = Annotated[
    list[str] | None,
    typer.Argument(help="Image files and folders, or texts (default: stdin, one item per line)."),
]
Top = Annotated[
    int,
    typer.Option(min=1, max=MOST, help="Labels to print for each item, best first.", metavar="N"),
]


def classify(
    model: Model,
    items: Items = None,
    top: Top = 1,
    *,
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Classify images or texts.

    Prints one line for each: the item, its label and the label's
    probability. An item that cannot be read gets an empty label, and the
    error is reported on stderr.

      jumok classify runs/cifar10/model photos

      ls photos/*.png | jumok classify runs/cifar10/model --json --top 3
    """
    form, output = form_of(written.output, written.as_json), written.output
    check_output(output, *map(Path, items or ()))
    opened = open_models(model)
    system = machine.load(opened, "classify")
    lists = [items] if items else arriving(None).chunks(machine.batch)
    function: Classify = opened.kind.entry("classify")
    answers = function(system, lists, machine.batch)
    unread = total = 0
    write = WRITERS[form]
    with open_output(output) as stream:
        if form == "csv":
            stream.write(csv_header(min(top, len(system.labels))))
        for answer in counted(answers):
            total += 1
            if answer.error is not None:
                unread += 1
                sys.stderr.write(f"error: {answer.error}\n")
            stream.write(write(answer, min(top, len(system.labels))))
            if not items:  # the writer of the line may wait for its answer
                stream.flush()
    if unread:
        raise DataError(
            f"{unread:,} of {total:,} items could not be read; the others were classified.",
            do="see the errors above",
        )


def to_columns(answer: Prediction, top: int) -> str:
    """The item and the `top` most probable labels with their probabilities, tab-separated."""
    ranked = [f"{label}\t{value:.4f}" for label, value in answer.probabilities.items()][:top]
    return "\t".join([answer.item, *(ranked or ["\t"])]) + "\n"


def csv_header(top: int) -> str:
    """item, label, probability, label 2, probability 2, ..."""
    numbers = [""] + [f" {place}" for place in range(2, top + 1)]
    names = [name for number in numbers for name in (f"label{number}", f"probability{number}")]
    return as_csv(["item", *names])


def to_csv(answer: Prediction, top: int) -> str:
    """The item and its `top` most probable labels with probabilities; empty if unread."""
    ranked: list[object] = [
        cell for pair in list(answer.probabilities.items())[:top] for cell in pair
    ]
    return as_csv([answer.item, *(ranked or [None] * (2 * top))])


def to_json(answer: Prediction, top: int) -> str:
    """The prediction as one JSON object, on one line."""
    ranked = dict(list(answer.probabilities.items())[:top])
    facts: dict[str, object] = {"item": answer.item, "label": next(iter(ranked), None)}
    facts["probabilities"] = ranked
    if answer.error is not None:
        facts["error"] = str(answer.error)
    return json.dumps(facts, ensure_ascii=False) + "\n"


WRITERS: dict[str, Callable[[Prediction, int], str]] = {
    "csv": to_csv,
    "json": to_json,
    "plain": to_columns,
}
"""By form of the output, a line for a prediction: (prediction, number of labels) -> line."""


def classify_pictures(
    system: "ImageClassification", lists: Iterable[Sequence[str]], batch: int
) -> Iterator[Prediction]:
    """Predictions for image files and folders; an unreadable image gets its error."""
    waiting: list[tuple[str, Fitted | DataError]] = []  # the fitted image, or its error

    import numpy as np

    def flush() -> Iterator[Prediction]:
        good = [fitted for _, fitted in waiting if not isinstance(fitted, JumokError)]
        predictions = iter(system.classify_fitted(np.stack(good)) if good else ())
        for item, fitted in waiting:
            if isinstance(fitted, JumokError):
                yield Prediction(item, error=fitted)
            else:
                yield Prediction(item, next(predictions).probabilities)
        waiting.clear()

    for items in lists:
        for file in pictures_in(items):
            try:
                waiting.append((str(file), system.fit(file)))
            except DataError as error:
                waiting.append((str(file), error))
            if len(waiting) >= batch:
                yield from flush()
        yield from flush()


def classify_texts(
    system: "TextClassification", lists: Iterable[Sequence[str]], batch: int
) -> Iterator[Prediction]:
    """Predictions for texts; one without a word gets its error."""
    done = 0
    for items in lists:
        chunk = list(enumerate(items, start=done + 1))
        done += len(chunk)
        errors = {number: probe(system, text, number) for number, text in chunk}
        good = [text for number, text in chunk if errors[number] is None]
        labels = iter(system.classify(good, batch) if good else ())
        for number, text in chunk:
            error = errors[number]
            yield (
                Prediction(text, error=error)
                if error
                else Prediction(text, next(labels).probabilities)
            )


def probe(system: "TextClassification", text: str, number: int) -> DataError | None:
    """Why this text cannot be classified; None: it can."""
    try:
        system.check(text, number)
    except DataError as error:
        return error
    return None
