"""Files and standard streams as inputs and outputs."""

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

import typer

from jumok.data.files.atomic import atomic_file, sweep
from jumok.data.files.encoding import conversion
from jumok.data.files.formats import check_text
from jumok.data.files.reading import first_bytes, in_utf8, open_bytes
from jumok.data.report import UTF8
from jumok.errors import ConfigError, DataError, Location

# The usual name for standard input, and for standard output.
STANDARD = Path("-")
LONGEST_LINE = 1 << 28


def input_lines(file: Path | None, *, plain: bool = True, encoding: str = UTF8) -> Iterator[str]:
    """The lines of a text file (also .gz and .zst) or of standard input, as they arrive.

    A line ends at LF or CR LF; a byte order mark is dropped. All other characters are kept.

    Args:
        plain: refuse markup (TMX, PO, HTML, subtitles, tables), besides files that are not text.

    Raises:
        DataError: there is no such file, or it is a folder, damaged, not text, or not UTF-8.
    """
    if file is None or file == STANDARD:
        name = Path("standard input")
        stdin = standard_input(encoding)
        check_text(name, first_bytes(stdin), plain=plain)
        yield from decoded(_lines_of(stdin), name)
    elif not (os.path.isfile(file) and file.stat().st_size == 0):  # no lines in, no lines out
        with open_bytes(file, encoding) as stream:
            check_text(file, first_bytes(stream), plain=plain)
            yield from decoded(_lines_of(stream), file)


def standard_input(encoding: str = UTF8) -> io.BufferedIOBase:
    """Its bytes; a text in this character set becomes UTF-8.

    Raises:
        ConfigError: there is no such character set.
    """
    stdin = cast("io.BufferedIOBase", sys.stdin.buffer)
    return stdin if encoding == UTF8 else in_utf8(stdin, encoding, Path("standard input"))


def _lines_of(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """The lines; one that is too long is cut, so that it can be refused."""
    return iter(lambda: stream.readline(LONGEST_LINE + 1), b"")


def decoded(lines: Iterable[bytes], name: Path) -> Iterator[str]:
    """Decodes lines of bytes as `input_lines` does; errors name the source `name`."""
    offset = 0
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise DataError(
                "the line is too long.",
                expected=f"at most {LONGEST_LINE:,} bytes",
                do="give text, one sentence per line",
                place=Location(name, number),
            )
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                "the text is not valid UTF-8.",
                got=f"byte {line[error.start]:#04x}",
                do=conversion(line),
                place=Location(name, number, offset + error.start),
            ) from None
        text = text.removesuffix("\n").removesuffix("\r")
        yield text.removeprefix("\ufeff") if number == 1 else text
        offset += len(line)


def image_files(items: Iterable[str | Path]) -> Iterator[Path]:
    """The files in the given order, and the images below each folder.

    A folder's other files are counted on stderr; hidden ones are ignored.

    Raises:
        DataError: a folder holds no image.
    """
    from jumok.data.files.images import IMAGE_SUFFIXES

    for item in map(Path, items):
        if not item.is_dir():
            yield item
            continue
        inside = sorted(path for path in item.rglob("*") if _is_plain(path, item))
        images = [path for path in inside if path.name.lower().endswith(IMAGE_SUFFIXES)]
        if not images:
            raise DataError(
                "there is no image in this folder.",
                expected=f"files that end in {', '.join(IMAGE_SUFFIXES)}",
                got=f"{len(inside):,} other files",
                place=Location(item),
            )
        if others := len(inside) - len(images):
            one = "1 file that is not an image"
            files = one if others == 1 else f"{others:,} files that are not images"
            typer.echo(f"{item}: skipped {files}", err=True)
        yield from images


def _is_plain(path: Path, folder: Path) -> bool:
    return path.is_file() and not any(
        part.startswith(".") for part in path.relative_to(folder).parts
    )


def is_typed(file: Path | None) -> bool:
    """Whether the lines are typed in a terminal."""
    return file in (None, STANDARD) and sys.stdin is not None and sys.stdin.isatty()


def check_output(output: Path | None, *inputs: Path | None) -> None:
    """Checks before the work that the output can be written.

    Raises:
        ConfigError: the output would replace an input.
        DataError: the output is a folder, has no valid name, or its folder does not exist.
    """
    if output is None or output == STANDARD:
        return
    if any(each is not None and _same(each, output) for each in inputs):
        raise ConfigError(
            "the output would replace the input.", got=str(output), do="name another file"
        )
    if not output.name or "\0" in str(output) or os.path.isdir(output):
        raise DataError(
            "the output cannot be written.",
            expected="a file's name",
            got="a folder" if os.path.isdir(output) else ascii(str(output)),
            do="name a file inside it" if os.path.isdir(output) else None,
            place=Location(ascii(str(output)) if "\0" in str(output) else output),
        )
    if not os.path.isdir(output.parent):
        raise DataError(
            "the output cannot be written.",
            got="No such file or directory",
            do=f"make it: mkdir -p {output.parent}",
            place=Location(output),
        )


def check_folder(folder: Path) -> None:
    """Makes the folder; raises DataError if a file has its name, or the name is not valid."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise DataError(
            "the folder cannot be made.",
            got=str(getattr(error, "strerror", None) or error),
            do="name another folder",
            place=Location(folder),
        ) from error


def outputs_in(folder: Path | None, items: Sequence[Path]) -> dict[Path, Path]:
    """The output of each file, and of those below each folder, hidden ones apart: its name, or its
    path from that folder, in the folder of the outputs.

    Removes what killed commands left in the folders of the outputs.

    Raises:
        ConfigError: no folder is given, it is one of the items or above one, or two outputs have
            one name.
        DataError: an item is not there, or a folder holds no file.
    """
    if folder is None or folder == STANDARD:
        raise ConfigError("several files need a folder for their outputs.", do="add -o FOLDER")
    outputs: dict[Path, Path] = {}
    for item in items:
        inside = sorted(path for path in item.rglob("*") if _is_plain(path, item))
        if item.is_dir() and not inside:
            raise DataError("there is no file in this folder.", place=Location(item))
        for file in inside or [item]:
            to = folder / (file.relative_to(item) if inside else file.name)
            if to in outputs.values() or _same(file, to) or _same(item, folder):
                raise ConfigError(
                    "an output would replace an input or another output.",
                    got=f"{file} and -o {folder}",
                    do="name another folder, or translate them apart",
                )
            outputs[file] = to
    for parent in dict.fromkeys(to.parent for to in outputs.values()):
        check_folder(parent)
        sweep(parent)
    return outputs


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # missing, or not a valid name
        return False


@contextmanager
def open_output(file: Path | None) -> Iterator[TextIO]:
    """Opens standard output, or a file that is written atomically.

    Raises:
        DataError: the file cannot be written.
    """
    if file is None or file == STANDARD:
        # Output is UTF-8, whatever the encoding of the terminal.
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()  # a closed pipe is handled here, but would be an error at exit
        return
    with atomic_file(file) as part, part.open("w", encoding="utf-8", errors="replace") as stream:
        yield stream
