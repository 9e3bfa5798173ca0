"""`jumok` with torch imported ahead: every command is a process of its own, forked from one.

Importing torch takes seconds of a command that is done in one; jumok itself is imported by each.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys
door = socket.socket(socket.AF_UNIX)
door.connect({door!r})
socket.send_fds(door, [json.dumps([os.getcwd(), sys.argv[1:]]).encode()], [0, 1, 2])
sys.exit(door.recv(1)[0])
"""
MOST = 1 << 16
"""Bytes of a command and its folder."""


@contextmanager
def ready() -> Iterator[Path]:
    """A folder for PATH with the program `jumok`; one command at a time."""
    with tempfile.TemporaryDirectory() as folder:  # short: the address of a socket is
        door, program = Path(folder, "door"), Path(folder, "jumok")
        program.write_text(CLIENT.format(python=sys.executable, door=str(door)), "utf-8")
        program.chmod(0o755)
        command = [sys.executable, "-m", "tests.ready", str(door)]
        root = Path(__file__).parents[1]
        with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as waiting:
            try:
                assert waiting.stdout.readline() == "ready\n"
                yield Path(folder)
            finally:
                waiting.terminate()


def wait(door: socket.socket) -> None:
    """Answers each command with its exit code; ends in the process of a command."""
    while True:
        client, _ = door.accept()
        asked, streams, *_ = socket.recv_fds(client, MOST, 3)
        child = os.fork()
        if not child:
            for place, stream in enumerate(streams):
                os.dup2(stream, place)
            folder, words = json.loads(asked)
            os.chdir(folder)
            # The old ones know whether what they had could seek.
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115
            sys.argv = ["jumok", *words]
            return
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        client.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
        client.close()


if __name__ == "__main__":
    import torch  # noqa: F401

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)
        wait(listening)
    from jumok.cli.main import run

    sys.exit(run())
