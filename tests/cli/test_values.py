"""Values and paths that cannot be are refused before any work, with the option's name."""

import os
import sys
import threading
from itertools import cycle, islice
from pathlib import Path

import pytest

from jumok.cli.main import run
from jumok.data.files.atomic import atomic_file
from jumok.data.files.images import read_image
from jumok.decoding import DecodingOptions
from jumok.errors import ConfigError, DataError, JumokError
from jumok.systems.device import choose_device
from smallworld.corpus import distinct, pairs
from tests.cli.calls import call


def said(*arguments: str | Path) -> str:
    done = call(*arguments, given="the cat\n")
    if isinstance(done.exception, JumokError):
        return str(done.exception)
    assert done.exit_code == 2, done.exception
    return " ".join(done.stderr.split())


HUGE = str(10**20)


@pytest.mark.parametrize(
    ("verb", "option", "value"),
    [
        ("translate", "--batch", HUGE),
        ("translate", "--beam", HUGE),
        ("translate", "--beam", "0"),
        ("generate", "--min-p", "2"),
        ("generate", "--frequency-penalty", "3"),
        ("evaluate", "--length-penalty", "11"),
        ("caption", "--top-p", "1.5"),
        ("translate", "--nbest", HUGE),
        ("translate", "--maximum-length", HUGE),
        ("translate", "--no-repeat-ngram", HUGE),
        ("translate", "--top-k", HUGE),
        ("translate", "--threads", HUGE),
        ("translate", "--patience", HUGE),
        ("translate", "--maximum-ratio", HUGE),
        ("translate", "--coverage-penalty", HUGE),
        ("generate", "--samples", HUGE),
        ("generate", "--max-tokens", HUGE),
        ("fill", "--top", HUGE),
        ("embed", "--top", HUGE),
        ("smallworld", "--pairs", HUGE),
        ("smallworld", "--held-out", HUGE),
        ("smallworld", "--scenes", HUGE),
    ],
)
def test_a_number_beyond_all_need(tiny_bundle: Path, verb: str, option: str, value: str) -> None:
    assert f"Invalid value for '{option}'" in said(verb, tiny_bundle, option, value)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e308", "-1e308", "11"])
def test_a_length_penalty_that_is_none(tiny_bundle: Path, value: str) -> None:
    message = said("translate", tiny_bundle, "--length-penalty", value)
    assert "length" in message
    assert "10" in message


@pytest.mark.parametrize("option", ["--coverage-penalty", "--temperature", "--top-p"])
@pytest.mark.parametrize("value", ["nan", "-inf", "-1"])
def test_shares_that_are_none(tiny_bundle: Path, option: str, value: str) -> None:
    sample = [] if option == "--coverage-penalty" else ["--sample"]
    assert said("translate", tiny_bundle, option, value, *sample)


def test_the_largest_seed_draws_like_any_other(tiny_bundle: Path) -> None:
    largest = ["--sample", "--seed", str(2**63 - 1), "--batch", "1", "--maximum-length", "3"]
    assert call("translate", tiny_bundle, *largest, given="a\nb\nc\n").exit_code == 0


