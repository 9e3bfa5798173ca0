"""The command `jumok`: one file for each command. Starting imports neither torch nor sacreBLEU."""

import errno
import io
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.verbs.caption import caption
from jumok.cli.verbs.classify import classify
from jumok.cli.verbs.demo import demo
from jumok.cli.verbs.doctor import doctor
from jumok.cli.verbs.embed import embed
from jumok.cli.verbs.evaluate import evaluate
from jumok.cli.verbs.fill import fill
from jumok.cli.verbs.generate import generate
from jumok.cli.verbs.info import info
from jumok.cli.verbs.inside.align import align
from jumok.cli.verbs.inside.explain import explain
from jumok.cli.verbs.inside.heads import heads
from jumok.cli.verbs.inside.look import look
from jumok.cli.verbs.lab import lab
from jumok.cli.verbs.plot import plot
from jumok.cli.verbs.quantize import quantize
from jumok.cli.verbs.recipes import recipes
from jumok.cli.verbs.score import score
from jumok.cli.verbs.serve import serve
from jumok.cli.verbs.ship.export import export
from jumok.cli.verbs.smallworld import smallworld
from jumok.cli.verbs.train import train
from jumok.cli.verbs.translate import translate
from jumok.environment import threads
from jumok.errors import JumokError
from jumok.plugins import load_plugin

TEACH = "Train attention models, look inside them, and ship them."

# At the end, where a terminal of 24 lines still shows it; blank lines separate its paragraphs.
FIRST_STEPS = """[bold]First steps[/bold]

jumok demo [dim]- train and inspect a small translator in five minutes[/dim]

jumok train --source a.en --target a.ko [dim]- train on two text files[/dim]

echo "I am a student." | jumok translate runs/a/model

jumok look runs/a/model "I am a student." [dim]- see what it attended to[/dim]

Help for each command: jumok translate --help"""

app = typer.Typer(
    name="jumok",
    help=TEACH,
    epilog=FIRST_STEPS,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

MAKE, USE, JUDGE, INSIDE = "Train a model", "Use a model", "Evaluate a model", "Look inside"
LEARN = "Test the claims of the lectures"

# The messages of torch when there is no memory left, on a CPU and on a GPU.
OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory")

app.command(rich_help_panel=MAKE)(demo)
app.command(rich_help_panel=MAKE)(train)
app.add_typer(recipes, name="recipes", rich_help_panel=MAKE)
app.command(rich_help_panel=MAKE)(smallworld)
app.command(rich_help_panel=USE)(translate)
app.command(rich_help_panel=USE)(caption)
app.command(rich_help_panel=USE)(classify)
app.command(rich_help_panel=USE)(embed)
app.command(rich_help_panel=USE)(generate)
app.command(rich_help_panel=USE)(fill)
app.command(rich_help_panel=USE)(serve)
app.command(rich_help_panel=USE)(export)
app.command(rich_help_panel=USE)(doctor)
app.command(rich_help_panel=USE)(quantize)
app.command(rich_help_panel=JUDGE)(evaluate)
app.command(rich_help_panel=JUDGE)(score)
app.command(rich_help_panel=JUDGE)(info)
app.command(rich_help_panel=JUDGE)(plot)
app.command(rich_help_panel=INSIDE)(look)
app.command(rich_help_panel=INSIDE)(explain)
app.command(rich_help_panel=INSIDE)(align)
app.command(rich_help_panel=INSIDE)(heads)
app.command(rich_help_panel=LEARN)(lab)


def _say_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"jumok {version('jumok')}")
        raise typer.Exit
    return wanted


@app.callback()
def jumok(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_say_version
        ),
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="JUMOK_PLUGINS",
            help="A Python file that registers parts from outside of jumok. Repeatable.",
        ),
    ] = None,
) -> None:
    """Loads the plugins; --version has been handled by its callback."""
    del show_version
    for file in plugin or ():
        load_plugin(file)


def run() -> None:
    """The entry point; an error that the user can fix has no traceback, and exit code 2."""
    # OpenMP's threads wait for each other at every product. By default they spin, which takes four
    # times as long next to any other work; sleeping threads are as fast on an idle machine.
    # torch reads this variable when it is imported, which is later.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows "?"
            stream.reconfigure(errors="replace")
    try:
        if cores := threads():  # PyTorch reads it when it is imported
            os.environ["OMP_NUM_THREADS"] = str(cores)
        app(prog_name="jumok")
    except JumokError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        typer.echo(
            f"error: there is not enough memory.\n  got:      {error}\n"
            "  do:       take a smaller --batch or --beam, or a smaller model",
            err=True,
        )
        sys.exit(JumokError.exit_code)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            if error.filename is None:
                raise
            # The system refused a file that the user named; a traceback would not help.
            typer.echo(f"error: {error.filename}: {error.strerror}", err=True)
            sys.exit(JumokError.exit_code)
        typer.echo("error: the output cannot be written: the disk is full.", err=True)
        os._exit(JumokError.exit_code)  # flushing at exit would fail again
