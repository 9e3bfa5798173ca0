"""An output that was interrupted: what is done is kept, and gone on with to the same bytes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import jaxtyping
import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.cli.output.resuming import record_of
from jumok.data.files.atomic import partial_of
from jumok.errors import ConfigError, DataError

FAST = ("--beam", "2", "--maximum-length", "4", "--threads", "1", "--batch", "2")
LETTERS = str.maketrans("0123456789", "abcdefghij")
WORDS = ("the cat", "the dog sat on the mat", "I am", "a student", "barked", "")
# Lists of 16 x 2 lines: almost five. Numbers in letters, since digits would be kept.
LINES = [f"{WORDS[n % 6]} {str(n).translate(LETTERS)}" for n in range(150)]


@pytest.fixture(autouse=True)
def types_are_not_executed():
    """Many lines, whose types the tests of translation execute."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.en"
    file.write_text("\n".join(LINES), "utf-8")
    return file


def command(bundle: Path, book: Path, output: Path, *more: str) -> list[str]:
    return ["translate", str(bundle), str(book), "--output", str(output), *FAST, *more]


def call(arguments: Sequence[str], check: bool = True):
    result = CliRunner().invoke(app, list(arguments))
    assert not check or result.exit_code == 0, result.output
    return result


def stop(arguments: Sequence[str], part: Path, by: signal.Signals) -> subprocess.Popen[str]:
    """A process of its own, stopped when it has kept something."""
    # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "jumok", *arguments], stderr=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGINT, before)
    until = time.monotonic() + 120.0
    while not (part.exists() and record_of(part).exists()):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < until
        time.sleep(0.002)
    process.send_signal(by)
    return process


@pytest.mark.parametrize("more", [(), ("--nbest", "2", "--scores"), ("--sample", "--seed", "3")])
def test_a_killed_translation_goes_on_to_the_same_bytes(tiny_bundle, book, tmp_path, more):
    whole, out = tmp_path / "whole", tmp_path / "out"
    call(command(tiny_bundle, book, whole, *more))
    stop(command(tiny_bundle, book, out, *more), tmp_path / "out.part", signal.SIGKILL).wait(60.0)
    assert not out.exists()
    part = tmp_path / "out.part"
    assert part.exists()
    with part.open("a") as stream:  # a write that the crash tore
        stream.write("half a li")
    call(command(tiny_bundle, book, out, *more, "--resume"))
    assert out.read_bytes() == whole.read_bytes()
    assert {each.name for each in tmp_path.iterdir()} == {"book.en", "out", "whole"}


def test_ctrl_c_says_how_to_go_on(tiny_bundle, book, tmp_path):
    out = tmp_path / "out"
    process = stop(command(tiny_bundle, book, out), tmp_path / "out.part", signal.SIGINT)
    _, said = process.communicate(timeout=60.0)
    assert process.returncode == 130
    assert "which are kept in" in said
    assert said.rstrip().endswith("--batch 2 --resume")
    assert "Traceback" not in said


@pytest.fixture
def broken(tiny_bundle, book, tmp_path):
    """A translation that stopped at a line it could not read, and the text as it was meant."""
    whole = book.read_bytes()
    book.write_bytes(b"\n".join([*whole.split(b"\n")[:100], b"b\xffd"]))
    out = tmp_path / "out"
    result = call(command(tiny_bundle, book, out), check=False)
    assert isinstance(result.exception, DataError)
    assert "stopped after 96 lines" in result.stderr
    book.write_bytes(whole)
    return out


def test_after_a_bad_line_is_mended_the_rest_is_translated(tiny_bundle, book, tmp_path, broken):
    call(command(tiny_bundle, book, broken, "--resume"))
    call(command(tiny_bundle, book, tmp_path / "whole"))
    assert broken.read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_is_done_is_not_overwritten_by_accident(tiny_bundle, book, tmp_path, broken):
    kept = (tmp_path / "out.part").read_bytes()
    error = call(command(tiny_bundle, book, broken), check=False).exception
    assert isinstance(error, ConfigError)
    assert "out.part holds 96 lines of an interrupted command" in str(error)
    assert "add --resume to continue it, or start again: rm " in str(error)
    assert (tmp_path / "out.part").read_bytes() == kept


def refusal(arguments: Sequence[str]) -> str:
    error = call([*arguments, "--resume"], check=False).exception
    assert isinstance(error, ConfigError | DataError)
    return str(error)


