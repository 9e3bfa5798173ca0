"""Help and errors in Korean: by --lang, by JUMOK_LANG, by the system's language."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from jumok.cli.language import said, table, translate_texts
from jumok.cli.main import app
from jumok.cli.translation import NoteCounter
from jumok.errors import DataError, Location
from jumok.systems.translation.judging import NOTES
from jumok.systems.translation.result import Translation

ROOT = Path(__file__).parents[2]
NONE = dict.fromkeys(("JUMOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))


def jumok(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in NONE}
    return subprocess.run(
        [sys.executable, "-m", "jumok", *words],
        env={**kept, "PYTHONUTF8": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "variables", "korean"),
    [
        ((), {}, False),
        (("--lang", "ko"), {}, True),
        ((), {"JUMOK_LANG": "ko"}, True),
        ((), {"LANG": "ko_KR.UTF-8"}, True),
        ((), {"LANG": "ko_KR.UTF-8", "LC_ALL": "en_US.UTF-8"}, False),
        ((), {"LANG": "ko_KR.UTF-8", "JUMOK_LANG": "en"}, False),
        (("--lang", "en"), {"LANG": "ko_KR.UTF-8"}, False),
    ],
)
def test_the_language_is_that_which_is_asked_for(words, variables, korean):
    help_ = jumok(*words, "info", "--help", **variables)
    assert ("모델의 크기" in help_.stdout) == korean
    assert ("Describe a model" in help_.stdout) != korean
    error = jumok(*words, "info", "nowhere", **variables)
    assert error.returncode == 2
    assert error.stderr.startswith("오류: nowhere" if korean else "error: nowhere")


def test_the_parts_of_an_error_are_named(monkeypatch, tmp_path):
    error = DataError(
        "odd.", expected="two", got="one", do="mend", place=Location(tmp_path / "a.txt", line=3)
    )
    monkeypatch.setenv("JUMOK_LANG", "ko")
    place = str(error).partition(": odd.")[0]
    assert (
        said(error) == f"오류: {place}: odd.\n  기대한 것: two\n  받은 것: one\n  해결 방법: mend"
    )
    monkeypatch.setenv("JUMOK_LANG", "en")
    assert said(error) == f"error: {error}"


def test_values_and_sentences_within_an_error_are_put_in_their_places(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    error = DataError("odd.", do="did you mean a {b}? check line 7 of both files")
    assert said(error).endswith("혹시 a {b}인가요? 두 파일의 7번째 줄을 확인하세요")
    error = DataError("it needs the extra .", do=" needs the extra a, which is not ")
    assert (
        said(error) == "오류: it needs the extra .\n  해결 방법:  needs the extra a, which is not "
    )


def commands(node=None, name: str = "") -> dict[str, object]:
    """Every command by its name, with those of groups, and jumok itself under ""."""
    node = node or typer.main.get_command(app)
    found = {name: node}
    for below, each in getattr(node, "commands", {}).items():
        found |= commands(each, f"{name} {below}".strip())
    return found


def test_every_text_has_its_korean_and_none_is_left_over(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    texts, every = table(), commands()
    assert {""} | set(texts["commands"]) == set(every)
    helps = {each.help for command in every.values() for each in command.params}
    assert set(texts["options"]) == helps | {"Show this message and exit."}
    panels = {command.rich_help_panel for command in every.values()}
    for command in every.values():
        panels |= {each.rich_help_panel for each in command.params}
    assert set(texts["panels"]) == {each for each in panels if isinstance(each, str)}


def test_numbers_and_names_of_options_are_those_of_the_english_text():
    for english, korean in table()["options"].items():
        for pattern in (r"--[a-z][a-z-]+", r"\bbf16|int8|\d+(?:\.\d+)?\b"):
            named = set(re.findall(pattern, english))
            named = {each for each in named if each[2:].replace("-", "_") not in korean}
            assert {each for each in named if each not in korean} == set(), english


def sentences() -> set[str]:
    """Every text in the code, with {} for what an f-string puts in."""
    found = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [
                "{}" if isinstance(part, ast.FormattedValue) else getattr(part, "value", None)
                for part in parts
            ]
            if all(isinstance(text, str) for text in texts):
                found.add("".join(texts))
    return found


def test_errors_that_are_translated_exist():
    known = sentences()
    for english, korean in table()["errors"].items():
        assert any(fits(english, each) for each in known), english
        assert english.count("{}") == korean.count("{}"), english


def test_every_note_has_its_korean(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    counter = NoteCounter("line")
    words = tuple(f"word{number}" for number in range(12))
    list(counter.counted([Translation("", notes=tuple(NOTES), unknown_words=words)]))
    lines = list(counter.lines())
    assert len(lines) == len(NOTES)
    for line, code in zip(lines, NOTES, strict=True):
        assert re.fullmatch(rf"알림: {code}: 1줄, 처음은 1번째: [^a-z]*(word.*)?", line), line
    named = ", ".join(words[:10])
    assert any(
        line.endswith(f"학습 데이터에 없던 단어나 글자열이 있음: {named} 외 2개") for line in lines
    )


def fits(template: str, text: str) -> bool:
    """Whether an error of the code is one of the template's."""
    pattern = re.escape(template).replace(r"\{\}", "(.+)")
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("words", "korean"),
    [
        (
            ("info", "nowhere"),
            "그런 번들이 없습니다.\n  해결 방법: 학습이 쓴 폴더를 주세요",
        ),
        (("train", "smallworld-en-k"), "그런 레시피가 없습니다.\n  해결 방법: 혹시 smallworld"),
        (("recipes", "show", "x"), "jumok에 이런 이름의 레시피가 없습니다."),
        (("train", "--source", "a", "--target", "b"), "오류: a: 그런 파일이 없습니다."),
    ],
)
def test_frequent_errors_are_in_korean(words, korean):
    done = jumok("--lang", "ko", *words)
    assert done.returncode == 2
    assert korean in done.stderr


