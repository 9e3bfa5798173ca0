"""`jumok import`: a model of others becomes a bundle."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.options import AsOneObject
from jumok.cli.screen import console
from jumok.errors import ConfigError


def import_(
    model: Annotated[
        Path, typer.Argument(help="A model's folder or file: settings, weights and tokenizer.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the new model, a bundle.")
    ],
    as_json: AsOneObject = False,
) -> None:
    """Make a bundle of a pretrained model of others.

    Its family is known by what it holds, and every tensor of its table is
    used once; what is missing, too much, or set to something that jumok does
    not follow, is refused by its name. Where the original code is installed
    (mostly transformers), ten texts go through both before the bundle is
    written.

      jumok import all-MiniLM-L6-v2 --output minilm

      jumok look minilm "The cat sat on the mat."
    """
    from jumok.interop.checking import read_compared
    from jumok.interop.importing import write_imported

    if output.resolve() == model.resolve():
        raise ConfigError(
            "the bundle would replace the model that it is made from.",
            got=f"--output {output}",
            do="choose another folder",
        )
    imported = read_compared(model)
    written, provenance = write_imported(imported, output), imported.provenance
    if as_json:
        facts = {"model": str(written), "task": imported.family.task} | asdict(provenance)
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    screen = console()
    for line in (*provenance.lines(), f"written to {written}"):
        screen.print(line, soft_wrap=True, highlight=False, markup=False)
