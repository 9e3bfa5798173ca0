"""The files of a prepared corpus, in a folder or at an address.

An address is a URL that fsspec reads: s3://, gs://, http://, ... Its files are copied into the
cache, some shards ahead of training. Every file is checked against the manifest.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from filelock import FileLock

from jumok.data.files.atomic import atomic_file, force_to_disk
from jumok.data.files.manifest import MANIFEST, FileRecord, Manifest, ShardRecord
from jumok.errors import DataError, Location, MissingExtraError, optional_import

if TYPE_CHECKING:
    import fsspec


Read = TypeVar("Read")

TRIES, PAUSE = 3, 1.0  # a server that fails is asked again after 1 and 2 seconds
DOWNLOADS = 4  # at the same time
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}


@runtime_checkable
class CorpusFiles(Protocol):
    """The files of one prepared corpus."""

    def manifest(self) -> tuple[bytes, Location]:
        """The content of manifest.json, and its path or address."""
        ...

    def check(self, manifest: Manifest) -> None:
        """Raises DataError where it is known at once that a file is missing or cut."""
        ...

    def file(self, name: str, record: FileRecord) -> Path:
        """A file on this machine, checked."""
        ...

    def expect(self, records: Sequence[ShardRecord]) -> None:
        """These shards are needed soon."""
        ...


def corpus_files(where: str, cache: Path) -> CorpusFiles:
    """The files of the corpus in this folder, or at this address; copies go into the cache."""
    return RemoteFiles(where, cache) if "://" in where else LocalFiles(Path(where))


class LocalFiles:
    """Those in a folder, which are used where they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checked: set[str] = set()

    def manifest(self) -> tuple[bytes, Location]:
        place = Location(self._folder / MANIFEST)
        try:
            return (self._folder / MANIFEST).read_bytes(), place
        except OSError as error:
            raise _no_corpus(place, str(error.strerror)) from None

    def check(self, manifest: Manifest) -> None:
        for name, record in manifest.files.items():
            _compare_size(self._folder / name, record)
        for shard in manifest.shards:
            _compare_size(self._folder / shard.name, shard.file)

    def file(self, name: str, record: FileRecord) -> Path:
        if name not in self._checked:
            _compare(self._folder / name, record)
            self._checked.add(name)
        return self._folder / name

    def expect(self, records: Sequence[ShardRecord]) -> None:
        """They are there already."""


class RemoteFiles:
    """Those at an address; processes with the same cache copy each file once."""

    def __init__(self, address: str, cache: Path) -> None:
        self._address, self._cache = address.rstrip("/"), cache
        self._copies: dict[str, Future[Path]] = {}
        self._lock = Lock()
        self._queue: SimpleQueue[tuple[str, FileRecord, Future[Path]]] = SimpleQueue()
        self._threads: list[Thread] = []

    def manifest(self) -> tuple[bytes, Location]:
        address = f"{self._address}/{MANIFEST}"
        files, path = _file_system(address)
        try:
            return _tried(lambda: bytes(files.cat_file(path)), address), Location(address)
        except FileNotFoundError:
            raise _no_corpus(Location(address), "no such file") from None

    def check(self, manifest: Manifest) -> None:
        """Nothing: asking for the size of each of thousands of files would take minutes."""

    def file(self, name: str, record: FileRecord) -> Path:
        return self._started(name, record).result()

    def expect(self, records: Sequence[ShardRecord]) -> None:
        for record in records:
            self._started(record.name, record.file)

    def _started(self, name: str, record: FileRecord) -> "Future[Path]":
        """The copy of a file, which is being made, or was."""
        with self._lock:
            known = self._copies.get(name)
            if known is not None and not (known.done() and known.exception()):
                return known
            copy: Future[Path] = Future()
            self._copies[name] = copy
            self._queue.put((name, record, copy))
            if len(self._threads) < DOWNLOADS:
                # A thread of a pool would let the end of the program wait for all copies.
                self._threads.append(Thread(target=self._work, daemon=True))
                self._threads[-1].start()
            return copy

    def _work(self) -> None:
        while True:
            name, record, copy = self._queue.get()
            try:
                copy.set_result(self._copied(name, record))
            except BaseException as error:
                copy.set_exception(error)

    def _copied(self, name: str, record: FileRecord) -> Path:
        """The file in the cache, whose name there is a digest of its content."""
        self._cache.mkdir(parents=True, exist_ok=True)
        file = (self._cache / record.sha256[:32]).with_suffix(Path(name).suffix)
        lock = self._cache / f".{file.name}.lock"
        with FileLock(lock, thread_local=False):
            try:
                _compare(file, record)
            except DataError:  # it is not there yet, or the copy was damaged
                with atomic_file(file) as partial:
                    _download(f"{self._address}/{name}", record, partial)
                    force_to_disk(partial)
        with suppress(OSError):
            lock.unlink()
        return file


