from pathlib import Path

import pytest

from jumok.data.captions.boxes import Boxes, GroundedNoun, read_boxes
from jumok.errors import DataError
from smallworld.scenes import write

GOOD = '{"file": "a", "things": [{"kind": "cup", "box": [1, 2, 3, 5]}], "en": [[[7, [0]]], []]}\n'


def test_read_boxes_reads_things_and_the_nouns_of_every_caption(tmp_path: Path) -> None:
    file = tmp_path / "boxes.jsonl"
    file.write_text(GOOD)
    assert read_boxes(file, "en") == {
        "a": Boxes(("cup",), ((1, 2, 3, 5),), ((GroundedNoun(7, (0,)),), ()))
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[", "does not describe an image's boxes"),
        ("[" * 100_000, "does not describe an image's boxes"),
        ("[]", "does not describe an image's boxes"),
        ('{"file": 1, "things": [3]}', "does not describe an image's boxes"),
        ('{"file": "a"}', "no 'things'"),
        (GOOD.replace("[1, 2, 3, 5]", "[1, 2, 3]"), "not enough values"),
        (GOOD.replace("[1, 2, 3, 5]", "[3, 2, 1, 5]"), "an empty box"),
        (GOOD.replace("[1, 2, 3, 5]", "[1, -9, 3, -2]"), "an empty box"),
        (GOOD.replace('"en"', '"fr"'), "no 'en'"),
        (GOOD.replace("[7, [0]]", "[7, [1]]"), "has no object, or one that does not exist"),
        (GOOD.replace("[7, [0]]", "[7, []]"), "has no object, or one that does not exist"),
    ],
)
def test_read_boxes_names_the_line_that_is_wrong(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "boxes.jsonl"
    file.write_text(GOOD + line)
    with pytest.raises(DataError, match=r"boxes\.jsonl, line 2: ") as caught:
        read_boxes(file, "en")
    assert message in str(caught.value)


def test_read_boxes_reads_what_smallworld_writes(tmp_path: Path) -> None:
    folder = write(tmp_path, {"train": 3})["train"]
    boxes = read_boxes(folder / "boxes.jsonl", "ko")
    assert list(boxes) == ["000000.png", "000001.png", "000002.png"]
    assert all(len(each.nouns) == 5 for each in boxes.values())
