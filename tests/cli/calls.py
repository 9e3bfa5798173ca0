"""Commands, run in this process."""

from typer.testing import CliRunner, Result

from jumok.cli.main import app
from jumok.errors import JumokError


def call(*arguments: object, given: bytes | str = "") -> Result:
    """The result of `jumok ARGUMENTS`; `given` is its standard input."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def fault(*arguments: object, given: bytes | str = "") -> JumokError:
    error = call(*arguments, given=given).exception
    assert isinstance(error, JumokError), error
    return error
