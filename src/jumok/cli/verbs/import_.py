"""`jumok import`: a model of others becomes a bundle."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.options import AsOneObject
from jumok.cli.screen import console
from jumok.errors import ConfigError


def import_(
    folder: Annotated[
        Path, typer.Argument(help="A model's folder: config.json, weights and tokenizer.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the new model, a bundle.")
    ],
    as_json: AsOneObject = False,
) -> None:
    """Make a bundle of a pretrained model of transformers.

    Its family is known by its config.json, and every tensor of its table is
    used once; what is missing, too much, or set to something that jumok does
    not follow, is refused by its name. Where transformers is installed, ten
    texts go through both before the bundle is written.

      jumok import all-MiniLM-L6-v2 --output minilm

      jumok look minilm "The cat sat on the mat."
    """
    from jumok.interop.checking import compare_inputs, has_transformers
    from jumok.interop.importing import read_model_folder, write_imported

    if output.resolve() == folder.resolve():
        raise ConfigError(
            "the bundle would replace the model that it is made from.",
            got=f"--output {output}",
            do="choose another folder",
        )
    imported = read_model_folder(folder)
    compared = str(compare_inputs(folder, imported)) if has_transformers() else ""
    provenance = replace(imported.provenance, compared=compared)
    written = write_imported(replace(imported, provenance=provenance), output)
    if as_json:
        facts = {"model": str(written), "task": imported.family.task} | asdict(provenance)
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    screen = console()
    for line in (*provenance.lines(), f"written to {written}"):
        screen.print(line, soft_wrap=True, highlight=False, markup=False)
