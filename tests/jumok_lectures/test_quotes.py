"""Every lab quotes the lectures, and the words stand there."""

import os
from pathlib import Path

import pytest

from jumok_lectures.catalog import LABS
from jumok_lectures.entry import Lab
from tests.jumok_lectures.test_report import HANGUL

NOTES = Path(os.environ.get("JUMOK_LECTURES", "../shared/lectures"))


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_quote_stands_in_its_note_at_that_line(lab: Lab) -> None:
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    for quote in lab.quotes:
        (note,) = NOTES.glob(f"{quote.note}_*")
        lines = note.read_text("utf-8").splitlines()
        assert quote.words in lines[quote.line - 1], quote.place


def test_every_lab_quotes_a_note_and_says_what_would_disprove_it() -> None:
    for lab in LABS:
        assert lab.quotes, lab.name
        assert lab.lectures == ", ".join(sorted({quote.note for quote in lab.quotes}))
        assert HANGUL.search(lab.would_fail.ko), lab.name
        assert not HANGUL.search(lab.would_fail.en), lab.name
