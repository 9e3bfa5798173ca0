"""Lines that come in pieces and pauses, and a real process that is talked to line by line."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

import pytest

from jumok.cli.output.arriving import Arriving, ArrivingLines, arriving
from tests.systems.untrained import write_masked, write_text_classifier

JUMOK = [sys.executable, "-m", "jumok"]


def piped() -> tuple[int, Arriving]:
    read, write = os.pipe()
    return write, Arriving(read)


def test_lines_come_out_as_they_went_in_however_they_are_cut():
    write, source = piped()
    for piece in (b"one\ntw", b"o", b"\n\n\r\nfi", b"ve\x0b\rfive"):
        os.write(write, piece)
    os.close(write)
    assert list(source) == [b"one\n", b"two\n", b"\n", b"\r\n", b"five\x0b\rfive"]
    assert list(source) == []


def test_a_line_is_ready_when_its_end_is_there():
    write, source = piped()
    assert not source.is_ready(0.01)
    os.write(write, b"half")
    assert not source.is_ready(0.05)
    os.write(write, b" whole\n")
    assert source.is_ready(60.0)
    assert next(source) == b"half whole\n"
    os.close(write)
    assert source.is_ready(60.0)
    assert list(source) == []


def test_lists_end_where_the_writer_pauses():
    given = iter("abcdefg")
    pauses = iter([True, False, True, True, True, True])
    lists = ArrivingLines(given, lambda: next(pauses)).chunks(3)
    assert list(lists) == [["a", "b"], ["c", "d", "e"], ["f", "g"]]


def test_lists_of_a_file_are_full(tmp_path: Path):
    (tmp_path / "x").write_text("1\n2\n3\n4\n5\n", "utf-8")
    assert list(arriving(tmp_path / "x").chunks(2)) == [["1", "2"], ["3", "4"], ["5"]]
    assert list(arriving(tmp_path / "x", alone=True).chunks(2)) == [[c] for c in "12345"]


class Talk:
    """A process that is asked a line: its answer must come before the next line is sent."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            [*JUMOK, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self._answers: Queue[bytes] = Queue()
        self._stdout = self.process.stdout
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._stdout:
            self._answers.put(line)

    def ask(self, line: str) -> str:
        self.stdin.write(line.encode() + b"\n")
        self.stdin.flush()
        try:
            return self._answers.get(timeout=120.0).decode().removesuffix("\n")
        except Empty:
            pytest.fail(f"no answer to {line!r} while standard input stays open")

    def end(self) -> None:
        self.stdin.close()
        self.process.wait(60.0)


@pytest.fixture
def talk() -> Iterator[list[Talk]]:
    begun: list[Talk] = []
    yield begun
    for each in begun:
        each.process.kill()
        each.process.wait(60.0)


TRANSLATE = ("--beam", "2", "--maximum-length", "5", "--threads", "1")


@pytest.mark.parametrize("more", [(), ("--stream",), ("--json",)])
def test_translate_answers_each_line_before_the_next_is_sent(tiny_bundle: Path, talk, more):
    lines = ["the cat sat", "", "I am a student."]
    whole = subprocess.run(
        [*JUMOK, "translate", str(tiny_bundle), *TRANSLATE, *more],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    talk.append(Talk("translate", tiny_bundle, *TRANSLATE, *more))
    answers = [talk[0].ask(line) for line in lines]
    if not more:
        assert answers == whole
    assert len(answers) == len(whole) == 3
    talk[0].end()
    assert talk[0].process.returncode == 0


def test_samples_of_a_stream_are_those_of_its_file(tiny_bundle: Path, tmp_path: Path, talk):
    lines = ["the cat sat", "the dog barked.", "I am a student."]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines), "utf-8")
    sampled = ("--sample", "--seed", "5", "--stream", "--maximum-length", "5", "--threads", "1")
    command = [*JUMOK, "translate", str(tiny_bundle), str(file), *sampled]
    whole = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    talk.append(Talk("translate", tiny_bundle, *sampled))
    assert [talk[0].ask(line) for line in lines] == whole


def test_classify_and_fill_answer_each_line_before_the_next_is_sent(tmp_path: Path, talk):
    bundles = {
        "fill": write_masked(tmp_path / "fill"),
        "classify": write_text_classifier(tmp_path / "classify"),
    }
    for verb, bundle in bundles.items():
        talk.append(Talk(verb, bundle, "--threads", "1"))
        for line in ("the ___ sat", "no gap"):
            answer = talk[-1].ask(line)
            assert answer.startswith("the " if verb == "fill" and "___" in line else line)
