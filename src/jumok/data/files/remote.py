"""Where the files of a prepared corpus come from: a folder of this machine, or an address.

An address is a URL: s3://, gs://, http:// or whatever else fsspec reads. What is read from it is
copied into the cache, a shard at a time, some shards ahead of training. Every file is checked
against the manifest before it is used, wherever it is.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Protocol, TypeVar, runtime_checkable

from filelock import FileLock

from jumok.data.files.atomic import atomic_folder
from jumok.data.files.manifest import MANIFEST, FileRecord, Manifest, ShardRecord
from jumok.errors import DataError, MissingExtraError, Place
from jumok.late import late_imports

with late_imports("reading a corpus from an address", extra="remote"):
    import fsspec

Result = TypeVar("Result")

TRIES, PAUSE = 3, 1.0  # a server that fails is asked again after 1 and 2 seconds
DOWNLOADS = 4  # at the same time
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}


@runtime_checkable
class CorpusFiles(Protocol):
    """The files of one prepared corpus."""

    def manifest(self) -> tuple[bytes, Place]:
        """The content of manifest.json, and where it is."""
        ...

    def check(self, manifest: Manifest) -> None:
        """Raises DataError where it is known at once that a file is missing or cut."""
        ...

    def file(self, name: str, record: FileRecord) -> Path:
        """A file beside the shards, on this machine, after it was checked."""
        ...

    def shard(self, record: ShardRecord) -> Path:
        """The folder of a shard on this machine, after all of its files were checked."""
        ...

    def expect(self, records: Sequence[ShardRecord]) -> None:
        """These shards are needed soon."""
        ...


def is_address(where: str) -> bool:
    """Whether this is a URL, and no path."""
    return "://" in where


def corpus_files(where: str, cache: Path) -> CorpusFiles:
    """The files of the corpus in this folder, or at this address.

    Args:
        cache: the folder for copies.
    """
    return RemoteFiles(where, cache) if is_address(where) else LocalFiles(Path(where))


class LocalFiles:
    """Those in a folder, which are used where they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checked: set[str] = set()

    def manifest(self) -> tuple[bytes, Place]:
        place = Place(self._folder / MANIFEST)
        try:
            return (self._folder / MANIFEST).read_bytes(), place
        except OSError as error:
            raise _no_corpus(place, str(error.strerror)) from None

    def check(self, manifest: Manifest) -> None:
        check_sizes(self._folder, manifest.files)
        for shard in manifest.shards:
            check_sizes(self._folder / shard.name, shard.files)

    def file(self, name: str, record: FileRecord) -> Path:
        check_files(self._folder, {name: record})
        return self._folder / name

    def shard(self, record: ShardRecord) -> Path:
        folder = self._folder / record.name
        if record.name not in self._checked:
            check_files(folder, record.files)
            self._checked.add(record.name)
        return folder

    def expect(self, records: Sequence[ShardRecord]) -> None:
        """They are there already."""


class RemoteFiles:
    """Those at an address; processes with the same cache copy each shard once."""

    def __init__(self, address: str, cache: Path) -> None:
        self._address, self._cache = address.rstrip("/"), cache
        self._shards: dict[str, Future[Path]] = {}
        self._lock = Lock()
        self._queue: SimpleQueue[tuple[ShardRecord, Future[Path]]] = SimpleQueue()
        self._threads: list[Thread] = []

    def manifest(self) -> tuple[bytes, Place]:
        address = f"{self._address}/{MANIFEST}"
        files, path = _file_system(address)
        try:
            return _tried(lambda: bytes(files.cat_file(path)), address), Place(address)
        except FileNotFoundError:
            raise _no_corpus(Place(address), "no such file") from None

    def check(self, manifest: Manifest) -> None:
        """Nothing: asking for the size of each of thousands of files would take minutes."""

    def file(self, name: str, record: FileRecord) -> Path:
        return self._copied({name: record}, "") / name

    def shard(self, record: ShardRecord) -> Path:
        return self._started(record).result()

    def expect(self, records: Sequence[ShardRecord]) -> None:
        for record in records:
            self._started(record)

    def _started(self, record: ShardRecord) -> "Future[Path]":
        """The copy of a shard, which is being made, or was."""
        with self._lock:
            known = self._shards.get(record.name)
            if known is not None and not (known.done() and known.exception()):
                return known
            copy: Future[Path] = Future()
            self._shards[record.name] = copy
            self._queue.put((record, copy))
            if len(self._threads) < DOWNLOADS:
                # A thread of a pool would let the end of the program wait for all copies.
                self._threads.append(Thread(target=self._work, daemon=True))
                self._threads[-1].start()
            return copy

    def _work(self) -> None:
        while True:
            record, copy = self._queue.get()
            try:
                copy.set_result(self._copied(record.files, f"{record.name}/"))
            except BaseException as error:
                copy.set_exception(error)

    def _copied(self, files: Mapping[str, FileRecord], within: str) -> Path:
        """The folder in the cache with these files; its name is a digest of their content."""
        content = json.dumps({name: asdict(each) for name, each in files.items()}, sort_keys=True)
        folder = self._cache / hashlib.sha256(content.encode()).hexdigest()[:32]
        self._cache.mkdir(parents=True, exist_ok=True)
        lock = self._cache / f".{folder.name}.lock"
        with FileLock(lock, thread_local=False):
            try:
                check_files(folder, files)
            except DataError:  # it is not there yet, or the copy was damaged
                shutil.rmtree(folder, ignore_errors=True)
                self._copy(files, within, folder)
        with suppress(OSError):
            lock.unlink()
        return folder

    def _copy(self, files: Mapping[str, FileRecord], within: str, folder: Path) -> None:
        try:
            with atomic_folder(folder) as partial:
                for name, record in files.items():
                    address = f"{self._address}/{within}{name}"
                    _download(address, record, partial / name)
                    _compare(partial / name, record, Place(address))
        except OSError as error:
            raise DataError(
                "the copy of a prepared corpus cannot be written.",
                got=error.strerror,
                do="free some space: a copy takes as much as the corpus",
                place=Place(self._cache),
            ) from error


