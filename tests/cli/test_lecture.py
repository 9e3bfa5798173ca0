"""`jumok explain --lecture`: the worked numbers of the notes, printed and saved."""

import math
from pathlib import Path

import pytest

from jumok_lectures.worked.catalog import WORKED, worked
from tests.cli.calls import call, fault
from tests.inspection.pages import page_data


def printed(*arguments: str | Path) -> str:
    done = call("explain", "--lecture", *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_without_a_number_it_lists_every_example() -> None:
    lines = printed().splitlines()
    places = [example.quote.place for note in WORKED for example in worked(note)]
    assert [line.split()[0] for line in lines[: len(places)]] == places
    assert "--save page.html" in lines[-1]
    assert "자신과 Machines에 주목하는 Thinking" in printed("--lang", "ko")


def test_lecture_002_has_the_notes_number_beside_the_computed_one() -> None:
    text = printed("002")
    first = 1 / (1 + math.exp(-2))
    assert '002:18  "Thinking"은 자기 자신과 88%의 compatibility를' in text
    assert f"the note: 88%   computed: {first:.4f}   agrees" in text
    assert "Alammar 2018, in a figure: 14   computed: 14   agrees" in text
    assert "PyTorch, softmax: 0.5000   computed: 0.5000   agrees" in text
    assert "by hand, 6 / (6 + 1 + 1 + 1): 0.6667   computed: 0.6667   agrees" in text
    assert f" Thinking    112.0000  14.0000   {first:.4f}" in text
    assert "calculation by hand: 11. In agreement: 11. Different: 0." in text


def test_a_difference_is_named_with_its_reason_in_both_languages() -> None:
    text = printed("003:13")
    assert "the note: -4   computed: -10   differs\n    The note contains an equals sign" in text
    assert "Numbers compared with the note, a figure, PyTorch" in text
    assert ": 3. In agreement: 2. Different: 1." in text
    korean = printed("003:13", "--lang", "ko")
    assert "노트: -4   계산: -10   다름\n    노트에 더하기 대신 등호가" in korean
    assert "PyTorch, 손으로 한 계산과 비교한 수: 3개. 같음: 2개. 다름: 1개." in korean


def test_what_a_mask_hides_has_no_score() -> None:
    text = printed("000:105")
    assert "[1.0000, 0.0000, 0.0000]" in text


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("note", WORKED)
def test_every_example_is_printed(note: str, lang: str) -> None:
    text = printed(note, "--lang", lang)
    for example in worked(note):
        assert f"{example.quote.place}  {example.title.of(lang)}" in text
        for step in example.steps:
            assert step.said.of(lang) in text


def test_every_example_with_attention_gets_a_page(tmp_path: Path) -> None:
    done = call("explain", "--lecture", "002", "--save", tmp_path / "page.html")
    assert done.exit_code == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page-2.html", "page.html"]
    link = (tmp_path / "page.html").as_uri()
    assert f"002:15  {link}#view=row&query=0" in done.stderr
    assert page_data((tmp_path / "page.html").read_text("utf-8"))["model"] == "lecture 002:15"


def test_wrong_requests_are_refused(tmp_path: Path, tiny_bundle: Path) -> None:
    error = fault("explain", "--lecture", "007")
    assert error.exit_code == 2
    assert "there is no such lecture note" in str(error)
    assert "expected: 000, 001, 002, 003, 004" in str(error)
    assert "got:      007" in str(error)
    error = fault("explain", "--lecture", "002:99")
    assert "expected: 002:15, 002:11" in str(error)
    error = fault("explain", "--lecture", "002", "--save", tmp_path / "page.npz")
    assert "expected: --save FILE.html" in str(error)
    error = fault("explain", "--lecture", "001:102", "--save", tmp_path / "page.html")
    assert "no attention to show" in str(error)
    shown = "000:20, 000:62, 000:105, 001:192, 001:266, 002:15, 002:11, 003:13, 003:18, 004:90"
    assert f"expected: {shown}" in str(error)
    error = fault("explain", "--lecture", "002", "--row", "Thinking")
    assert "got:      --row" in str(error)
    error = fault("explain", tiny_bundle, "the cat", "--row", "1", "--save", tmp_path / "a.html")
    assert "--save belongs to --lecture" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_row_is_refused(tiny_bundle: Path) -> None:
    assert "nothing for MODEL" in str(fault("explain"))
    assert "nothing for TEXT" in str(fault("explain", tiny_bundle))
    assert "nothing for --row WORD" in str(fault("explain", tiny_bundle, "the cat"))
