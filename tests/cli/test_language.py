"""Help and errors in Korean: by --lang, by JUMOK_LANG, by the system's language."""

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import typer
from pydantic_core._pydantic_core import list_all_errors

from jumok.cli.language import how_to_stop, said, sentences, table, translate_texts
from jumok.cli.main import app
from jumok.cli.translation import NoteCounter, note_line
from jumok.data.files.formats import FILE_KINDS
from jumok.errors import DataError, Location
from jumok.systems.translation.judging import NOTES
from jumok.systems.translation.result import Translation
from tests.cli.error_texts import has_words, said_by_errors, texts

TABLES = Path(__file__).parents[2] / "src" / "jumok" / "cli" / "korean_errors"
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
    assert ("Show the size, languages" in help_.stdout) != korean
    error = jumok(*words, "info", "nowhere", **variables)
    assert error.returncode == 2
    assert error.stderr.startswith("오류: nowhere" if korean else "error: nowhere")


def test_the_parts_of_an_error_are_named(monkeypatch, tmp_path):
    error = DataError(
        "odd.", expected="two", got="one", do="mend", place=Location(tmp_path / "a.txt", line=3)
    )
    monkeypatch.setenv("JUMOK_LANG", "ko")
    place = f"{tmp_path / 'a.txt'} 3번째 줄"
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


VALUES = {
    # Too short to be told from a value that a user gave.
    *("{} and {}", "{}, {} and {}", "{}: {} and {}", "{} in {}", "{} at {}", "{}, at {}"),
    *("none", "nothing", "neither", "one", "true"),
    *("{} of {}", "{} with {}", "{}, or {}", "({}, {}) or ({}, {}, {})"),
    # Commands, keys and forms.
    *("unset {}", "chmod 600 {}", "plugins: {}", "torch {}", '{"text": "..."}'),
    *('--force "for a demonstration"', "{}, </s> = {}, <unk> = {}"),
}
"""Parts of errors that are the same in Korean."""


def test_every_sentence_of_errors_has_its_korean():
    missing = {text: file for text, file in said_by_errors().items() if has_words(text)}
    for text in set(missing) & (set(sentences("errors")) | VALUES):
        del missing[text]
    assert missing == {}


def test_errors_that_are_translated_exist():
    known = texts() | {kind.do.replace("{file}", "{}") for kind in FILE_KINDS.values()}
    for fault in list_all_errors():  # of pydantic, in a recipe
        message = fault["message_template_python"]
        for kind, plural in product(("List", "Tuple", "Dictionary"), ("", "s")):
            own = message.replace("{field_type}", kind).replace("{expected_plural}", plural)
            known.add(re.sub(r"\{\w+\}", "{}", own))
    known |= {"'{}' or '{}'", "Input is not a valid path"}  # values in them; pydantic's Python part
    for english, korean in sentences("errors").items():
        ends = (english.removeprefix("{}"), english.removesuffix("{}"))
        assert known.intersection((english, *ends)) or any(fits(english, each) for each in known), (
            english
        )
        values = [f"<{number}>" for number in range(english.count("{}"))]
        written = korean.format(*values)
        assert [written.count(value) for value in values] == [1] * len(values), english


def test_no_sentence_of_errors_is_in_two_areas():
    areas = [json.loads(file.read_text("utf-8")) for file in TABLES.glob("*.json")]
    assert sum(map(len, areas)) == len(sentences("errors"))


def test_every_note_has_its_korean(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    counter = NoteCounter("line")
    words = tuple(f"word{number}" for number in range(12))
    list(counter.counted([Translation("", notes=tuple(NOTES), unknown_words=words)]))
    lines = list(counter.lines())
    assert len(lines) == len(NOTES)
    for line in lines:
        assert re.fullmatch(r"알림: [^a-z]+ 1줄\(1번째 줄\)(\.( [^a-z]+\.)?|: word.*)", line), line
    named = ", ".join(words[:10])
    unknown = "알림: 학습 데이터에 없던 단어나 글자열이 있는 글 1줄(1번째 줄)"
    assert f"{unknown}: {named} 외 2개" in lines
    uncertain = "알림: 확신이 낮은 번역 1줄(2번째 줄). 이런 번역은 3분의 2도 맞지 않습니다."
    assert note_line("uncertain", (), (1, "line", 2)) == uncertain
    assert note_line("empty", (), (3, "line", 2)) == "알림: 빈 번역 3줄(처음은 2번째 줄)."


@pytest.mark.parametrize("code", NOTES)
def test_a_note_without_a_count_has_its_korean(monkeypatch, code):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    assert re.fullmatch(r"알림: [^a-z]+\.", note_line(code))


def test_how_to_stop_a_server_is_said_in_the_language(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "ko")
    assert how_to_stop() == "멈추려면 Ctrl-C를 누르세요."
    assert how_to_stop("en") == "Press Ctrl-C to stop."
    monkeypatch.setenv("JUMOK_LANG", "en")
    assert how_to_stop() == "Press Ctrl-C to stop."
    assert how_to_stop("ko") == "멈추려면 Ctrl-C를 누르세요."


def fits(template: str, text: str) -> bool:
    """Whether an error of the code is one of the template's."""
    pattern = re.escape(template).replace(r"\{\}", "(.+)")
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@pytest.mark.parametrize(
    ("words", "korean"),
    [
        (
            ("info", "nowhere"),
            "그런 번들이 없습니다.\n  해결 방법: 번들(학습 실행의 모델 폴더)을 주세요",
        ),
        (("train", "smallworld-en-k"), "그런 레시피가 없습니다.\n  해결 방법: 혹시 smallworld"),
        (
            ("train", "smallworld-en-ko", "--set", "training.optimizer=x", "--set", "model.z=1"),
            "  model.z: 없는 키입니다\n  training.optimizer: 'adamw', 'muon' 가운데 하나",
        ),
        (
            ("train", "smallworld-en-ko", "--set", "model.norm_kind=rmss"),
            "'rmss': norm에 없는 이름입니다. 혹시 'rms'인가요? 있는 것: layer, rms",
        ),
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
        ("--nope", "그런 옵션이 없습니다: --nope"),
        ("--nope train", "그런 옵션이 없습니다: --nope"),
        ("--plugin", "'--plugin' 옵션에는 값이 필요합니다."),
        ("--version=3", "'--version' 옵션에는 값을 줄 수 없습니다."),
        ("--lang fr info", "'fr': 'en', 'ko' 가운데 하나여야 합니다."),
        ("recipes --nope", "그런 옵션이 없습니다: --nope"),
        ("recipes show", "인자가 빠졌습니다: 'name'."),
        ("course chek", "그런 명령이 없습니다: 'chek'. 혹시 'check'인가요?"),
        ("course check 00 --lang fr", "'--lang'(환경 변수 'JUMOK_LANG')의 값이 잘못되었습니다."),
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
