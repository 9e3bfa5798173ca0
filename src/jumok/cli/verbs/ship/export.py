"""`jumok export`: a model as others run it."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.options import OneModel
from jumok.errors import ConfigError, Location

if TYPE_CHECKING:
    from jumok.bundle.reading import Bundle
    from jumok.export.format import ExportFormat, ExportPrecision


def export(
    model: OneModel,
    to: Annotated[
        Literal["web", "huggingface", "ctranslate2", "argos", "bergamot", "onnx", "gguf"] | None,
        typer.Option(
            "--to", help="Format of the export; without it, the possible formats are listed."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder or file to write; existing files are not replaced."
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Name of the model in the export (default: its own name).")
    ] = None,
    precision: Annotated[
        Literal["fp32", "bf16", "int8"] | None,
        typer.Option(
            "--precision",
            help="Number format of the weights (default: the first in the list of formats).",
        ),
    ] = None,
    beam: Annotated[
        int,
        typer.Option(
            "--beam", "-b", min=1, max=100, help="Beam size in the page; 1 = greedy decoding."
        ),
    ] = 5,
    address: Annotated[
        str | None,
        typer.Option(
            help="Future URL of the page (https://...); link previews show the file preview.png "
            "beside it."
        ),
    ] = None,
) -> None:
    """Export a model as a self-contained page, or in a format of another program.

    Without --to, lists the formats, with the reason for each that does not
    support this model. If the program that reads the format is installed, its
    output is compared with the model's before the command ends.

      jumok export runs/first/model
      jumok export runs/first/model --to web --output page/
      jumok export runs/first/model --to huggingface --output folder/
    """
    from jumok.bundle.reading import read_bundle

    bundle = read_bundle(Path(model))
    if to is None or output is None:
        if to is not None or output is not None:
            raise ConfigError(
                "what to write, and where, belong together.", expected="--to and --output"
            )
        _list(bundle)
        return
    written, compared = write_export(bundle, to, output, title, precision, beam, address)
    size = sum(each.stat().st_size for each in (written, *written.rglob("*")) if each.is_file())
    typer.echo(f"{written}: {size / 1e6:.2f} MB", err=True)
    typer.echo(f"compared: {compared or 'nothing'}", err=True)


def write_export(
    bundle: "Bundle",
    to: str,
    output: Path,
    title: str | None = None,
    precision: "ExportPrecision | None" = None,
    beam: int = 5,
    address: str | None = None,
) -> tuple[Path, str]:
    """Writes a model in a format: what was written, and what was compared.

    Raises:
        ConfigError: the output exists, or the format does not hold the model.
        BundleError: the bundle is damaged, or what was written computes other numbers.
        MissingExtraError: a package is not installed.
    """
    from jumok.cli.examples import examples_for, opening_first
    from jumok.cli.quality import held_out
    from jumok.export.catalog import FORMATS
    from jumok.export.format import ExportOptions
    from jumok.export.run import export_model

    format = FORMATS[to]
    if precision not in (None, *format.precisions):
        raise ConfigError(
            f"{to} has no such precision.",
            expected=", ".join(format.precisions),
            got=f"--precision {precision}",
        )
    if address is not None and (to != "web" or not re.match(r"https?://[^/]+/", address)):
        raise ConfigError(
            "this is no address of a page.",
            expected="--to web with a whole address, such as https://example.org/translator/",
            got=f"--address {address}",
        )
    precision = precision or format.precisions[0]
    examples = opening_first(bundle) if to == "web" else examples_for(bundle)
    options = ExportOptions(
        precision,
        title or bundle.card.name,
        beam,
        tuple(examples),
        address or "",
        held_out(bundle) if precision != "fp32" and to != "web" else (),
        partial(typer.echo, err=True),
    )
    path = _output(format, output)
    return path, export_model(bundle, format, path, options)


def _output(format: "ExportFormat", output: Path) -> Path:
    """The file or folder to write.

    Raises:
        ConfigError: a file is in the folder's place.
    """
    if not format.file or output.suffix == Path(format.file).suffix:
        return output
    if output.exists() and not output.is_dir():
        raise ConfigError("this is a file, not a folder.", place=Location(output))
    return output / format.file


def _list(bundle: "Bundle") -> None:
    from jumok.cli.screen import console, plain_table
    from jumok.export.catalog import FORMATS

    headings = "--to", "read by", "precision", "this model"
    table = plain_table(*headings, left=headings, fold=headings[1:])
    for format in FORMATS.values():
        obstacle = format.obstacle(bundle)
        fits = "yes" if obstacle is None else f"no: {obstacle}"
        table.add_row(format.name, format.reads, ", ".join(format.precisions), fits)
    console().print(table)
