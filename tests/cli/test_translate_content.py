"""`jumok translate` keeps what it must, says how sure it is, and does what its page says."""

import json
import re
import shlex
from pathlib import Path

import pytest

from jumok.engine.structures import library
from tests.cli.calls import call, fault
from tests.systems.test_ordinary_module import transformer

ROOT = Path(__file__).parents[2]
PAGES = ["translate.md", "translate.ko.md"]


def ran(*arguments: str) -> tuple[str, str]:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "in.txt"
    file.write_text("the cat sat. I am {name}.\n\nACME-12 <b>the cat</b>\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page_run(page: str, text: Path, tmp_path: Path, monkeypatch) -> None:
    if library() is None:
        pytest.skip("one of them needs a C compiler")
    monkeypatch.chdir(tmp_path)
    bundle = transformer(tmp_path / "model")  # of sizes that the native engine has
    Path("terms.tsv").write_text("cat\t고양이\n", encoding="utf-8")
    commands = re.findall(r"^    jumok (.*)$", (ROOT / "docs" / page).read_text("utf-8"), re.M)
    assert len(commands) == 8
    for command in commands:
        words = shlex.split(command.removesuffix(" > OUT"))
        named = {"MODEL": str(bundle), "FILE": str(text)}
        out, _ = ran(*(named.get(word, word) for word in words), "--maximum-length", "25")
        assert len(out.splitlines()) == 3


def test_both_pages_say_the_same_commands() -> None:
    english, korean = (
        re.findall(r"^    .*$", (ROOT / "docs" / page).read_text("utf-8"), re.M) for page in PAGES
    )
    assert english == korean


def test_json_says_what_was_forced_and_how_sure(tiny_bundle: Path, text: Path) -> None:
    short = ("--maximum-length", "25", "--beam", "2", "--json", "--keep", "ACME-[0-9]+")
    out, err = ran("translate", tiny_bundle, text, *short, "--flag-below", "1")
    first, empty, last = map(json.loads, out.splitlines())
    assert first["text"].count("{name}") == 1
    assert "{name}" in first["forced"] + first["inserted"]
    assert 0 < first["confidence"] < 1
    assert (empty["confidence"], empty["forced"], empty["inserted"]) == (None, [], [])
    assert last["text"].count("ACME-12") == last["text"].count("<b>") == 1
    unsure = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert [line.split(":")[0] for line in unsure] == ["line 1", "line 3"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    file = tmp_path / "odd.txt"
    file.write_text("the cat sat\n고양이가 앉았다.\nКот сидел.\n개가 짖었다.\n", encoding="utf-8")
    return file


SHORT = ("--beam", "1", "--maximum-length", "6")  # nobody trained the model


def said(output: str) -> list[str]:
    """The notes on sources; those on the translations of an untrained model vary."""
    return [line for line in output.splitlines() if re.match(r"note: (target|unknown)-", line)]


def test_odd_lines_are_counted_once_and_marked_on_request(
    tiny_bundle: Path, odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = ran("translate", tiny_bundle, odd, *SHORT, "--flags")
    notes = [set(line.rsplit("\t", 1)[1].split(",")) for line in out.split("\n")[:-1]]
    sources = {"target-language", "unknown-script"}
    expected = [set(), {"target-language"}, {"unknown-script"}, {"target-language"}]
    assert [each & sources for each in notes] == expected
    assert said(err) == [
        "note: target-language: 2 lines, the first is 2: the text is in the script of the "
        "target language",
        "note: unknown-script: 1 line, the first is 3: the text is in a script that the "
        "source language does not use",
    ]
    monkeypatch.setenv("JUMOK_LANG", "ko")
    _, err = ran("translate", tiny_bundle, odd, *SHORT)
    assert "알림: 원문의 언어가 쓰지 않는 문자로 쓴 글 1줄(3번째 줄).\n" in err
    out, _ = ran("translate", tiny_bundle, odd, *SHORT, "--json")
    assert "target-language" in json.loads(out.splitlines()[3])["notes"]
    plain, _ = ran("translate", tiny_bundle, odd, *SHORT)
    assert [line.rsplit("\t", 1)[0] for line in plain.splitlines()] == [
        json.loads(line)["text"] for line in out.splitlines()
    ]


def test_documents_and_evaluations_count_what_is_odd(tiny_bundle: Path, odd: Path) -> None:
    page = odd.with_suffix(".html")
    page.write_text("<p>the cat sat</p><p>고양이가 앉았다.</p>", encoding="utf-8")
    _, err = ran("translate", tiny_bundle, page, *SHORT)
    assert said(err)[0].startswith("note: target-language: 1 text, the first is 2")
    _, err = ran("translate", tiny_bundle, page, odd, *SHORT, "-o", odd.parent / "out")
    for file, what in ((page, "1 text"), (odd, "2 lines")):
        assert f"{file}: note: target-language: {what}, the first is 2" in err
    scored = ("--source", odd, "--reference", odd, *SHORT)
    out, _ = ran("evaluate", tiny_bundle, *scored)
    assert said(out)[0].startswith("note: target-language: 2 lines, the first is 2")


def test_contradicting_options_are_refused(tiny_bundle: Path, text: Path) -> None:
    error = fault("translate", tiny_bundle, text, "--no-keep", "--keep", "a")
    assert "--keep and --no-keep contradict each other" in str(error)


def test_a_word_that_is_longer_than_any_is_copied_and_told(tiny_bundle: Path) -> None:
    given = f"the cat\n{'a' * 48_000}\n"
    result = call("translate", tiny_bundle, "--beam", "1", "--threads", "1", given=given)
    assert result.stdout.splitlines()[1] == "a" * 48_000
    assert "words longer than 1,000 characters, which were copied: 1" in result.stderr
