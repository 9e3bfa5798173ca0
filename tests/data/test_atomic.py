"""A folder is there whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jumok.data.files.atomic import (
    atomic_file,
    atomic_folder,
    is_direct,
    partial_of,
    put_in_place,
    sweep,
    write_durably,
)
from jumok.errors import DataError


def test_a_folder_has_its_name_when_all_is_written(tmp_path):
    folder = tmp_path / "deep" / "corpus"

    def fail() -> None:
        with atomic_folder(folder) as partial:
            (partial / "half").write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not folder.exists()
    with atomic_folder(folder) as partial:
        (partial / "whole").write_text("2")
        assert not folder.exists()
    assert [file.name for file in folder.iterdir()] == ["whole"]
    assert [each.name for each in folder.parent.iterdir()] == ["corpus"]


def test_two_that_write_the_same_folder_do_not_take_it_from_each_other(tmp_path):
    """As two processes do; the one that ends last finds the folder there, and goes."""
    folder = tmp_path / "corpus"
    with atomic_folder(folder) as first:
        (first / "whole").write_text("1")
        other = first.with_name(first.name + "-other")
        first.rename(other)  # the other process has a name of its own
        with atomic_folder(folder) as second:
            (second / "whole").write_text("2")
        other.rename(first)
    assert (folder / "whole").read_text() == "2"
    assert [each.name for each in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.process
def test_what_dead_processes_left_is_swept_and_nothing_else(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine = partial_of(tmp_path / "model")
    left = mine.with_name(mine.name.replace(f"-{os.getpid()}", f"-{dead.pid}"))
    elsewhere = mine.with_name(f".model.writing-00000000-{dead.pid}")
    for folder in (mine, left, left.with_name(f"{left.name}-139"), elsewhere):
        folder.mkdir()
        (folder / "half").write_text("1")
    left.with_name(left.name.replace("model", "tokenizer.model")).write_text("1")
    (tmp_path / "mine.writing-about").write_text("a book")
    sweep(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {
        mine.name,
        elsewhere.name,
        "mine.writing-about",
    }


def test_a_file_is_replaced_whole_or_stays(tmp_path, monkeypatch):
    file = tmp_path / "tokenizer.model"
    write_durably(file, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_durably(file, b"new")
    assert file.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["tokenizer.model"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with atomic_file(pipe) as part:
        assert part == pipe
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
    write = os.open(pipe, os.O_RDWR)  # its reader, so that writing does not wait
    write_durably(pipe, b"text")
    assert os.read(write, 9) == b"text"
    os.close(write)
    done = tmp_path / "done"
    done.write_text("text")
    with pytest.raises(FileExistsError):
        put_in_place(done, pipe)
    with pytest.raises(DataError, match="cannot be written"), atomic_file(pipe):
        raise OSError(28, "No space left on device")
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [done, pipe]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no names of open files")
def test_the_name_of_an_open_file_is_not_replaced(tmp_path):
    """/dev/stdout is such a name, and a link of the whole system."""
    with (tmp_path / "file").open("w") as stream:
        name = Path(f"/dev/fd/{stream.fileno()}")
        assert is_direct(name)
        with atomic_file(name) as part:
            assert part == name
            part.write_text("text")
    assert (tmp_path / "file").read_text() == "text"
    assert not is_direct(tmp_path / "file")


def test_a_link_stays_and_its_file_is_written(tmp_path):
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    with atomic_file(link) as part:  # the file itself is not there yet
        part.write_text("1")
    assert target.read_text() == "1"
    write_durably(link, b"2")
    assert target.read_bytes() == b"2"
    assert link.is_symlink()
    assert [each.name for each in target.parent.iterdir()] == ["file"]
