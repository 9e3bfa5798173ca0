"""`jumok classify`: a label for each image or text."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import LARGEST_COUNT, Machine, ModelOrEnsemble, Output, open_models
from jumok.cli.output.arriving import arriving
from jumok.cli.output.cells import OutputForm, as_csv, form_of
from jumok.cli.output.streams import check_output, image_files, open_output
from jumok.cli.screen import counted
from jumok.errors import DataError, JumokError

if TYPE_CHECKING:
    from jumok.data.pictures.corpus import Fitted
    from jumok.systems.image_classifier import ImageClassification
    from jumok.systems.text_classifier import TextClassification


@dataclass(frozen=True)
class Prediction:
    """The predicted labels of one item.

    Attributes:
        item: the text, or the image's file, as it was given.
        probabilities: of every label, the most probable first; empty with an error.
    """

    item: str
    probabilities: Mapping[str, float] = field(default_factory=dict)
    error: JumokError | None = None


Items = Annotated[
    list[str] | None,
    typer.Argument(help="Image files and folders, or texts (default: stdin, one item per line)."),
]
Top = Annotated[
    int,
    typer.Option(
        min=1,
        max=LARGEST_COUNT,
        help="Number of labels per item, most probable first.",
        metavar="N",
    ),
]


def classify(
    model: ModelOrEnsemble,
    items: Items = None,
    top: Top = 1,
    *,
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Classify images or texts.

    Prints one line for each item: the item, its label and the probability of
    the label. An item that cannot be read gets an empty label and an error on
    stderr.

      jumok classify runs/cifar10/model photos

      ls photos/*.png | jumok classify runs/cifar10/model --json --top 3
    """
    form, output = form_of(written.output, written.as_json), written.output
    check_output(output, *map(Path, items or ()))
    opened = open_models(model)
    system = machine.load(opened, "classify")
    lists = [items] if items else arriving(None).chunks(machine.batch)
    predict = opened.kind.entry("classify")  # predict_texts, or the like
    answers: Iterator[Prediction] = predict(system, lists, machine.batch)
    unread = total = 0
    top = min(top, len(system.labels))
    with open_output(output) as stream:
        if form == "csv":
            stream.write(_csv_header(top))
        for answer in counted(answers):
            total += 1
            if answer.error is not None:
                unread += 1
                sys.stderr.write(f"error: {answer.error}\n")
            stream.write(_prediction_line(answer, form, top))
            if not items:  # the writer of the line may wait for its answer
                stream.flush()
    if unread:
        raise DataError(
            f"{unread:,} of {total:,} items could not be read; the others were classified.",
            do="see the errors above",
        )


def _prediction_line(answer: Prediction, form: OutputForm, top: int) -> str:
    ranked = list(answer.probabilities.items())[:top]
    if form == "csv":
        cells: list[object] = [cell for pair in ranked for cell in pair]
        return as_csv([answer.item, *(cells or [None] * (2 * top))])
    if form == "plain":
        columns = [f"{label}\t{value:.4f}" for label, value in ranked] or ["\t"]
        return "\t".join([answer.item, *columns]) + "\n"
    facts: dict[str, object] = {"item": answer.item, "label": ranked[0][0] if ranked else None}
    facts["probabilities"] = dict(ranked)
    if answer.error is not None:
        facts["error"] = str(answer.error)
    return json.dumps(facts, ensure_ascii=False) + "\n"


def _csv_header(top: int) -> str:
    """item, label, probability, label 2, probability 2, ..."""
    numbers = ["", *(f" {place}" for place in range(2, top + 1))]
    names = [f"{name}{number}" for number in numbers for name in ("label", "probability")]
    return as_csv(["item", *names])


def predict_images(
    system: "ImageClassification", lists: Iterable[Sequence[str]], batch: int
) -> Iterator[Prediction]:
    """Predictions for image files and folders; an unreadable image gets its error."""
    import numpy as np

    waiting: list[tuple[str, Fitted | DataError]] = []  # the fitted image, or its error

    def flush() -> Iterator[Prediction]:
        good = [fitted for _, fitted in waiting if not isinstance(fitted, JumokError)]
        predictions = iter(system.classify_fitted(np.stack(good)) if good else ())
        for item, fitted in waiting:
            yield (
                Prediction(item, error=fitted)
                if isinstance(fitted, JumokError)
                else Prediction(item, next(predictions).probabilities)
            )
        waiting.clear()

    for items in lists:
        for file in image_files(items):
            try:
                waiting.append((str(file), system.fit(file)))
            except DataError as error:
                waiting.append((str(file), error))
            if len(waiting) >= batch:
                yield from flush()
        yield from flush()


def predict_texts(
    system: "TextClassification", lists: Iterable[Sequence[str]], batch: int
) -> Iterator[Prediction]:
    """Predictions for texts; one without a word gets its error."""
    done = 0
    for items in lists:
        errors = [
            _fault_of(system, text, number) for number, text in enumerate(items, start=done + 1)
        ]
        done += len(errors)
        good = [text for text, error in zip(items, errors, strict=True) if error is None]
        labels = iter(system.classify(good, batch) if good else ())
        for text, error in zip(items, errors, strict=True):
            known = {} if error else next(labels).probabilities
            yield Prediction(text, known, error)


def _fault_of(system: "TextClassification", text: str, number: int) -> DataError | None:
    """Why this text cannot be classified; None: it can."""
    try:
        system.check(text, number)
    except DataError as error:
        return error
    return None
