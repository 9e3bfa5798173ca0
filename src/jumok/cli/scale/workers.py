"""Where the runs of a sweep are computed: processes of this machine, or a cluster of Ray."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from jumok.environment import with_variables

LEASH = "JUMOK_LEASH"
"""With it a run ends, with a checkpoint, when its input does: when what started it is gone."""


@runtime_checkable
class StartedRun(Protocol):
    """A run that was started."""

    def poll(self) -> int | None:
        """The exit code, negative: the signal that ended it; None: it is running."""
        ...

    def interrupt(self) -> None:
        """Asks it to stop with a checkpoint, as Ctrl-C does."""
        ...

    def kill(self) -> None:
        """Ends it at once."""
        ...


@runtime_checkable
class Workers(Protocol):
    """What starts runs."""

    def start(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> StartedRun:
        """Starts a command with these variables, which prints to the log."""
        ...

    def close(self) -> None:
        """Nothing more is started."""
        ...


class LocalRun:
    """A process of this machine."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def poll(self) -> int | None:
        return self._process.poll()

    def interrupt(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class LocalWorkers:
    """Processes of this machine, each in a session of its own.

    So Ctrl-C does not reach them by the terminal: a second signal would end them at once, and the
    sweep sends the first one.
    """

    def start(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> LocalRun:
        with log.open("ab") as stream:
            process = subprocess.Popen(
                list(command),
                env=with_variables({**variables, LEASH: "1"}),
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        return LocalRun(process)

    def close(self) -> None: ...
