"""Commands, run in this process."""

import subprocess
import sys

from typer.testing import CliRunner, Result

from jumok.cli.main import app
from jumok.errors import JumokError

# A translator that is trained in a second.
SMALL = [
    *("--set", "training.steps=2", "--set", "validation.every=2", "--set", "training.threads=1"),
    *("--set", "validation.decode_pairs=2", "--set", "training.precision=fp32"),
    *("--set", "training.schedule.warmup=1", "--set", "model.encoder_layers=1"),
    *("--set", "model.decoder_layers=1", "--set", "model.dim=16", "--set", "model.heads=2"),
    *("--set", "validation.metric=loss"),
]


def call(*arguments: object, given: bytes | str = "") -> Result:
    """The result of `jumok ARGUMENTS`; `given` is its standard input."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def fault(*arguments: object, given: bytes | str = "") -> JumokError:
    error = call(*arguments, given=given).exception
    assert isinstance(error, JumokError), error
    return error


WATCHED = """
import atexit, sys
names = set(sys.argv.pop(1).split(","))
atexit.register(lambda: print(*sorted(names & set(sys.modules)), file=sys.stderr))
from jumok.cli.main import run
run()
"""


def python(
    code: str, *arguments: object, check: bool = True, **more: object
) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check, **more)


def imported(names: set[str], *arguments: object) -> tuple[list[str], set[str]]:
    """The lines that a real `jumok ARGUMENTS` prints, and which of the modules it imports."""
    done = python(WATCHED, ",".join(names), *arguments)
    return done.stdout.splitlines(), set(done.stderr.split("\n")[-2].split())
