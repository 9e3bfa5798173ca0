"""`jumok pack` and `jumok unpack`: a model as one file."""

from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.options import OneModel
from jumok.errors import ConfigError, Location


def pack(
    model: OneModel,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write, such as model.tar.zst.")
    ],
) -> None:
    """Pack a model into one file, which every command accepts as a model.

    The same model always gives the same file; its SHA-256 is printed.

      jumok pack runs/first/model --output first.tar.zst
    """
    from jumok.bundle import packing
    from jumok.bundle.reading import read_bundle
    from jumok.data.files.atomic import atomic_file

    _refuse_existing(output)
    folder = read_bundle(Path(model)).folder
    with atomic_file(output) as partial:
        digest = packing.pack(folder, partial)
    typer.echo(f"{digest}  {output}")


def unpack(
    file: Annotated[Path, typer.Argument(help="File written by `jumok pack`.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder to write; an existing one is not replaced."),
    ],
) -> None:
    """Unpack a packed model into a folder.

    jumok unpack first.tar.zst --output first
    """
    from jumok.bundle import packing
    from jumok.bundle.reading import read_bundle
    from jumok.data.files.atomic import atomic_folder

    _refuse_existing(output)
    if not packing.is_packed(file):
        raise ConfigError("this is no packed model.", place=Location(file))
    with atomic_folder(output.absolute()) as partial:
        packing.unpack(file, partial)
        read_bundle(partial)
    typer.echo(f"{packing.digest_of(file)}  {file}")


def _refuse_existing(output: Path) -> None:
    if output.exists():
        raise ConfigError("the output exists already, and is not replaced.", place=Location(output))