@pytest.mark.parametrize(
    ("device", "why"),
    [
        ("meta", "CPUs and on GPUs with CUDA only"),
        ("mps", "CPUs and on GPUs with CUDA only"),
        ("xla:0", "CPUs and on GPUs with CUDA only"),
        ("", "CPUs and on GPUs with CUDA only"),
        ("cpu:x", "'cpu:x': "),
    ],
)
def test_a_device_that_is_none_here(device: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_device(device)
    assert "this device cannot be used" in str(caught.value)
    assert why in str(caught.value)
    assert len(str(caught.value).splitlines()) == 4


@pytest.mark.parametrize("output", [".", "/", "..", "folder"])
def test_an_output_that_is_no_file(tiny_bundle, tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "the output cannot be written." in said("translate", tiny_bundle, "--output", output)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder"]


def test_the_longest_name_that_a_file_can_have_is_written(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 255)
    with atomic_file(file) as part:
        part.write_text("whole")
    assert file.read_text() == "whole"
    with (
        pytest.raises(DataError, match="File name too long"),
        atomic_file(tmp_path / ("a" * 256)) as part,
    ):
        part.write_text("whole")


@pytest.mark.parametrize("name", ["a" * 300, "ring", "a\0b"])
def test_inputs_that_no_file_is(tiny_bundle: Path, tmp_path: Path, name: str) -> None:
    os.symlink("ring", tmp_path / "ring")
    for verb in (["translate"], ["evaluate", "-s", "x", "-r"]):
        assert said(verb[0], tiny_bundle, *verb[1:], tmp_path / name)


def test_smallworld_beside_a_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for options in ([], ["--scenes", "3"]):
        assert "the folder cannot be made." in said("smallworld", tmp_path / "file", *options)
    assert (tmp_path / "file").read_text() == "mine"


def test_sentences_that_there_are_no_more_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smallworld.corpus.PATIENCE", 300)
    stream = distinct(cycle(islice(pairs("train", 1, 3, 16), 7)))
    found = list(islice(stream, 7))
    with pytest.raises(ConfigError) as caught:
        next(stream)
    assert "there are no more distinct sentences of these lengths" in str(caught.value)
    assert f"{len(found)} different sentences" in str(caught.value)
    monkeypatch.setattr("smallworld.corpus.split_of", lambda _: "nowhere")
    with pytest.raises(
        ConfigError, match="there are no more distinct sentences of these lengths in train"
    ):
        next(pairs("train", 1, 3, 3))


HALF = "the \udcff cat"


def test_a_glossary_may_be_a_pipe_and_a_plugin_may_not(tiny_bundle: Path, tmp_path: Path) -> None:
    pipe, text = tmp_path / "pipe", tmp_path / "text"
    os.mkfifo(pipe)
    text.write_text("cat\n")
    writer = threading.Thread(target=lambda: pipe.write_text("cat\tk\n"))
    writer.start()
    out, limit = tmp_path / "out", ("--maximum-length", "3")
    done = call("translate", tiny_bundle, text, "--glossary", pipe, *limit, "--output", out)
    writer.join()
    assert done.exit_code == 0, done.output
    assert out.read_text("utf-8") == "k\n"
    assert f"{pipe} is a pipe: jumok waits for its other end." in done.stderr
    assert "the plugin is a pipe" in said("--plugin", pipe, "translate", tiny_bundle, text)


def test_terms_that_a_document_lacks_are_named(tiny_bundle: Path, tmp_path: Path) -> None:
    page, terms = tmp_path / "page.md", tmp_path / "terms.tsv"
    page.write_text("# cat\n\nthe cat sat\n")
    terms.write_text("cat\tk\n")
    done = call("translate", tiny_bundle, page, "--glossary", terms, "--maximum-length", "5")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("# k\n")
    assert "text 2 (the cat sat): the glossary's term cat was not used" in done.stderr
    assert "text 1" not in done.stderr


def test_half_a_character_is_no_text(tiny_bundle: Path) -> None:
    for arguments in (
        ["translate", tiny_bundle, "--prefix", HALF],
        ["look", tiny_bundle, HALF, "--save", "never.html"],
        ["explain", tiny_bundle, HALF, "--row", "1"],
        ["look", tiny_bundle, "the cat", "--target", HALF, "--save", "never.html"],
    ):
        message = said(*arguments)
        assert "it contains an unpaired surrogate (half a character)" in message
        assert "\\udcff" in message


def test_a_pipe_is_said_to_be_one_and_read(tiny_bundle: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("the cat\n"))
    writer.start()
    done = call("translate", tiny_bundle, pipe, "--maximum-length", "3")
    writer.join()
    assert done.exit_code == 0
    assert done.stdout.count("\n") == 1
    assert f"{pipe} is a pipe: jumok waits for its other end." in done.stderr
    with pytest.raises(DataError, match="this is a pipe, not an image"):
        read_image(pipe)


def test_a_line_without_an_end(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jumok.cli.output.streams.LONGEST_LINE", 1000)
    assert "the line is too long" in said("translate", tiny_bundle, "/dev/zero")


def test_what_the_machine_refuses_is_no_traceback(monkeypatch, capsys):
    def fail(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "/root/x")

    monkeypatch.setattr("jumok.cli.main.app", fail)
    monkeypatch.setattr(sys, "argv", ["jumok"])
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "error: /root/x: Permission denied\n"


def test_a_folder_of_pictures_is_told_how_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"give the images in it: .*/\*"):
        read_image(tmp_path)


def test_length_penalties_of_moderate_size_rank() -> None:
    assert DecodingOptions(length_penalty=10.0).ranker.penalties(1000).max() < float("inf")
