"""`jumok caption`: images in, captions out."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option
from jumok.cli.folders import pictures_in
from jumok.cli.output.cells import as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import counted
from jumok.cli.verbs.translate import decoding_options
from jumok.errors import ConfigError, DataError
from jumok.late import late_imports

with late_imports():
    from jumok.systems import captioner as systems_captioner

if TYPE_CHECKING:
    from jumok.systems.caption import Caption

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Images (JPEG, PNG, ...) and folders of images; files of precomputed features for a "
        "model that reads features."
    ),
]
LooksOption = Annotated[
    bool,
    typer.Option(
        "--looks",
        help="With --json: the attention map of each word, one weight per cell.",
        rich_help_panel=option.OUTPUT,
    ),
]


def caption(
    model: option.OneModel,
    images: Images,
    beam: option.Beam = 5,
    nbest: Annotated[int, typer.Option(max=1000, help="Captions for each image, best first.")] = 1,
    length_penalty: option.LengthPenalty = 1.0,
    no_repeat_ngram: option.NoRepeatNgram = 0,
    sample: option.Sample = False,
    temperature: option.Temperature = 1.0,
    top_k: option.TopK = None,
    top_p: option.TopP = None,
    min_p: option.MinP = None,
    seed: option.Seed = 0,
    scores: option.Scores = False,
    looks: LooksOption = False,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    engine: option.CaptioningEngine = "auto",
    precision: option.EnginePrecision = "auto",
    threads: option.Threads = 0,
) -> None:
    """Describe images: one line each, with the file name, a tab and the caption.

    A file that cannot be read as an image gets an empty caption, and the
    error is reported on stderr; the other images are still captioned.
    With --json every image gives one object.

      jumok caption MODEL holiday

      jumok caption MODEL photo.jpg --nbest 5 --scores
    """
    options = decoding_options(
        beam, nbest, length_penalty, 0, 256, sample, temperature, top_k, top_p, seed, min_p
    )
    # The maximum length of a caption does not depend on the number of cells of its image.
    options = replace(options, maximum_ratio=None, no_repeat_ngram=no_repeat_ngram)
    if looks and not as_json:
        raise ConfigError("--looks needs --json.", do="add --json, or leave out --looks")
    form = form_of(output, as_json)
    check_output(output, *images)
    option.use_threads(threads)
    opened = option.open_models(model)
    opened.check_verb("caption")
    captioner = opened.load(device, precision, engine, threads)
    assert isinstance(captioner, systems_captioner.Captioner)
    images = list(pictures_in(images))
    found = captioner.caption_files(images, options, looks=looks, batch_size=batch)
    failed = False
    with open_output(output) as stream:
        if form == "csv":
            stream.write(as_csv(("file", "caption", *(["score"] if scores else []))))
        for file, one in zip(images, counted(found), strict=True):
            if isinstance(one, DataError):
                failed = True
                typer.echo(f"error: {one}", err=True)
            if form == "csv":
                stream.write(as_csv(*_rows(file, one, scores)))
            else:
                stream.writelines(_objects(file, one) if as_json else _lines(file, one, scores))
    if failed:
        raise typer.Exit(DataError.exit_code)


def _lines(file: Path, one: "Caption | DataError", scores: bool) -> Iterator[str]:
    if isinstance(one, DataError):
        yield f"{file}\t\n"
        return
    for each in (one, *one.alternatives):
        yield f"{file}\t{each.text}" + (f"\t{each.score:.4f}" if scores else "") + "\n"


def _rows(file: Path, one: "Caption | DataError", scores: bool) -> Iterator[list[object]]:
    """The cells of each caption of an image; an image that cannot be read has an empty one."""
    found = [] if isinstance(one, DataError) else [one, *one.alternatives]
    for each in found:
        yield [file, each.text, *([each.score] if scores else [])]
    if not found:
        yield [file, "", *([None] if scores else [])]


def _objects(file: Path, one: "Caption | DataError") -> Iterator[str]:
    facts = {"error": str(one)} if isinstance(one, DataError) else one.facts()
    yield json.dumps({"file": str(file)} | facts, ensure_ascii=False) + "\n"