@pytest.mark.parametrize("name", ["", "train", "recipes show", "course check"])
def test_help_in_korean_has_no_word_of_typers_and_nothing_is_cut(name):
    for columns in ("72", "80", "81", "100"):
        shown = jumok("--lang", "ko", *name.split(), "--help", COLUMNS=columns).stdout
        assert "사용법: jumok" in shown
        assert "이 도움말을" in shown
        for english in ("Usage", "OPTIONS", "Options", "Arguments", "Commands", "default", "env "):
            assert english not in shown
        assert "required" not in shown
        assert "…" not in shown


@pytest.mark.parametrize(
    ("words", "korean"),
    [
        ("train --nope", "그런 옵션이 없습니다: --nope (비슷한 옵션: --name, --to)"),
        ("info --nope", "그런 옵션이 없습니다: --nope"),
        ("translate", "인자가 빠졌습니다: 'model'."),
        ("unpack m", "옵션이 빠졌습니다: '--output'"),
        ("translate m --beam", "'--beam' 옵션에는 값이 필요합니다."),
        ("translate m --beam x", "'--beam' / '-b'의 값이 잘못되었습니다. 정수여야 합니다."),
        ("translate m --beam 0", "1 이상이어야 합니다."),
        ("translate m --beam 9999", "1000 이하여야 합니다."),
        ("translate m --temperature x", "수여야 합니다."),
        ("translate m --length-rule q", "'q': 'google', 'power' 가운데 하나여야 합니다."),
        ("info a b c", "인자가 너무 많습니다: b c"),
        ("qqq", "그런 명령이 없습니다: 'qqq'."),
        ("trani", "그런 명령이 없습니다: 'trani'. 혹시 'train'인가요?"),
    ],
)
def test_faults_of_the_command_line_are_in_korean(words, korean):
    done = jumok("--lang", "ko", *words.split(), COLUMNS="200")
    assert done.returncode == 2
    assert korean in done.stderr
    assert "Usage" not in done.stderr
    assert "Error" not in done.stderr


def test_korean_help_has_the_examples(monkeypatch):
    english = {name: examples(each) for name, each in commands().items()}
    for name, each in commands().items():
        translate_texts(each, name)
        assert examples(each) == english[name]
    assert sum(map(bool, english.values())) > 20


def examples(command: object) -> list[str]:
    """The lines of its help that begin with jumok, or that write into it."""
    lines = (getattr(command, "help", None) or "").splitlines()
    return [line for line in lines if re.match(r"\s*(jumok |echo )", line)]
