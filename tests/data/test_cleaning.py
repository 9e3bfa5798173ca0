"""Odd pairs: counted, and left out where that is asked for; shifted pairs are told by lengths."""

from pathlib import Path

import numpy as np
import pytest

from jumok.data.pairs.cleaning import CLEAN, odd_script
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.drift import shifted_part

ROWS = [
    ("the cat", "le chat"),
    ("the cat", "le chat"),  # twice
    ("Paris is a town", "Paris is a town"),  # equal
    ("42", "42"),  # numbers are the same in both
    ("a <b>dog</b>", "un chien"),  # markup
    ("salt &amp; pepper", "sel et poivre"),
    ("a < b & c", "a < b & c d"),  # no markup
    ("a house", "дом"),  # another script
    ("the cat", "le chaton"),  # another translation is no duplicate
]


def corpus(folder: Path, clean: tuple[str, ...] = ()) -> Corpus:
    file = folder / "a.tsv"
    file.write_text("".join(f"{one}\t{other}\n" for one, other in ROWS), encoding="utf-8")
    return Corpus(file=file, clean=clean, languages=("en", "fr"))


def test_odd_pairs_are_counted_and_kept(tmp_path: Path) -> None:
    one = corpus(tmp_path)
    report = one.report()
    assert len(list(read_pairs(one, report))) == len(ROWS)
    assert {reason: count.first for reason, count in report.noticed.items()} == {
        CLEAN["duplicates"]: [2],
        CLEAN["equal"]: [3],
        CLEAN["markup"]: [5, 6],
        CLEAN["script"]: [8],
    }
    assert f"  suspicious, {CLEAN['markup']}: 2 (lines 5, 6)" in str(report)
    assert type(report).from_json(report.to_json()) == report


def test_odd_pairs_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    every = corpus(tmp_path, tuple(CLEAN))
    assert [pair.line for pair in read_pairs(every)] == [1, 4, 7, 9]
    some = corpus(tmp_path, ("equal",))
    report = some.report()
    assert len(list(read_pairs(some, report))) == len(ROWS) - 1
    assert report.dropped[CLEAN["equal"]].first == [3]
    assert report.noticed[CLEAN["duplicates"]].first == [2]


@pytest.mark.parametrize(
    ("language", "text", "odd"),
    [
        ("fr", "дом", True),
        ("fr", "l'été", False),
        ("fr", "42 %", False),
        ("ko", "Windows XP", False),  # names may stand in any language
        ("ko", "дом", True),
        ("ko", "집 дом", False),
        ("ru_RU", "漢字", True),
        ("ja", "漢字", False),
    ],
)
def test_only_letters_of_no_script_of_the_language_are_odd(
    language: str, text: str, odd: bool
) -> None:
    told = odd_script(language)
    assert told is not None
    assert told(text) is odd


def test_an_unknown_language_has_no_script() -> None:
    assert odd_script("") is None
    assert odd_script("tlh") is None


def lengths(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources of all lengths in no order, and targets a little longer or shorter than them."""
    numbers = np.arange(count)
    sources = 20.0 + numbers * 37 % 83
    return sources, sources * 1.2 + numbers * 11 % 7


@pytest.mark.parametrize("at", [0, 100, 300])
def test_a_line_lost_and_another_found_later_shift_what_is_between(at: int) -> None:
    source, target = lengths(500)
    moved = np.concatenate([target[:at], target[at + 1 : at + 150], [50.0], target[at + 150 :]])
    assert len(moved) == len(source)
    part = shifted_part(source, moved)
    assert part is not None
    first, last, by = part
    assert abs(first - at - 1) <= 2
    assert abs(last - at - 149) <= 2
    assert by == -1


def test_aligned_pairs_are_not_shifted() -> None:
    assert shifted_part(*lengths(5000)) is None
    assert shifted_part(np.array([]), np.array([])) is None
    assert shifted_part(np.array([3.0]), np.array([4.0])) is None


def test_chance_does_not_shift_pairs() -> None:
    """The worst that was met: lengths that say nothing about each other."""
    draw = np.random.default_rng(7)
    source = draw.integers(1, 200, 20_000).astype(float)
    close = source * draw.normal(1.1, 0.15, 20_000) + draw.normal(0, 5, 20_000)
    assert shifted_part(source, np.maximum(1.0, close)) is None


def test_the_report_says_where_pairs_are_shifted(tmp_path: Path) -> None:
    source, target = lengths(400)
    moved = [*target[:100], *target[101:], 30.0]  # one lost in the middle, one added at the end
    for name, side in (("a.en", source), ("a.fr", moved)):
        lines = [f"{number:03} " + "x" * int(each) for number, each in enumerate(side)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    one = Corpus(tmp_path / "a.en", tmp_path / "a.fr")
    report = one.report()
    list(read_pairs(one, report))
    (said,) = [reason for reason in report.noticed if "shifted" in reason]
    assert "each source fits the target 1 above" in said
    (first,) = report.noticed[said].first
    assert abs(first - 102) <= 2
