"""`jumok train` in several processes, started by torchrun or by --processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from jumok.environment import with_variables
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.training.ranks import Ranks

STEP_PATIENCE = 60.0
"""Seconds in which a process whose starter is gone ends its step and saves a checkpoint."""

GRACE = 10.0
"""Seconds after the end of one process, in which the others end by themselves."""


@contextmanager
def ranks_of(variables: Mapping[str, str]) -> Iterator["Ranks"]:
    """The processes that torchrun's environment names; only the first one prints.

    Raises:
        ConfigError: a variable is missing or wrong, or the processes do not meet.
    """
    if variables.get("JUMOK_LEASH"):
        threading.Thread(target=_end_with_the_starter, daemon=True).start()
    if variables.get("WORLD_SIZE", "1") == "1":
        from jumok.training.ranks import SINGLE_PROCESS

        yield SINGLE_PROCESS
        return
    from jumok.training.torch_ranks import process_group

    with process_group(variables) as ranks, Path(os.devnull).open("w") as nowhere:
        silent = ranks.index > 0
        with (
            redirect_stdout(nowhere) if silent else nullcontext(),
            redirect_stderr(nowhere) if silent else nullcontext(),
        ):
            yield ranks


def to_start(processes: int, variables: Mapping[str, str]) -> bool:
    """Whether this process has to start those that train.

    Raises:
        ConfigError: it is itself one of another number of processes, or a step cannot be divided
            among so many.
    """
    if processes & (processes - 1):
        raise ConfigError(
            "the examples of a step are divided among 1, 2, 4, 8, ... processes.",
            got=f"--processes {processes}",
            do=f"--processes {1 << (processes.bit_length() - 1)}",
        )
    count = variables.get("WORLD_SIZE", "1")
    if processes > 1 and count not in ("1", str(processes)):
        raise ConfigError(
            "--processes starts processes on one machine, and torchrun has started this one.",
            expected=f"--processes {count}, or none",
            got=f"--processes {processes}",
        )
    return processes > 1 and count == "1"


def in_processes(count: int, arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs jumok in so many processes, which find each other; returns the exit code.

    If one of them fails, the others are ended.
    """
    command = [sys.executable, "-m", "jumok", *arguments]
    from jumok.systems.device import cores

    common = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(count),
        "JUMOK_LEASH": "1",
        "JUMOK_THREADS": variables.get("JUMOK_THREADS") or str(max(1, cores() // count)),
    }
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        for each in running:
            each.send_signal(number)

    def leave(number: int, frame: FrameType | None) -> None:
        """Ctrl-C reaches all processes of the terminal by itself."""

    # Handlers, which the others do not inherit: they would inherit that a signal is ignored.
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, leave),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
    }
    try:
        for rank in range(count):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            variables_of_rank = with_variables({**common, **own})
            # Nothing is ever written to their input: it ends when this process does.
            running.append(subprocess.Popen(command, env=variables_of_rank, stdin=subprocess.PIPE))
        return _wait(running)
    finally:
        for each in running:
            each.kill()
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with_the_starter() -> None:
    """Ends this process when its starter is gone, even by SIGKILL."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STEP_PATIENCE)
    os._exit(128 + signal.SIGTERM)


def _wait(running: Sequence[subprocess.Popen[bytes]]) -> int:
    """The exit code of the first process that failed; 0: none did."""
    failed, until = 0, float("inf")
    while any(each.poll() is None for each in running) and time.monotonic() < until:
        time.sleep(0.05)
        codes = [each.poll() for each in running]
        if not failed and any(codes):
            rank = next(rank for rank, code in enumerate(codes) if code)
            failed = codes[rank] or 0
            until = time.monotonic() + GRACE
            if failed < 0:
                name = signal.Signals(-failed).name
                text = f"process {rank} of {len(running)} was ended by {name}"
                hint = "; there may not have been enough memory" if name == "SIGKILL" else ""
                typer.echo(f"{text}{hint}. Continue with --resume.", err=True)
    return 128 - failed if failed < 0 else failed


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
