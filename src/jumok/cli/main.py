"""The command `jumok`. Starting imports neither torch nor sacreBLEU."""

import atexit
import errno
import gc
import io
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from jumok.cli.language import faults_in_korean, help_in_korean, said, table, translate_texts
from jumok.cli.late_verbs import LateGroup, LateVerb
from jumok.environment import LANGUAGES, Language, language, threads
from jumok.errors import JumokError, Location
from jumok.plugins import load_plugin

TEACH = "Train attention models, look inside them, and ship them."

# At the end, where a terminal of 24 lines still shows it; blank lines separate its paragraphs.
FIRST_STEPS = """[bold]First steps[/bold]

jumok demo [dim]- train and inspect a small translator in five minutes[/dim]

jumok train --source a.en --target a.ko [dim]- train on two text files[/dim]

echo "I am a student." | jumok translate runs/a/model

jumok look runs/a/model "I am a student." [dim]- see what it attended to[/dim]

Help for each command: jumok translate --help"""

MAKE, USE, JUDGE, INSIDE = "Train a model", "Use a model", "Evaluate a model", "Look inside"


class Verbs(LateGroup):
    """The commands of jumok."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help in the reader's language."""
        if language() != "ko":
            super().format_help(ctx, formatter)
            return
        root = table()["root"]
        self.help, self.epilog = root["about"], root["first_steps"]
        translate_texts(self, "")
        help_in_korean(self, ctx, formatter, super().format_help)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the words before the command."""
        _take_language(args)
        with faults_in_korean(self):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> object:
        """Runs the command that the words name."""
        with faults_in_korean(self):
            return super().invoke(ctx)

    verbs: ClassVar[Mapping[str, LateVerb]] = {
        "demo": LateVerb("jumok.cli.verbs.demo:demo", MAKE),
        "train": LateVerb("jumok.cli.verbs.train:train", MAKE),
        "prepare": LateVerb("jumok.cli.verbs.scale.prepare:prepare", MAKE),
        "plan": LateVerb("jumok.cli.verbs.scale.plan:plan", MAKE),
        "sweep": LateVerb("jumok.cli.verbs.scale.sweep:sweep", MAKE),
        "smallworld": LateVerb("jumok.cli.verbs.smallworld:smallworld", MAKE),
        "import": LateVerb("jumok.cli.verbs.import_:import_", MAKE),
        "translate": LateVerb("jumok.cli.verbs.translate:translate", USE),
        "caption": LateVerb("jumok.cli.verbs.caption:caption", USE),
        "classify": LateVerb("jumok.cli.verbs.classify:classify", USE),
        "embed": LateVerb("jumok.cli.verbs.embed:embed", USE),
        "generate": LateVerb("jumok.cli.verbs.generate:generate", USE),
        "fill": LateVerb("jumok.cli.verbs.fill:fill", USE),
        "serve": LateVerb("jumok.cli.verbs.ship.serve:serve", USE),
        "export": LateVerb("jumok.cli.verbs.ship.export:export", USE),
        "doctor": LateVerb("jumok.cli.verbs.doctor:doctor", USE),
        "quantize": LateVerb("jumok.cli.verbs.ship.quantize:quantize", USE),
        "pack": LateVerb("jumok.cli.verbs.ship.pack:pack", USE),
        "unpack": LateVerb("jumok.cli.verbs.ship.pack:unpack", USE),
        "evaluate": LateVerb("jumok.cli.verbs.evaluate:evaluate", JUDGE),
        "score": LateVerb("jumok.cli.verbs.score:score", JUDGE),
        "info": LateVerb("jumok.cli.verbs.info:info", JUDGE),
        "plot": LateVerb("jumok.cli.verbs.plot:plot", JUDGE),
        "look": LateVerb("jumok.cli.verbs.inside.look:look", INSIDE),
        "explain": LateVerb("jumok.cli.verbs.inside.explain:explain", INSIDE),
        "align": LateVerb("jumok.cli.verbs.inside.align:align", INSIDE),
        "heads": LateVerb("jumok.cli.verbs.inside.heads:heads", INSIDE),
        "recipes": LateVerb("jumok.cli.verbs.recipes:recipes", MAKE),
    }


app = typer.Typer(
    name="jumok",
    cls=Verbs,
    help=TEACH,
    epilog=FIRST_STEPS,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your quota of the disk is used up",
    errno.EFBIG: "it is larger than a file may be here (ulimit -f)",
}

# The messages of torch when there is no memory left, on a CPU and on a GPU.
OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory")


def _say_version(wanted: bool) -> bool:
    if wanted:
        from importlib import metadata

        typer.echo(f"jumok {metadata.version('jumok')}")
        raise typer.Exit
    return wanted


def _take_language(words: list[str]) -> None:
    """Takes --lang from the words before the command, so that faults in them are in it, too."""
    left = iter(words)
    for word in left:
        option, equals, value = word.partition("=")
        if option in ("--lang", "--plugin") and not equals:
            value = next(left, "")
        if option == "--lang" and value in LANGUAGES:
            os.environ["JUMOK_LANG"] = value  # the commands are imported later, and read it there
        if not option.startswith("-"):
            return


@app.callback()
def jumok(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_say_version
        ),
    ] = False,
    lang: Annotated[
        Language | None,
        typer.Option(help="Language of help and errors (default: the system's language)."),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            envvar="JUMOK_PLUGINS",
            help="Python file that registers parts of your own. Repeatable.",
        ),
    ] = None,
) -> None:
    """Loads the plugins; --version and --lang have been handled."""
    del show_version, lang
    for file in plugin or ():
        load_plugin(file)


def run() -> None:
    """The entry point; an error that the user can fix has no traceback, and exit code 2."""
    # pydantic looks for plugins in the metadata of all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Python ends by looking for garbage in all that was imported, which takes a fifth of a short
    # command's time.
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows "?"
            stream.reconfigure(errors="replace")
    try:
        if cores := threads():  # PyTorch reads it when it is imported
            os.environ["OMP_NUM_THREADS"] = str(cores)
        app(prog_name="jumok")
    except JumokError as error:
        typer.echo(said(error), err=True)
        sys.exit(error.exit_code)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        short = JumokError(
            "there is not enough memory.",
            got=str(error),
            do="take a smaller --batch or --beam, or a smaller model",
        )
        typer.echo(said(short), err=True)
        sys.exit(JumokError.exit_code)
    except OSError as error:
        if error.errno not in NO_ROOM:
            if error.filename is None:
                raise
            # The system refused a file that the user named; a traceback would not help.
            refused = JumokError(str(error.strerror), place=Location(str(error.filename)))
            typer.echo(said(refused), err=True)
            sys.exit(JumokError.exit_code)
        full = JumokError(f"the output cannot be written: {NO_ROOM[error.errno]}.")
        typer.echo(said(full), err=True)
        os._exit(JumokError.exit_code)  # flushing at exit would fail again
