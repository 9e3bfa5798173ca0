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
        Path,
        typer.Argument(help="Folder or file of the model: configuration, weights and tokenizer."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the new bundle.")],
    as_json: AsOneObject = False,
) -> None:
    """Convert a pretrained model from another program to a bundle.

    Recognizes the model family by the contents of the folder. A missing
    tensor, an extra tensor or an unsupported setting is an error that names
    it. If the original code is installed (usually the package transformers),
    ten texts are computed with it and with jumok before the bundle is written.

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
