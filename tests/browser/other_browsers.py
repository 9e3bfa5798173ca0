"""Firefox and WebKitGTK, driven as little as opening a page and running scripts in it takes.

Both speak the commands of W3C's WebDriver: Firefox through its own socket (Marionette), WebKitGTK
through `WebKitWebDriver`. Playwright drives neither of those that Debian has.
"""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
"""`run(script, *arguments)`: what a script returns."""

START, ANSWER = 60.0, 60.0
"""Seconds until a browser listens, and until it answers."""

PROGRAMS = {"Firefox": ("firefox-esr", "firefox"), "WebKitGTK": ("WebKitWebDriver",)}
"""By the browser's name: the programs of which one has to be installed."""


def program(browser: str) -> str | None:
    """The path of the program; None: it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS[browser])), None)


@contextmanager
def opened_page(browser: str, page: Path, home: Path) -> Iterator[Run]:
    """A file in a browser of its own, which keeps its settings in `home`, an empty folder."""
    found = program(browser)
    assert found is not None
    with {"Firefox": firefox, "WebKitGTK": webkit}[browser](found, home) as (navigate, run):
        navigate(page.as_uri())
        yield run


@contextmanager
def firefox(path: str, home: Path) -> Iterator[tuple[Callable[[str], Any], Run]]:
    """`LENGTH:[0, number, command, arguments]`, answered by `[1, number, error, found]`."""
    (home / "user.js").write_text('user_pref("marionette.port", 0);\n')
    command = [path, "--headless", "--marionette", "--profile", str(home), "about:blank"]
    with ended(command):
        port = int(waited(lambda: (home / "MarionetteActivePort").read_text() or None))
        with socket.create_connection(("127.0.0.1", port), ANSWER) as wire:
            received(wire)  # the browser says first what it is
            number = 0

            def call(name: str, **arguments: object) -> Any:
                nonlocal number
                number += 1
                sent = json.dumps([0, number, name, arguments]).encode()
                wire.sendall(b"%d:%s" % (len(sent), sent))
                _, _, error, found = received(wire)
                assert error is None, error
                return found

            call("WebDriver:NewSession")
            yield (
                lambda url: call("WebDriver:Navigate", url=url),
                lambda script, *arguments: call(
                    "WebDriver:ExecuteScript", script=script, args=arguments
                )["value"],
            )
            call("Marionette:Quit", flags=["eForceQuit"])


def received(wire: socket.socket) -> Any:
    """One message of Firefox."""
    length = b""
    while not length.endswith(b":"):
        length += wire.recv(1)
    content = b""
    while len(content) < int(length[:-1]):
        content += wire.recv(int(length[:-1]) - len(content))
    return json.loads(content)


@contextmanager
def webkit(path: str, home: Path) -> Iterator[tuple[Callable[[str], Any], Run]]:
    """WebDriver over HTTP on loopback. It has no mode without a display: xvfb has to be there."""
    display = shutil.which("xvfb-run")
    assert display is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(method: str, name: str, **body: object) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{name}",
            json.dumps(body).encode() if method == "POST" else None,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return json.load(answer)["value"]

    with ended([display, "-a", path, f"--port={port}", "--host=127.0.0.1"]):
        waited(lambda: call("GET", "/status"))
        session = f"/session/{call('POST', '/session', capabilities={})['sessionId']}"
        yield (
            lambda url: call("POST", f"{session}/url", url=url),
            lambda script, *arguments: call(
                "POST", f"{session}/execute/sync", script=script, args=arguments
            ),
        )
        call("DELETE", session)


@contextmanager
def ended(command: list[str]) -> Iterator[None]:
    """A process with all that it starts, which ends with the block."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as process:
        try:
            yield
        finally:
            subprocess.run(["pkill", "-TERM", "-s", str(process.pid)], check=False)


def waited(ask: Callable[[], Any]) -> Any:
    """What is answered once the browser listens."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        try:
            if found := ask():
                return found
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the browser does not listen")
