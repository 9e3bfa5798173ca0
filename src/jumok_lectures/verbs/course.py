"""`jumok course`: the chapters of the course, their notebooks and the checks of exercises."""

from pathlib import Path
from typing import Annotated

import typer

from jumok_lectures.verbs.lang import USUAL, Lang

Number = Annotated[str, typer.Argument(metavar="NN", help="Number of the chapter, such as 00.")]
Answers = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Notebook or Python file with the answers (default: the chapter's notebook in the "
        "current folder).",
    ),
]

app = typer.Typer(rich_help_panel="Test the claims of the lectures", rich_markup_mode="rich")


@app.callback(invoke_without_command=True)
def course(context: typer.Context, lang: Lang = USUAL) -> None:
    """Learn attention in short chapters with exercises.

    Without a command, lists the chapters.

      jumok course
      jumok course open 00 --lang ko
      jumok course check 00
    """
    context.default_map = {verb: {"lang": lang} for verb in ("open", "check", "solution")}
    if context.invoked_subcommand is None:
        from jumok_lectures.course.chapters import chapters

        for chapter in chapters():
            typer.echo(chapter.title(lang))


@app.command("open")
def open_(number: Number, lang: Lang = USUAL) -> None:
    """Write the notebook of a chapter into the current folder."""
    from jumok_lectures.course.chapters import find, write_notebook

    typer.echo(write_notebook(find(number), lang, Path()))


@app.command()
def check(number: Number, file: Answers = None, lang: Lang = USUAL) -> None:
    """Check the answers to the exercises of a chapter.

    Exit code 1: an answer is wrong or missing.
    """
    from jumok_lectures.course.chapters import find
    from jumok_lectures.course.checking import check_file

    chapter = find(number)
    verdicts = check_file(chapter.number, file or Path(f"{chapter.name}.ipynb"))
    for name, verdict in verdicts.items():
        mark = "✓" if verdict.right else "✗"
        typer.echo(f"{mark} {name}: {verdict.words.of(lang)}")
    if not all(verdict.right for verdict in verdicts.values()):
        raise typer.Exit(1)


@app.command()
def solution(number: Number, lang: Lang = USUAL) -> None:
    """Print the code that solves the exercises of a chapter."""
    from jumok_lectures.course.catalog import solutions
    from jumok_lectures.course.chapters import find

    typer.echo(solutions(find(number).number, lang))
