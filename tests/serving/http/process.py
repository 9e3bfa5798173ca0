"""A real `jumok serve` on a free port of this machine, which a test starts and stops."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import httpx

SECONDS = 120.0
"""The time limit for a start, and for an end."""


class ServedProcess:
    """The process, and where it listens."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process, self._folder = process, folder
        self.url = self._address()

    def _address(self) -> str:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            for line in self.errors.splitlines():  # notes on the input may come first
                if line.startswith("http"):
                    return line
            time.sleep(0.02)
        raise AssertionError(
            f"the server did not start (exit code {self.process.poll()}): {self.errors}"
        )

    @property
    def errors(self) -> str:
        """What it wrote on stderr."""
        return (self._folder / "stderr").read_text("utf-8")

    @property
    def log(self) -> str:
        """What it wrote on stdout: a line of JSON for each request."""
        return (self._folder / "stdout").read_text("utf-8")

    def wait_until_ready(self) -> None:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(httpx.TransportError):  # it has ended, which the loop sees
                if httpx.get(f"{self.url}/health/ready", timeout=SECONDS).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(
            f"the server is not ready (exit code {self.process.poll()}): {self.errors}{self.log}"
        )

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=SECONDS)


@contextmanager
def serving(
    folder: Path,
    *arguments: str,
    ready: bool = True,
    module: str = "jumok",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[ServedProcess]:
    """A server with these arguments on a free port; it is killed at the end if it still runs.

    Args:
        module: what is started: "jumok", or one that takes only models.
        variables: of its environment, besides those of this process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", module, *arguments]
    if module == "jumok":
        command[3:] = ["serve", *arguments, "--port", "0"]
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            env={**os.environ, "JUMOK_CACHE": _cache(), **variables},
        )
    try:
        server = ServedProcess(process, folder)
        if ready:
            server.wait_until_ready()
        yield server
    finally:
        process.kill()
        process.wait(SECONDS)


def _cache() -> str:
    """The cache of this process, so that kernels are compiled once."""
    from jumok.environment import cache_folder

    return str(cache_folder())
