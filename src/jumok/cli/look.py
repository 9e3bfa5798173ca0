"""`jumok look`: what a model looked at, as a page."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from jumok.cli import options as option
from jumok.cli.streams import open_output
from jumok.errors import ConfigError

Save = Annotated[
    Path | None, typer.Option(help="A page (.html) that needs no network, or a trace (.npz).")
]


def look(
    model: option.Model,
    text: Annotated[str, typer.Argument(help="One sentence.")],
    save: Save = None,
    target: Annotated[
        str | None, typer.Option(help="This translation instead of the model's own.")
    ] = None,
    level: Annotated[
        Literal["weights", "qk"],
        typer.Option(help="qk also keeps queries, keys and values: larger, and it adds up."),
    ] = "qk",
    beam: option.Beam = 5,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Show what every attention of a model looked at, in one sentence.

    jumok look runs/demo/model "The cat saw a dog." --save page.html
    """
    from dataclasses import replace

    from jumok.bundle.reading import read_bundle
    from jumok.inspection.page import page
    from jumok.systems.tracing import trace_translation
    from jumok.systems.translator import DEFAULTS

    if save is None or save.suffix not in (".html", ".npz"):
        raise ConfigError(
            "say where the page shall stand.",
            expected="--save FILE.html, or --save FILE.npz for the numbers alone",
            got=str(save or "no --save"),
        )
    translator = option.load_translator(model, device, precision, threads)
    options = replace(DEFAULTS, beam=beam)
    name = read_bundle(option.model_folders(model)[0]).card.name
    trace = trace_translation(translator, text, target, options, level=level, name=name)
    if save.suffix == ".npz":
        trace.save(save)
    else:
        with open_output(save) as stream:
            stream.write(page(trace))
    typer.echo(f"{trace.output}\n{save}", err=True)
