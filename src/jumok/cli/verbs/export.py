"""`jumok export`: a model as a page that runs it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.options import OneModel
from jumok.decoding.options import FOR_TRANSLATION
from jumok.errors import BundleError, ConfigError, Location

if TYPE_CHECKING:
    from jumok.bundle.reading import Bundle

INDEX = "index.html"


def export(
    model: OneModel,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="FILE.html, or a folder, which gets an index.html."),
    ],
    to: Annotated[
        Literal["web"], typer.Option("--to", help="What to make: web = an HTML page.")
    ] = "web",
    title: Annotated[
        str | None, typer.Option(help="The model's name on the page (default: the bundle's).")
    ] = None,
    precision: Annotated[
        Literal["int8", "bf16", "fp32"],
        typer.Option("--precision", help="Number format of the weights: 1, 2 or 4 bytes each."),
    ] = "int8",
    beam: Annotated[
        int, typer.Option("--beam", "-b", min=1, max=100, help="Beam size; 1 = greedy.")
    ] = 5,
) -> None:
    """Make a page of a translator that translates by itself, in any browser.

    The page is one HTML file that holds the model. Type a sentence, and it
    shows the translation and the attention of every layer and head, without
    a server or a network.

      jumok export runs/demo/model --to web --output page/

    """
    del to  # there is one kind so far
    file = page_file(output)
    from jumok.bundle.reading import read_bundle

    bundle = read_bundle(Path(model))
    size = save_web_page(bundle, file, title, precision, beam)
    typer.echo(
        f"{file}: {size / 1e6:.2f} MB, {bundle.parameters:,} weights in {precision}", err=True
    )


def page_file(output: Path) -> Path:
    """The file to write.

    Raises:
        ConfigError: it exists.
    """
    file = output if output.suffix == ".html" else output / INDEX
    if file.exists():
        raise ConfigError(
            "the page exists already, and is not replaced.",
            place=Location(file),
            do="remove it, or choose another --output",
        )
    if file.parent.exists() and not file.parent.is_dir():
        raise ConfigError("this is a file, not a folder.", place=Location(file.parent))
    return file


def save_web_page(
    bundle: "Bundle",
    file: Path,
    title: str | None = None,
    precision: Literal["int8", "bf16", "fp32"] = "int8",
    beam: int = 5,
) -> int:
    """Writes the page of a bundle; returns its size in bytes.

    Raises:
        ConfigError: the model cannot be exported, or there is no compiler for WebAssembly.
        BundleError: the bundle is damaged.
    """
    if bundle.config.task != "translation":
        raise BundleError(
            "this model cannot be exported to a page.",
            expected="a Transformer for translation",
            got=f"task = {bundle.config.task!r}",
            place=Location(bundle.folder),
        )
    from jumok.systems.translation.web import WebTranslator, exported_section

    exported_section(bundle)
    from jumok.engine.wasm import is_built, missing_compiler

    if (lacking := missing_compiler()) is not None:
        raise lacking
    if not is_built():
        typer.echo("compiling the engine to WebAssembly, once: about a minute ...", err=True)
    options = replace(FOR_TRANSLATION, beam=beam)
    translator = WebTranslator(bundle, precision, options)
    from jumok.cli.examples import examples_for

    examples = examples_for(bundle.folder)
    page = translator.page(title or bundle.card.name, examples)
    file.parent.mkdir(parents=True, exist_ok=True)
    from jumok.data.files.atomic import atomic_file

    with atomic_file(file) as part:
        part.write_text(page, encoding="utf-8")
    return file.stat().st_size
