"""The lock of a run's folder: one process trains in it at a time.

It belongs to the operating system, so it ends with its process. The file next to it names the
holder, for the error message.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from platform import node

from filelock import FileLock, Timeout

from jumok.data.files.atomic import write_durably
from jumok.errors import ConfigError, Location

LOCK, HOLDER = ".lock", ".lock.json"
# How long the holder is waited for to say who it is, in seconds.
HOLDER_PATIENCE = 2.0


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A context that only one process and one thread can enter for this folder.

    Raises:
        ConfigError: another process holds it; the text says which, on which machine, since when.
        OSError: the lock cannot be written.
    """
    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(
            "another process is training in this folder.",
            got=_holder(folder),
            do="wait until it has ended, stop it, or start another run: --name OTHER",
            place=Location(folder),
        ) from None
    try:
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        holder = {"process": os.getpid(), "machine": node(), "since": since}
        write_durably(folder / HOLDER, json.dumps(holder).encode())
        yield
    finally:
        with suppress(OSError):
            (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def refuse_several_processes(variables: Mapping[str, str]) -> None:
    """Raises a ConfigError if WORLD_SIZE is more than 1 in the environment `variables`."""
    processes = variables.get("WORLD_SIZE", "1")
    if processes.isdecimal() and int(processes) > 1:
        raise ConfigError(
            "the demo runs in one process.",
            got=f"WORLD_SIZE={processes} in the environment, as torchrun sets it",
            do="start it by itself, or unset WORLD_SIZE; several processes: jumok train",
        )


def _holder(folder: Path) -> str:
    # A process holds the lock a moment before it has written who it is.
    deadline = time.monotonic() + HOLDER_PATIENCE
    while True:
        try:
            holder = json.loads((folder / HOLDER).read_text("utf-8"))
            return f"process {holder['process']} on {holder['machine']}, since {holder['since']}"
        except (OSError, ValueError, LookupError, TypeError):
            if time.monotonic() > deadline:
                return "a process that is still starting"
            time.sleep(0.05)