def test_only_the_same_command_goes_on(tiny_bundle, book, tmp_path, broken):
    other = [*command(tiny_bundle, book, broken), "--beam", "3"]
    assert "beam was 2, is 3" in refusal(other)
    changed = tmp_path / "changed"
    changed.mkdir()
    for each in tiny_bundle.iterdir():
        (changed / each.name).write_bytes(each.read_bytes())
    with (changed / "card.json").open("a") as stream:
        stream.write(" ")
    assert "model 1 was " in refusal(command(changed, book, broken))
    book.write_text("other\n" + "\n".join(LINES[1:]), "utf-8")
    said = refusal(command(tiny_bundle, book, broken))
    assert "the input has changed: its first 96 lines differ" in said
    assert (tmp_path / "out.part").exists()
    book.write_text("\n".join(LINES[:50]), "utf-8")
    assert "its first 96 lines differ" in refusal(command(tiny_bundle, book, broken))


def test_an_output_that_was_cut_is_not_gone_on_with(tiny_bundle, book, tmp_path, broken):
    part = tmp_path / "out.part"
    part.write_bytes(part.read_bytes()[:-1])
    assert "the output is shorter than its record says" in refusal(
        command(tiny_bundle, book, broken)
    )


def test_of_several_files_the_interrupted_one_is_continued(tiny_bundle, book, tmp_path):
    folder, out = tmp_path / "texts", tmp_path / "translated"
    folder.mkdir()
    (folder / "a.txt").write_text("the cat\n", "utf-8")
    book.rename(folder / "book.en")
    (folder / "page.md").write_text("# The cat\n", "utf-8")
    arguments = ["translate", str(tiny_bundle), str(folder), *FAST, "--output"]
    call([*arguments, str(tmp_path / "whole")])
    error = call([*arguments, str(tmp_path / "whole"), "--resume"], check=False).exception
    assert "there is nothing to resume" in str(error)
    out.mkdir()
    stop([*arguments, str(out)], out / "book.en.part", signal.SIGKILL).wait(60.0)
    assert {each.name for each in out.iterdir()} == {"a.txt", "book.en.part", "book.en.part.json"}
    killed = out / f".page.md.writing-{partial_of(out / 'page.md').name.split('-')[-2]}-999999999"
    killed.write_text("half", "utf-8")
    error = call([*arguments, str(out)], check=False).exception
    assert "add --resume to continue it" in str(error)
    call([*arguments, str(out), "--resume"])
    found, whole = (
        {each.name: each.read_bytes() for each in at.iterdir()} for at in (out, tmp_path / "whole")
    )
    assert found == whole


def test_a_record_without_its_output_is_of_a_finished_command(tiny_bundle, book, tmp_path, broken):
    """A kill between the last two steps leaves it."""
    (tmp_path / "out.part").rename(tmp_path / "out")
    call(command(tiny_bundle, book, broken))
    call(command(tiny_bundle, book, tmp_path / "whole"))
    assert broken.read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "out.part.json").exists()


def test_nothing_to_go_on_with_is_said(tiny_bundle, book, tmp_path):
    out = tmp_path / "out"
    assert "there is nothing to resume" in refusal(command(tiny_bundle, book, out))
    error = call(["translate", str(tiny_bundle), str(book), "--resume"], check=False).exception
    assert "--resume needs an output file" in str(error)
    (tmp_path / "out.part").write_text("of nobody", "utf-8")
    (tmp_path / "out.part.json").write_text('{"format": 1, "lines": []}', "utf-8")
    assert "there is nothing to resume" in refusal(command(tiny_bundle, book, out))


def test_two_processes_do_not_write_one_output(tiny_bundle, book, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    part = tmp_path / "out.part"
    with part.open("w") as held:
        fcntl.flock(held.fileno(), fcntl.LOCK_EX)
        error = call(command(tiny_bundle, book, tmp_path / "out"), check=False).exception
    assert "another process is writing this output" in str(error)


def test_a_named_pipe_is_written_to_and_stays(tiny_bundle, book, tmp_path):
    """So does /dev/null, which no test should risk."""
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: found.append(pipe.read_text("utf-8")), daemon=True)
    reader.start()
    call(command(tiny_bundle, book, pipe))
    reader.join(60.0)
    assert found[0].count("\n") == len(LINES)
    assert pipe.is_fifo()


@pytest.mark.parametrize("output", [("-o", "out"), ()])
def test_a_file_that_may_not_grow_is_an_error_without_a_traceback(tiny_bundle, tmp_path, output):
    resource = pytest.importorskip("resource")
    (tmp_path / "in").write_text("the cat sat on the mat\n" * 300)
    most = ["--beam", "1", "--maximum-length", "3"]
    with (tmp_path / "stdout").open("wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "jumok", "translate", tiny_bundle, "in", *most, *output],
            cwd=tmp_path,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)),
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert b"the output cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_link_stays_and_its_file_is_translated(tiny_bundle, book, tmp_path):
    link, whole = tmp_path / "link", tmp_path / "far" / "whole"
    whole.parent.mkdir()
    link.symlink_to(whole)
    call(command(tiny_bundle, book, link))
    assert link.is_symlink()
    assert whole.read_text("utf-8").count("\n") == len(LINES)
    assert list(whole.parent.iterdir()) == [whole]
