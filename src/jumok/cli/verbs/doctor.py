"""`jumok doctor`: what works on this machine, why, and what to do about the rest."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from jumok.cli.options import AsOneObject
from jumok.cli.screen import console

if TYPE_CHECKING:
    from jumok.cli.diagnosis import Check

MARKS = {"ok": "ok", "note": "note", "broken": "BROKEN"}
"""The states as words: a terminal without colours shows them, too."""


def doctor(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Bundles to check for damage, or folders of other models to check for import.",
        ),
    ] = None,
    as_json: AsOneObject = False,
) -> None:
    """Check the installation, and show a remedy for each problem.

    Checks the compiled code and its origin, PyTorch, the extras, memory,
    disk, the cache, a browser and fonts. With MODEL, checks whether the
    bundle is intact, or whether the model of another program can be imported,
    and prints the reason if not. Exit code 1: a required part or a bundle is
    broken.
    """
    from jumok.cli import diagnosis

    checks = [*diagnosis.checks(), *map(diagnosis.bundle_check, models or ())]
    broken = sum(each.state == "broken" for each in checks)
    if as_json:
        facts = {"jumok": version("jumok"), "ok": not broken, "checks": [*map(asdict, checks)]}
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        _show_checks(checks, broken)
    if broken:
        raise typer.Exit(1)


def _show_checks(checks: "Sequence[Check]", broken: int) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for each in checks:
        table.add_row(MARKS[each.state], each.name, each.found)
        if each.do:
            table.add_row("", "", f"-> {each.do}")
    console().print(table)
    notes = sum(each.state == "note" for each in checks)
    verdict = f"{broken} broken" if broken else "everything needed works"
    typer.echo(f"jumok {version('jumok')}: {verdict}; notes: {notes}")
