"""Open a written page in the user's browser."""

import os
import sys
import webbrowser
from pathlib import Path

import typer


def is_here() -> bool:
    """Whether a browser would open in front of the user: not over ssh, and not in CI."""
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def is_offered() -> bool:
    """Whether a browser is here and a person reads the output."""
    return sys.stdout.isatty() and is_here()


def open_page(file: Path) -> None:
    """Opens the file in a browser; reports on stderr if there is none."""
    if not (is_here() and webbrowser.open(file.absolute().as_uri())):
        typer.echo(f"note: no browser can be opened from here; open {file} yourself", err=True)
