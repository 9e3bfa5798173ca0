"""Gold boxes: the objects of an image, their positions, and the words of its captions that name
them.

A file of boxes has one JSON object per line, one line per image:

    {"file": "000000.png",
     "things": [{"kind": "heart", "box": [left, top, right, bottom]}, ...],
     "en": [[[word, [thing, ...]], ...], ...]}

Boxes are in pixels, the last two sides excluded. A language's code is the key of the captions in
their order. Each caption is a list of its nouns: the index of the word among the words between
spaces, and the indices of the objects that it names.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jumok.data.files.damage import ANYTHING
from jumok.data.files.reading import read_lines
from jumok.errors import DataError, Location
from jumok.json_types import JsonObject

Box = tuple[int, int, int, int]


class GroundedNoun(NamedTuple):
    """A word, as its index among the words between spaces, and the objects that it names."""

    word: int
    things: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """The objects of an image, and for each caption, in order, its nouns."""

    kinds: tuple[str, ...]
    boxes: tuple[Box, ...]
    nouns: tuple[tuple[GroundedNoun, ...], ...]


def read_boxes(file: Path, language: str) -> dict[str, Boxes]:
    """The boxes of every image, by file name, with the nouns of one language's captions.

    Raises:
        DataError: a line is not such an object, or a noun names an object that does not exist.
    """
    by_file = {}
    for number, line in enumerate(read_lines(file), start=1):
        place = Location(file, number)
        try:
            record = json.loads(line)
            name, boxes = str(record["file"]), _boxes(record, language)
        except ANYTHING as error:
            raise DataError(
                "the line does not describe an image's boxes.",
                expected=f'an object with "file", "things" and the nouns under "{language}"',
                got=f"no {error}" if isinstance(error, KeyError) else str(error),
                place=place,
            ) from None
        there = range(len(boxes.boxes))
        for noun in (noun for nouns in boxes.nouns for noun in nouns):
            if not noun.things or any(thing not in there for thing in noun.things):
                raise DataError(
                    "a noun has no object, or one that does not exist.",
                    expected=f"indices from 0, below {len(there)}",
                    got=str(list(noun.things)),
                    place=place,
                )
        by_file[name] = boxes
    return by_file


def _boxes(record: JsonObject, language: str) -> Boxes:
    things = record["things"]
    boxes = []
    for thing in things:
        left, top, right, bottom = map(int, thing["box"])
        if not (left < right > 0 and top < bottom > 0):  # a part of it may be outside
            raise ValueError(f"an empty box: {thing['box']}")
        boxes.append((left, top, right, bottom))
    nouns = tuple(
        tuple(GroundedNoun(int(word), tuple(map(int, named))) for word, named in caption)
        for caption in record[language]
    )
    return Boxes(tuple(str(thing["kind"]) for thing in things), tuple(boxes), nouns)
