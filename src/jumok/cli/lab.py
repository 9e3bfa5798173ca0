"""`jumok lab`: the lectures' claims as experiments."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from jumok.cli.machine import say_what_is_missing
from jumok.cli.screen import console
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.lab.catalog import Lab
    from jumok.lab.findings import Findings

Name = Annotated[str, typer.Argument(help="Which lab; without a name they are listed.")]
All = Annotated[bool, typer.Option("--all", help="Run every lab.")]
Full = Annotated[bool, typer.Option("--full", help="The long form, with 3 seeds.")]
Folder = Annotated[Path, typer.Option(help="Where pictures and figures go.")]
Page = Annotated[
    Path | None, typer.Option(help="Write a Markdown page of all labs that ran into --folder.")
]
Lang = Annotated[Literal["en", "ko"], typer.Option(help="English or Korean.", envvar="JUMOK_LANG")]
Seed = Annotated[int, typer.Option(min=0, max=2**31, help="The first seed.")]
Encoder = Annotated[
    Path | None,
    typer.Option(
        help="context, coreference: a trained encoder to read, a bundle or a BERT of Hugging "
        "Face's (config.json, model.safetensors, tokenizer.json)."
    ),
]
Threads = Annotated[int, typer.Option(min=0, max=1024, help="Cores to use; 0 takes all.")]


def lab(
    name: Name = "",
    every: All = False,
    full: Full = False,
    folder: Folder = Path("lab"),
    page: Page = None,
    lang: Lang = "en",
    seed: Seed = 1,
    encoder: Encoder = None,
    threads: Threads = 0,
) -> None:
    """Try a claim of the lectures on this machine.

    Prints a table and one sentence: does the claim hold here, and by how much.
    Leaves NAME.svg, NAME.png and NAME.json in FOLDER. Without a name: the list.

      jumok lab scale
      jumok lab alignment --lang ko
      jumok lab --all --page lab/all.md
    """
    from jumok.lab.catalog import LABS, find

    if name and every:
        raise ConfigError("one lab, or all of them?", got=f"{name} and --all", do="leave one out")
    chosen = LABS if every else (find(name),) if name else ()
    if encoder is not None and not (name and find(name).reads_encoders):
        readers = ", ".join(each.name for each in LABS if each.reads_encoders)
        raise ConfigError(
            "--encoder counts for nothing here.",
            expected=f"a lab that reads one: {readers}",
            do="leave it out, or name that lab",
        )
    if not chosen and page is None:
        show_list(LABS, lang)
    if chosen:
        say_what_is_missing()
    for one in chosen:
        _run(one, full, folder, lang, seed, encoder, threads)
    if page is not None:
        from jumok.lab.report import page as write_page

        write_page(folder, page, lang)
        typer.echo(f"{page}")


def _run(
    one: "Lab",
    full: bool,
    folder: Path,
    lang: Literal["en", "ko"],
    seed: int,
    encoder: Path | None,
    threads: int,
) -> None:
    import torch

    from jumok.lab.findings import Setting
    from jumok.lab.report import run

    if threads:
        torch.set_num_threads(threads)
    data = os.environ.get("JUMOK_DATA")
    setting = Setting(
        seeds=tuple(range(seed, seed + 3)) if full else (seed,),
        full=full,
        cache=folder / ".cache",
        data=Path(data) if data else None,
        encoder=encoder,
        say=lambda line: typer.echo(line, err=True),
    )
    screen = console()
    screen.print(f"\n{one.name}: {one.title.of(lang)}", style="bold")
    screen.print(f"{one.claim.of(lang)}\n", soft_wrap=True)
    report = run(one, setting, folder, lang)
    show(report.findings, lang)
    for line in (report.note, f"{', '.join(map(str, report.files))} ({report.seconds:.0f} s)"):
        if line is not None:
            screen.print(line, soft_wrap=True)


def show_list(labs: "tuple[Lab, ...]", lang: Literal["en", "ko"]) -> None:
    """Every lab's name, how long it takes, and what it tries."""
    grid = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(no_wrap=True, justify="right")
    # By default rich puts "…" over the last letter where a space ends a full line of wide letters.
    grid.add_column(overflow="fold")
    for one in labs:
        grid.add_row(one.name, f"{one.seconds} s", one.claim.of(lang))
    console().print(grid)


def show(findings: "Findings", lang: Literal["en", "ko"]) -> None:
    """The table and the sentence."""
    from jumok.lab.findings import table

    columns, rows = table(findings, lang)
    grid = Table(box=None, padding=(0, 2, 0, 0))
    for heading, column in zip(columns, findings.columns, strict=True):
        grid.add_column(heading, justify="right" if column.form else "left", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    screen = console()
    screen.print(grid)
    screen.print(f"\n{findings.verdict(lang)}\n", style="bold", soft_wrap=True)
