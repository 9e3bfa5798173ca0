"""Several server processes at one address: each with its models, its queues and its thread.

The process that was started computes nothing. It opens a socket for each of the others, passes
signals on, and starts one again that died. Its own copies of the sockets stay open, so that
connections wait for the next process instead of being refused.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType

from prometheus_client.multiprocess import mark_process_dead

from jumok.environment import share_metrics
from jumok.errors import JumokError
from jumok.plugins import load_plugin
from jumok.serving.http.downloads import own_folder
from jumok.serving.http.models import Folders, Serving
from jumok.serving.http.monitoring import log
from jumok.serving.http.server import (
    EXIT_BROKEN,
    RELOAD,
    address_of,
    let_reload,
    listen,
    serve_forever,
)

MOST_RESTARTS = 5
"""ServerProcesses that died within RESTART_SECONDS, after which the server ends."""

RESTART_SECONDS = 60.0

ENDS = (signal.SIGINT, signal.SIGTERM)
"""Signals that end a server. They wait while a process starts: Python would print a traceback."""

_SPAWN = multiprocessing.get_context("spawn")


class ServerProcesses:
    """The processes of a server, until a signal ends them or too many have died."""

    def __init__(self, serving: Serving, listeners: list[socket.socket]) -> None:
        self._serving, self._listeners = serving, listeners
        self._running: dict[int, BaseProcess] = {}
        self._died: list[float] = []
        self._signals = 0
        self._code = 0

    def run(self, announce: Callable[[], None]) -> int:
        """Returns the exit code.

        Args:
            announce: called when signals are heard, before the processes start.
        """
        handlers = dict.fromkeys(ENDS, self._pass_on)
        if RELOAD is not None:
            handlers[RELOAD] = self._reload
        before = {each: signal.signal(each, handler) for each, handler in handlers.items()}
        try:
            announce()
            for place in range(len(self._listeners)):
                self._start(place)
            while self._running:
                wait([each.sentinel for each in self._running.values()], timeout=1.0)
                for place, process in list(self._running.items()):
                    if not process.is_alive():
                        self._ended(place, process)
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        return self._code

    def _start(self, place: int) -> None:
        given = self._serving, self._listeners[place]
        process = _SPAWN.Process(target=serve_process, args=given, name=f"server {place}")
        let_reload(False)
        resource_tracker.ensure_running()  # its own start would let the signals through again
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        if not self._signals:
            process.start()
            self._running[place] = process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        let_reload(True)

    def _ended(self, place: int, process: BaseProcess) -> None:
        del self._running[place]
        code = process.exitcode or 0
        if process.pid is not None:
            mark_process_dead(process.pid, str(self._serving.folders.metrics))
        if self._signals:
            self._code = self._code or max(code, 0)
            return
        log({"event": "process ended", "process": place, "code": code})
        now = time.monotonic()
        self._died = [each for each in self._died if now - each < RESTART_SECONDS] + [now]
        if code == JumokError.exit_code or len(self._died) > MOST_RESTARTS:
            self._code = code if code > 0 else EXIT_BROKEN
            self._stop(signal.SIGTERM)
        else:
            self._start(place)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._stop(signal.Signals(number))

    def _reload(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._send(signal.Signals(number))

    def _stop(self, number: signal.Signals) -> None:
        self._signals += 1
        for listener in self._listeners:  # connections must not wait for a process that ended
            listener.close()
        self._send(number)

    def _send(self, number: signal.Signals) -> None:
        for process in self._running.values():
            if process.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)


def serve_process(serving: Serving, listener: socket.socket) -> None:
    """One of the processes."""
    os.setsid()  # Ctrl-C reaches the first process alone, which passes it on
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it serves, nothing is to be finished
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for file in serving.plugins:
            load_plugin(file)
        sys.exit(serve_forever(serving.opened_again(), listener))
    except JumokError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def serve_processes(
    serving: Serving, address: tuple[str, int], count: int, announce: Callable[[str], None]
) -> int:
    """Serves the models in this process, or in several, until a signal ends it.

    Args:
        count: of processes; 1: this one.
        announce: called with the server's address when it listens.

    Returns:
        The exit code.

    Raises:
        ConfigError: the address cannot be used.
        JumokError: a model cannot be loaded.
    """
    let_reload(False)
    with own_folder() as folder:
        metrics, downloads = folder / "metrics", folder / "downloads"
        downloads.mkdir()
        if count == 1:
            listener = listen(*address)
            announce(address_of(listener))
            return serve_forever(replace(serving, folders=Folders(None, downloads)), listener)
        metrics.mkdir()
        share_metrics(metrics)
        # A socket that takes the address alone tells whether another server has it.
        first = listen(*address)
        host, port = address[0], first.getsockname()[1]
        first.close()
        listeners = [listen(host, port, shared=True) for _ in range(count)]
        server = ServerProcesses(replace(serving, folders=Folders(metrics, downloads)), listeners)
        return server.run(lambda: announce(address_of(listeners[0])))