def _compare(file: Path, record: FileRecord, place: Location | None = None) -> None:
    """Raises DataError if a file is missing, cut or changed; its place is `place`, if given."""
    place = place or Location(file)
    _compare_size(file, record, place)
    try:
        read = FileRecord.of(file)
    except OSError as error:
        raise _unreadable(place, str(error.strerror)) from None
    if read != record:
        raise DataError(
            "a file of the prepared corpus has changed since it was written.",
            expected=f"SHA-256 {record.sha256}, according to {MANIFEST}",
            got=f"SHA-256 {read.sha256}",
            do="copy the corpus again as a whole, or prepare it again: jumok prepare",
            place=place,
        )


def _compare_size(file: Path, record: FileRecord, place: Location | None = None) -> None:
    """Raises DataError if a file is missing, or has another size than was written."""
    place = place or Location(file)
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
    """What reads the address, and the path in it."""
    protocol = address.partition("://")[0]
    try:
        with optional_import("reading a corpus from an address", extra="remote"):
            import fsspec
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
            place=Location(address),
        ) from None
    except ValueError as error:
        raise DataError(
            "the address cannot be read.",
            expected="a folder, or an address such as s3://, gs:// or https://",
            got=str(error),
            place=Location(address),
        ) from None


def _download(address: str, record: FileRecord, to: Path) -> None:
    files, path = _file_system(address)
    try:
        _tried(lambda: files.get_file(path, str(to)), address)
    except FileNotFoundError:
        raise _missing(Location(address), record) from None
    _compare(to, record, Location(address))


def _tried(read: Callable[[], Read], address: str) -> Read:
    """What `read` returns; a server or a connection that fails is tried again."""
    for last in range(1, TRIES + 1):
        try:
            return read()
        except FileNotFoundError:
            raise
        except Exception as error:  # the clients of object stores have exceptions of their own
            if last == TRIES or isinstance(error, PermissionError):
                got = f"{type(error).__name__}: {error}"
                raise _unreadable(Location(address), got) from error
        time.sleep(PAUSE * last)
    raise AssertionError("the last try returns or raises")


def _missing(place: Location, record: FileRecord) -> DataError:
    return DataError(
        "a file of the prepared corpus is missing.",
        expected=f"{record.bytes:,} bytes, according to {MANIFEST}",
        got="no such file",
        do="copy the corpus again as a whole, or prepare it again: jumok prepare",
        place=place,
    )


def _unreadable(place: Location, got: str) -> DataError:
    return DataError(
        "a file of the prepared corpus cannot be read.",
        got=got,
        do="check the permissions and the connection, then run again; with --resume if there is "
        "a checkpoint",
        place=place,
    )


def _no_corpus(place: Location, got: str) -> DataError:
    return DataError(
        "there is no prepared corpus here.",
        expected=f"a folder with a {MANIFEST}, which is written last",
        got=got,
        do="name the folder that `jumok prepare` wrote, and let it finish",
        place=place,
    )
