import gzip
import unicodedata
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.files import reading
from jumok.data.files.reading import MENDED, read_lines
from jumok.data.report import CorpusReport
from jumok.errors import DataError, MissingExtraError


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_read_lines_ends_a_line_at_newline_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "one\r\ntwo\u2028three\x85four\rfive\n\nsix\x0b\x0cseven".encode())
    report = CorpusReport("a")
    assert list(read_lines(file, report)) == ["one", "two three four five", "", "six  seven"]
    assert report.mended[MENDED].lines == 2
    assert report.mended[MENDED].first == [2, 4]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\nb\r", ["a", "b"]),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
    ],
)
def test_read_lines_counts_lines_as_wc_does_and_a_last_one_without_end(
    tmp_path: Path, content: bytes, lines: list[str]
) -> None:
    assert list(read_lines(write(tmp_path / "a", content))) == lines


def test_read_lines_composes_hangul_of_macos(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "한국어")
    assert len(decomposed) == 8
    file = write(tmp_path / "a", f"{decomposed}\n".encode())
    assert list(read_lines(file)) == ["한국어"]


def test_read_lines_is_the_same_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{number} é한" * (number % 7) for number in range(200)]
    file = write(tmp_path / "a", "\n".join(lines).encode())
    monkeypatch.setattr(reading, "BLOCK", 11)
    assert list(read_lines(file)) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8"))))
def test_read_lines_gives_as_many_lines_as_there_are_newlines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    content = "".join(f"{line}\n" for line in lines)
    file = tmp_path_factory.mktemp("lines") / "a"
    if content:
        file.write_bytes(content.encode())
        assert len(list(read_lines(file))) == len(lines)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_read_lines_decompresses(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"line {number} 줄\n" for number in range(9973))
    compress = gzip.compress if suffix == ".gz" else zstandard.compress
    halves = compress(text[:50].encode()) + compress(text[50:].encode())  # members, frames
    file = write(tmp_path / f"a{suffix}", halves)
    assert "".join(f"{line}\n" for line in read_lines(file)) == text


def error(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [0.5, 0.01])
def test_read_lines_refuses_a_file_cut_short(tmp_path: Path, suffix: str, kept: float) -> None:
    text = "".join(f"line {number * 7919 % 104729}\n" for number in range(9973)).encode()
    content = gzip.compress(text) if suffix == ".gz" else zstandard.compress(text)
    file = write(tmp_path / f"a{suffix}", content[: int(len(content) * kept)])
    assert f"{file}: the compressed file is damaged or truncated." in error(file)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_read_lines_refuses_what_is_not_compressed(tmp_path: Path, suffix: str) -> None:
    file = write(tmp_path / f"a{suffix}", b"plain text\n")
    assert f"{file}: the compressed file is damaged or truncated." in error(file)


def test_read_lines_names_the_byte_that_is_not_utf8(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "één\ntwee\n".encode() + b"dr\xefe\n")
    message = error(file)  # 3 letters of 5 bytes and \n, 5 bytes, dr
    assert message.startswith(f"{file}, line 3, byte 13: the text is not valid UTF-8.")
    assert "byte 0xef" in message
    assert "iconv" in message


def test_read_lines_names_the_byte_in_a_later_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BLOCK", 5)
    file = write(tmp_path / "a", b"abc\n" * 7 + b"x\xff\n")
    assert "line 8, byte 29:" in error(file)


def test_read_lines_refuses_nul_and_suspects_utf16(tmp_path: Path) -> None:
    message = error(write(tmp_path / "a", b"one\ntw\0o\n"))
    assert "line 2, byte 6: the text contains a NUL byte." in message
    assert "UTF-16" in message


def test_read_lines_says_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    assert "there is no such file." in error(tmp_path / "missing")
    assert "this is a folder." in error(tmp_path)
    assert "the file is empty." in error(write(tmp_path / "empty", b""))


def test_read_lines_asks_for_the_extra_that_zstd_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[formats\]"'):
        list(read_lines(write(tmp_path / "a.zst", b"x")))
