"""What a lab leaves behind, in both languages, and the page of all."""

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jumok.cli.main import app
from jumok.environment import LANGUAGES
from jumok.errors import ConfigError, DataError
from jumok_lectures import picture, report
from jumok_lectures.catalog import LABS, find
from jumok_lectures.entry import Lab
from jumok_lectures.findings import Bars, Chart, Column, Findings, Grid, Series, Setting, table
from jumok_lectures.judging import Condition
from jumok_lectures.text import Text, same

HANGUL = re.compile("[가-힣]")


def findings() -> Findings:
    """Every kind of panel and cell."""
    return Findings(
        columns=(Column(Text("name", "이름")), Column(Text("value", "값"), ".1f")),
        rows=[[Text("one", "하나"), 1.25], ["b|c", None]],
        figures={"value": 1.25},
        conditions=[
            Condition(same("a"), [0.1, 0.11, 0.12], 0.0),
            Condition(same("b"), [0.1, 0.11, 0.12], 1.0),
        ],
        sentence=Text("It is 1.2.", "1.2입니다."),
        panels=(
            Chart(
                Text("lines", "선"),
                same("x"),
                same("y"),
                [Series(same("s"), [(1, 1.0), (2, 2.0)], low=[0.5, 1.5], high=[1.5, 2.5])],
                marks=((same("most"), 3.0),),
            ),
            Bars(same("bars"), same("x"), [(same("a"), 1.0), (same("b"), 2.0)], spread=[0.1, 0.2]),
            Grid(
                same("grid"),
                ["저는", "봐요"],
                ["I", "see"],
                [[1.0, 0.0], [0.0, 1.0]],
                same("query"),
                same("key"),
                framed=[(0, 0)],
            ),
        ),
    )


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_every_lab_speaks_both_languages() -> None:
    for lab in LABS:
        for text in (lab.title, lab.claim):
            assert HANGUL.search(text.ko), lab.name
            assert not HANGUL.search(text.en), lab.name


def test_a_lab_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'scale'"):
        find("scales")


def test_a_table_is_written_in_the_language_asked_for() -> None:
    assert table(findings(), "en") == (["name", "value"], [["one", "1.2"], ["b|c", ""]])
    assert table(findings(), "ko") == (["이름", "값"], [["하나", "1.2"], ["b|c", ""]])
    assert findings().verdict("ko").startswith("이 실험에서는 주장의 일부만 성립합니다.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_of_every_kind_of_panel(tmp_path: Path, language: str) -> None:
    note = picture.draw(findings(), tmp_path / "all", language)
    assert (tmp_path / "all.svg").read_text("utf-8").startswith("<?xml")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert (note is None) == (picture.hangul_font() is not None)


def test_without_a_font_for_hangul_the_picture_says_which_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "hangul_font", lambda: None)
    note = picture.draw(findings(), tmp_path / "all", "ko")
    assert note is not None
    assert "fonts-nanum" in note


def test_a_lab_leaves_its_figures_as_json_in_both_languages(tmp_path: Path) -> None:
    lab = find("errata")
    made = report.run(lab, Setting((1,), False, tmp_path), tmp_path, "en")
    assert all(file.stat().st_size > 0 for file in made.files)
    read = json.loads((tmp_path / "errata.json").read_text("utf-8"))
    assert read["outcome"] == made.findings.outcome
    assert read["seeds"] == [1]
    assert read["conditions"] == []
    assert read["quotes"][0] == {"place": "000:100", "words": lab.quotes[0].words}
    for language in LANGUAGES:
        text = read["text"][language]
        assert text["title"] == lab.title.of(language)
        assert len(text["rows"]) == 22 + 1  # and the mask
        assert all(len(row) == len(text["columns"]) for row in text["rows"])
        assert bool(HANGUL.search(text["verdict"])) == (language == "ko")


def test_the_page_tells_of_every_lab_that_ran(tmp_path: Path) -> None:
    setting = Setting((1,), False, tmp_path)
    for name in ("scale", "order"):
        report.run(find(name), setting, tmp_path / "docs" / "lab", "en")
    report.page(tmp_path / "docs" / "lab", tmp_path / "docs" / "lab.md", "en")
    page = (tmp_path / "docs" / "lab.md").read_text("utf-8")
    assert "](lab/scale.svg)" in page
    assert "](lab/order.svg)" in page
    assert page.index("## scale") < page.index("## order")
    (missing,) = [line for line in page.splitlines() if line.startswith("Not run")]
    assert "errata" in missing
    assert "scale" not in missing
    assert "## errata" not in page
    (together,) = [line for line in page.splitlines() if line.startswith("| total")]
    figures = [
        json.loads((tmp_path / f"docs/lab/{name}.json").read_text()) for name in ("scale", "order")
    ]
    assert f"{sum(each['cpu_seconds'] for each in figures):.0f}" in together


