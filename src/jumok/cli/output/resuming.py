"""Output that can be resumed: FILE.part has the finished lines, FILE.part.json their number."""

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import typer

from jumok.cli.output.streams import STANDARD, open_output
from jumok.data.files.atomic import atomic_file, behind_links, is_direct, put_in_place
from jumok.errors import ConfigError, DataError, Location

RECORD_FORMAT = 1


@dataclass(frozen=True)
class Done:
    """The progress of an output.

    Attributes:
        command: what it depends on: models, options, version.
        lines: finished lines of the input.
        digest: SHA-256 of them.
        bytes: the length of their output.
    """

    command: Mapping[str, str]
    lines: int = 0
    digest: str = ""
    bytes: int = 0


class Steps:
    """The output of a command, which records the finished lines of the input.

    Attributes:
        done: the progress, including that of the interrupted command.
    """

    def __init__(self, stream: IO[str], done: Done, part: Path | None) -> None:
        self.done = done
        self._stream, self._part = stream, part
        self._digest = hashlib.sha256()

    def write(self, text: str) -> None:
        self._stream.write(text)

    def skip(self, lines: Iterator[str]) -> None:
        """Skips the finished lines of the input.

        Raises:
            ConfigError: the finished lines were other lines.
        """
        for _ in range(self.done.lines):
            line = next(lines, None)
            if line is not None:
                self._count([line])
        if self.done.lines and self._digest.hexdigest() != self.done.digest:
            raise ConfigError(
                f"the input has changed: its first {self.done.lines:,} lines differ from those of "
                "the interrupted command.",
                do=_begin_anew(self._part),
            )

    def settle(self, lines: Sequence[str]) -> None:
        """Records these lines as finished, and flushes the output."""
        self._stream.flush()
        self._count(lines)
        if self._part is None:
            return
        os.fsync(self._stream.fileno())
        self.done = replace(
            self.done,
            lines=self.done.lines + len(lines),
            digest=self._digest.hexdigest(),
            bytes=os.fstat(self._stream.fileno()).st_size,
        )
        _write_record(self._part, self.done)

    def _count(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._digest.update(line.encode("utf-8", "surrogatepass") + b"\n")


@contextmanager
def open_steps(file: Path | None, command: Mapping[str, str], resume: bool) -> Iterator[Steps]:
    """Opens standard output, or a file that appears when it is complete and can be resumed.

    Args:
        command: what the output depends on besides its input.

    Raises:
        ConfigError: nothing to resume, or of another command; or something, without `resume`.
        DataError: the output cannot be written.
    """
    if file is None or file == STANDARD or is_direct(file):
        if resume:
            raise ConfigError("--resume needs an output file.", do="add --output FILE")
        with open_output(file) as stream:
            yield Steps(stream, Done(command), None)
        return
    part = _part_of(file)
    there = part.exists()
    if resume and not there:
        raise nothing_to_resume(part)
    try:
        stream = part.open("r+" if there else "x", encoding="utf-8", errors="replace")
    except OSError as error:
        raise _cannot_write(file, error) from error
    with stream:
        _lock(stream, part)
        # Without its file, a record is of a command that was killed at its very end.
        done = _begin(stream, part, command, resume) if there else Done(command)
        steps = Steps(stream, done, part)
        try:
            yield steps
            stream.flush()
            os.fsync(stream.fileno())
        except BaseException as error:
            with suppress(OSError):  # it flushes again what cannot be written
                stream.close()
            _say_how_to_go_on(steps.done, part, error)
            if isinstance(error, KeyboardInterrupt):
                raise typer.Exit(130) from None
            if isinstance(error, OSError):
                raise _cannot_write(file, error) from error
            raise
        if _has_locks():  # while it is locked; Windows has no locks, and cannot rename an open file
            _finish(part, file)
    if not _has_locks():
        _finish(part, file)


def is_interrupted(file: Path) -> bool:
    """Whether an interrupted command left finished lines of this output."""
    part = _part_of(file)
    done = _read_record(part)
    return part.exists() and done is not None and done.lines > 0


def _part_of(file: Path) -> Path:
    whole = behind_links(file)
    return whole.with_name(f"{whole.name}.part")


def _finish(part: Path, file: Path) -> None:
    try:
        put_in_place(part, file)
    except OSError as error:
        raise _cannot_write(file, error) from error
    record_of(part).unlink(missing_ok=True)


def record_of(part: Path) -> Path:
    """The file with the progress of this partial output."""
    return part.with_name(f"{part.name}.json")


def command_of(
    parameters: Mapping[str, object], models: Sequence[Path], version: str
) -> dict[str, str]:
    """What an output depends on: options, the models' files, jumok's version."""
    facts = {"jumok": version}
    from jumok.data.store import digest

    for name, value in parameters.items():
        if isinstance(value, Path) and value.is_file():
            value = digest(value)
        facts[name] = str(value)
    for number, model in enumerate(models, start=1):
        files = sorted(each for each in model.iterdir() if each.is_file())
        known = "\n".join(f"{each.name} {digest(each)}" for each in files)
        facts[f"model {number}"] = hashlib.sha256(known.encode()).hexdigest()
    return facts


def _begin(stream: IO[str], part: Path, command: Mapping[str, str], resume: bool) -> Done:
    """The progress of the output; the stream is positioned at its end."""
    done = _read_record(part)
    if done is None or not done.lines:
        if resume:
            raise nothing_to_resume(part)
        stream.truncate(0)
        return Done(command)
    if not resume:
        raise ConfigError(
            f"{part} holds {done.lines:,} lines of an interrupted command.",
            do=f"add --resume to continue it, or {_begin_anew(part)}",
        )
    other = [
        key for key in {**done.command, **command} if done.command.get(key) != command.get(key)
    ]
    if other:
        said = "; ".join(
            f"{key} was {done.command.get(key, 'missing')}, is {command.get(key, 'missing')}"
            for key in other
        )
        raise ConfigError(
            "this is not the command that was interrupted.",
            got=said,
            do=f"give the same command, or {_begin_anew(part)}",
        )
    if os.fstat(stream.fileno()).st_size < done.bytes:
        raise DataError(
            "the output is shorter than its record says.",
            expected=f"{done.bytes:,} bytes",
            do=_begin_anew(part),
            place=Location(part),
        )
    stream.seek(done.bytes)
    stream.truncate()
    return done


def nothing_to_resume(place: Path | None) -> ConfigError:
    """That no finished lines of an interrupted command are there."""
    given = Location(place) if place else None
    return ConfigError("there is nothing to resume.", place=given, do="leave out --resume")


def _begin_anew(part: Path | None) -> str:
    if part is None:
        return "start again"
    return f"start again: rm {shlex.join([str(part), str(record_of(part))])}"


def _read_record(part: Path) -> Done | None:
    try:
        facts = json.loads(record_of(part).read_text("utf-8"))
        if facts.pop("format") != RECORD_FORMAT:
            return None
        done = Done(**facts)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    sound = isinstance(done.lines, int) and isinstance(done.bytes, int)
    return done if sound and isinstance(done.command, dict) else None


def _write_record(part: Path, done: Done) -> None:
    with atomic_file(record_of(part)) as partial:
        text = json.dumps({"format": RECORD_FORMAT, **asdict(done)}, ensure_ascii=False, indent=1)
        partial.write_text(text, encoding="utf-8")


def _has_locks() -> bool:
    return find_spec("fcntl") is not None


def _lock(stream: IO[str], part: Path) -> None:
    busy = ConfigError(
        "another process is writing this output.", place=Location(part), do="name another file"
    )
    if not _has_locks():
        return
    try:
        import fcntl

        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy from None
    except OSError:  # some network drives have no locks
        return
    try:
        same = os.path.samestat(os.fstat(stream.fileno()), part.stat())
    except OSError:
        same = False
    if not same:  # finished, and renamed, between opening and locking
        raise busy


def _say_how_to_go_on(done: Done, part: Path, error: BaseException) -> None:
    if not done.lines:
        for each in (part, record_of(part)):
            with suppress(OSError):
                each.unlink(missing_ok=True)
    elif not isinstance(error, ConfigError):  # a ConfigError says itself what to do
        again = [word for word in sys.argv[1:] if word != "--resume"]
        typer.echo(
            f"\nstopped after {done.lines:,} lines, which are kept in {part}. Continue with:\n"
            f"  {shlex.join(['jumok', *again, '--resume'])}",
            err=True,
        )


def _cannot_write(file: Path, error: OSError) -> DataError:
    return DataError(
        "the output cannot be written.", got=str(error.strerror or error), place=Location(file)
    )