def check_sizes(folder: Path, files: Mapping[str, FileRecord]) -> None:
    """Raises DataError if a file is missing, or has another size than was written."""
    for name, record in files.items():
        _compare_size(folder / name, record, Place(folder / name))


def check_files(folder: Path, files: Mapping[str, FileRecord]) -> None:
    """Raises DataError if a file is missing, cut or changed."""
    for name, record in files.items():
        _compare(folder / name, record, Place(folder / name))


def _compare(file: Path, record: FileRecord, place: Place) -> None:
    _compare_size(file, record, place)
    try:
        found = FileRecord.of(file)
    except OSError as error:
        raise _unreadable(place, str(error.strerror)) from None
    if found != record:
        raise DataError(
            "a file of the prepared corpus has changed since it was written.",
            expected=f"SHA-256 {record.sha256}, according to {MANIFEST}",
            got=f"SHA-256 {found.sha256}",
            do="copy the corpus again as a whole, or prepare it again: jumok prepare",
            place=place,
        )


def _compare_size(file: Path, record: FileRecord, place: Place) -> None:
    try:
        size = file.stat().st_size
    except OSError:
        raise _missing(place, record) from None
    if size != record.bytes:
        raise DataError(
            "a file of the prepared corpus has another size than when it was written.",
            expected=f"{record.bytes:,} bytes, according to {MANIFEST}",
            got=f"{size:,} bytes" + (": it was cut" if size < record.bytes else ""),
            do="copy the corpus again as a whole, or prepare it again: jumok prepare",
            place=place,
        )


def _file_system(address: str) -> tuple["fsspec.AbstractFileSystem", str]:
    """What reads the address, and the path in it.

    Raises:
        DataError: nothing does.
        MissingExtraError: fsspec, or its package for such addresses, is not installed.
    """
    protocol = address.partition("://")[0]
    try:
        files, path = fsspec.url_to_fs(address)
        return files, str(path)
    except ImportError as error:
        if protocol in ("http", "https"):
            raise MissingExtraError("reading a corpus from an address", "remote") from error
        package = PACKAGES.get(protocol)
        raise DataError(
            f"reading {protocol}:// needs a package that is not installed.",
            got=str(error),
            do=f"pip install {package}" if package else "install it",
            place=Place(address),
        ) from None
    except ValueError as error:
        raise DataError(
            "the address cannot be read.",
            expected="a folder, or an address such as s3://, gs:// or https://",
            got=str(error),
            place=Place(address),
        ) from None


def _download(address: str, record: FileRecord, to: Path) -> None:
    files, path = _file_system(address)
    try:
        _tried(lambda: files.get_file(path, str(to)), address)
    except FileNotFoundError:
        raise _missing(Place(address), record) from None


def _tried(read: Callable[[], Result], address: str) -> Result:
    """What `read` returns; a server or a connection that fails is tried again.

    Raises:
        FileNotFoundError: there is no such file.
        DataError: it still fails.
    """
    for last in range(1, TRIES + 1):
        try:
            return read()
        except FileNotFoundError:
            raise
        except Exception as error:  # the clients of object stores have exceptions of their own
            if last == TRIES or isinstance(error, PermissionError):
                got = f"{type(error).__name__}: {error}"
                raise _unreadable(Place(address), got) from error
        time.sleep(PAUSE * last)
    raise AssertionError("the last try returns or raises")


def _missing(place: Place, record: FileRecord) -> DataError:
    return DataError(
        "a file of the prepared corpus is missing.",
        expected=f"{record.bytes:,} bytes, according to {MANIFEST}",
        got="no such file",
        do="copy the corpus again as a whole, or prepare it again: jumok prepare",
        place=place,
    )


def _unreadable(place: Place, got: str) -> DataError:
    return DataError(
        "a file of the prepared corpus cannot be read.",
        got=got,
        do="check the permissions and the connection, then run again; with --resume if there is "
        "a checkpoint",
        place=place,
    )


def _no_corpus(place: Place, got: str) -> DataError:
    return DataError(
        "there is no prepared corpus here.",
        expected=f"a folder with a {MANIFEST}, which is written last",
        got=got,
        do="name the folder that `jumok prepare` wrote, and let it finish",
        place=place,
    )