@pytest.mark.parametrize(("language", "flag"), [("en", ""), ("ko", " --lang ko")])
def test_the_page_names_its_command_with_the_paths_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, flag: str
) -> None:
    monkeypatch.chdir(tmp_path)
    report.run(find("order"), Setting((1,), False, tmp_path), Path("my figures"), "en")
    report.page(Path("my figures"), Path("docs/all.md"), language)
    page = Path("docs/all.md").read_text("utf-8")
    assert f"`jumok lab --all --folder 'my figures' --page docs/all.md{flag}`" in page


@pytest.mark.parametrize(("lectures", "named"), [("001", "lecture 001"), ("0, 2", "lectures 0, 2")])
def test_a_chapter_has_one_lecture_or_several(lectures: str, named: str) -> None:
    text = {"title": "t", "claim": "c", "verdict": "v", "columns": ["x"], "rows": [["1"]]}
    text |= {"would_fail": "- not so\n- or so", "conditions": [["condition"], [["1 > 0"]]]}
    quotes = [{"place": "001:3", "words": "말"}, {"place": "002:4", "words": "둘"}]
    each = {"lab": "scale", "lectures": lectures, "quotes": quotes, "text": {"en": text}}
    lines = report._chapter(each, Path(), "en")
    assert f"**Claim** ({named}): c" in lines
    assert lines.index("> 말 (001:3)") < lines.index("> 둘 (002:4)") < lines.index("**Result**: v")
    at = lines.index("**Criteria for failure**:")
    assert lines[at + 1 : at + 5] == ["", "- not so", "- or so", ""]
    assert lines[-4:] == ["| condition |", "|---|", "| 1 > 0 |", ""]


def test_a_page_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this folder holds no results of a lab"):
        report.page(tmp_path, tmp_path / "lab.md", "en")


def test_a_page_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(DataError, match="not a lab's JSON") as caught:
        report.page(tmp_path, tmp_path / "lab.md", "en")
    assert "jumok lab scale" in str(caught.value)


def test_the_command_lists_the_labs_in_either_language() -> None:
    english, korean = call("lab").stdout, call("lab", "--lang", "ko").stdout
    for lab in LABS:
        assert lab.name in english
        assert lab.name in korean
    assert HANGUL.search(korean)
    assert not HANGUL.search(english)


def test_the_command_runs_a_lab_and_says_what_came_out(tmp_path: Path) -> None:
    result = call("lab", "order", "--folder", tmp_path, "--page", tmp_path / "all.md")
    assert result.exit_code == 0, result.exception
    assert "The claim holds here." in result.stdout
    assert {file.name for file in tmp_path.glob("order.*")} == {
        "order.svg",
        "order.png",
        "order.json",
    }
    assert "](order.svg)" in (tmp_path / "all.md").read_text("utf-8")


def test_one_lab_and_all_of_them_is_refused() -> None:
    error = call("lab", "scale", "--all").exception
    assert isinstance(error, ConfigError)
    assert "give the name of a lab or --all, not both." in str(error)


@pytest.mark.parametrize("asked", [["scale"], ["--all"], []])
def test_a_trained_encoder_is_for_the_lab_that_reads_one(asked: list[str], tmp_path: Path) -> None:
    error = call("lab", *asked, "--encoder", tmp_path).exception
    assert isinstance(error, ConfigError)
    assert "a lab that reads an encoder: alignment, context, coreference" in str(error)


def test_what_a_trained_encoder_showed_stands_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lab, "run", lambda _, __: findings())
    setting = Setting((1,), False, tmp_path, encoder=Path("some/encoder"))
    done = report.run(find("coreference"), setting, tmp_path, "en")
    assert [file.name for file in done.files][-1] == "coreference-encoder.json"
    assert json.loads(done.files[-1].read_text("utf-8"))["encoder"] == "encoder"


def test_there_is_a_lab_for_every_claim() -> None:
    assert {lab.name for lab in LABS} == {
        *("bottleneck", "parallel", "scale", "order", "positions", "heads", "cheating"),
        *("residual", "norm", "alignment", "looking", "convolution", "coreference"),
        *("context", "copies", "errata", "mix", "similarity", "distribution", "rotation"),
        *("position-wise", "analogy", "width", "data", "gradients", "scores"),
    }
    for lab in LABS:
        assert callable(import_module(lab.module).run)
