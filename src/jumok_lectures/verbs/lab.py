"""`jumok lab`: claims of the lectures as experiments."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from jumok.cli.screen import console, warn_without_compiler
from jumok.environment import Language
from jumok.errors import ConfigError
from jumok_lectures.verbs.lang import USUAL, Lang

if TYPE_CHECKING:
    from jumok_lectures.entry import Lab
    from jumok_lectures.findings import Findings, Setting

Name = Annotated[str, typer.Argument(help="Name of the lab (default: list all labs).")]
All = Annotated[bool, typer.Option("--all", help="Run every lab.")]
Full = Annotated[bool, typer.Option("--full", help="Run the long form of the lab.")]
Folder = Annotated[Path, typer.Option(help="Output folder for plots and results.")]
Page = Annotated[
    Path | None,
    typer.Option(help="Write a Markdown page about all labs that have results in --folder."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**31, help="First seed.")]
Seeds = Annotated[
    int,
    typer.Option(
        min=1, max=100, help="Number of seeds; a single seed gives no confidence intervals."
    ),
]
Encoder = Annotated[
    Path | None,
    typer.Option(
        help="Trained model: for coreference, a bundle or a BERT in a Hugging Face folder "
        "(config.json, model.safetensors, tokenizer.json); for context, a Transformer "
        "translator."
    ),
]
Threads = Annotated[int, typer.Option(min=0, max=1024, help="CPU threads; 0 = all cores.")]

app = typer.Typer()


@app.command(rich_help_panel="Test the claims of the lectures")
def lab(
    name: Name = "",
    every: All = False,
    full: Full = False,
    folder: Folder = Path("lab"),
    page: Page = None,
    lang: Lang = USUAL,
    seed: Seed = 1,
    seeds: Seeds = 3,
    encoder: Encoder = None,
    threads: Threads = 0,
) -> None:
    """Test a claim of the lectures on this machine.

    Prints a table and one sentence: whether the claim holds in this
    experiment, and by how much. Writes NAME.svg, NAME.png and NAME.json to
    --folder.

      jumok lab scale
      jumok lab alignment --lang ko
      jumok lab --all --page lab/all.md
    """
    if name and every:
        raise ConfigError(
            "give the name of a lab or --all, not both.",
            got=f"{name} and --all",
            do="leave one out",
        )
    from jumok_lectures.catalog import LABS, find

    chosen = LABS if every else (find(name),) if name else ()
    if encoder is not None and not (name and find(name).reads_encoders):
        readers = ", ".join(each.name for each in LABS if each.reads_encoders)
        raise ConfigError(
            "--encoder has no effect here.",
            expected=f"a lab that reads an encoder: {readers}",
            do="leave it out, or name that lab",
        )
    if not chosen and page is None:
        show_list(LABS, lang)
    if chosen:
        warn_without_compiler()
    from jumok.systems.device import cores
    from jumok_lectures.workers import LabWorkers

    with LabWorkers(threads or cores()) as workers:
        data = os.environ.get("JUMOK_DATA")
        from jumok_lectures.findings import Setting

        setting = Setting(
            seeds=tuple(range(seed, seed + seeds)),
            full=full,
            cache=folder / ".cache",
            data=Path(data) if data else None,
            encoder=encoder,
            say=lambda line: typer.echo(line, err=True),
            workers=workers,
        )
        if threads:
            import torch

            torch.set_num_threads(threads)
        for one in chosen:
            _run(one, setting, folder, lang)
    if page is not None:
        from jumok_lectures import report as lab_report

        lab_report.page(folder, page, lang)
        typer.echo(f"{page}")


def _run(one: "Lab", setting: "Setting", folder: Path, lang: Language) -> None:
    screen = console()
    screen.print(f"\n{one.name}: {one.title.of(lang)}", style="bold")
    for quote in one.quotes:
        screen.print(f"{quote.place}  {quote.words}", soft_wrap=True, markup=False)
    from jumok_lectures.report import HEADINGS, run

    screen.print(f"{HEADINGS['claim'].of(lang)}: {one.claim.of(lang)}", soft_wrap=True)
    screen.print(f"{HEADINGS['would fail'].of(lang)}:", soft_wrap=True)
    screen.print(f"{one.would_fail.of(lang)}\n", soft_wrap=True, markup=False)
    report = run(one, setting, folder, lang)
    show(report.findings, lang)
    for line in (report.note, f"{', '.join(map(str, report.files))} ({report.seconds:.0f} s)"):
        if line is not None:
            screen.print(line, soft_wrap=True)


def show_list(labs: "tuple[Lab, ...]", lang: Language) -> None:
    """Prints the name, the duration and the claim of every lab."""
    grid = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(no_wrap=True, justify="right")
    # By default rich puts "…" over the last letter where a space ends a full line of wide letters.
    grid.add_column(overflow="fold")
    for one in labs:
        grid.add_row(one.name, f"{one.seconds} s", one.claim.of(lang))
    console().print(grid)


def show(findings: "Findings", lang: Language) -> None:
    """Prints the table and the verdict."""
    from jumok_lectures.findings import table

    columns, rows = table(findings, lang)
    grid = Table(box=None, padding=(0, 2, 0, 0))
    for heading, column in zip(columns, findings.columns, strict=True):
        grid.add_column(heading, justify="right" if column.form else "left", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    screen = console()
    screen.print(grid)
    if findings.conditions:
        headings, lines = findings.judged(lang)
        grid = Table(*headings, box=None, padding=(1, 2, 0, 0), pad_edge=False)
        for line in lines:
            grid.add_row(*line)
        screen.print(grid)
    screen.print(f"\n{findings.verdict(lang)}\n", style="bold", soft_wrap=True)
