"""How many files a command passes through: a translated line, an HTTP request, a page."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environments import OUR_COMMAND

WORKER = Path(__file__).parent / "workers" / "walk.py"
TEXT = "The cat sees two dogs."
SECONDS = 300


@dataclass(frozen=True)
class Walk:
    """
    Attributes:
        files: files of the packages in which a function was called.
        hops: calls in another file than the call before.
    """

    name: str
    files: int
    hops: int


def measured_walks(source: Path, model: Path | None, folder: Path) -> Iterator[Walk]:
    """Each walk in a process of its own, with the packages in `source`.

    Args:
        model: a translation model; None: one is trained for a few steps.
        folder: for files that are made.
    """
    model = model.resolve() if model else _trained(source, folder)
    line = folder / "line.txt"
    line.write_text(TEXT + "\n", "utf-8")
    yield _walk("translate, native engine", source, folder, "translate", model, line)
    yield _walk("look", source, folder, "look", model, TEXT, "--save", folder / "page.html")
    yield _served("POST /v1/translate", source, folder, model)


def _environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source)}


def _command(folder: Path, *arguments: str | Path) -> list[str]:
    return [sys.executable, str(WORKER), str(folder / "report.json"), *map(str, arguments)]


def _read(name: str, folder: Path) -> Walk:
    report = json.loads((folder / "report.json").read_text("utf-8"))
    return Walk(name, report["files"], report["hops"])


def _walk(name: str, source: Path, folder: Path, *arguments: str | Path) -> Walk:
    command = _command(folder, *arguments)
    subprocess.run(
        command, env=_environment(source), cwd=folder, check=True, capture_output=True,
        timeout=SECONDS,
    )  # fmt: skip
    return _read(name, folder)


def _served(name: str, source: Path, folder: Path, model: Path) -> Walk:
    """The second of two equal requests, alone."""
    command = _command(folder, "serve", model, "--port", "0")
    log = folder / "serve.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(
            command, env=_environment(source), cwd=folder, stdout=stream, stderr=stream
        )
    try:
        address = _address(log, server)
        _wait_until_ready(address)
        body = json.dumps({"text": [TEXT]}).encode()
        request = urllib.request.Request(
            f"{address}/v1/translate", body, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=SECONDS).read()
        time.sleep(1)  # what the server does after its answer belongs to the first request
        server.send_signal(signal.SIGUSR1)
        time.sleep(1)
        urllib.request.urlopen(request, timeout=SECONDS).read()
        time.sleep(1)
        server.send_signal(signal.SIGUSR2)
        time.sleep(1)
    finally:
        server.terminate()
        server.wait(SECONDS)
    return _read(name, folder)


def _address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    for _ in range(SECONDS):
        match = re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text("utf-8"))
        if match or server.poll() is not None:
            break
        time.sleep(1)
    if match is None:
        raise RuntimeError(f"the server did not start:\n{log.read_text('utf-8')}")
    return match.group()


def _wait_until_ready(address: str) -> None:
    """Until the model is loaded."""
    for _ in range(SECONDS):
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{address}/health/ready", timeout=SECONDS).read()
            return
        time.sleep(1)


def _trained(source: Path, folder: Path) -> Path:
    command = [
        *OUR_COMMAND, "train", "smallworld-en-ko", "--runs", str(folder),
        "--set", "training.steps=20", "--set", "training.minutes=0.3",
    ]  # fmt: skip
    subprocess.run(
        command, env=_environment(source), cwd=folder, check=True, capture_output=True,
        timeout=2 * SECONDS,
    )  # fmt: skip
    return folder / "smallworld-en-ko" / "model"
