"""`jumok caption`: images in, captions out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import OUTPUT, EngineMachine, OneModel, Output, Without
from jumok.cli.output.cells import OutputForm, as_csv, form_of
from jumok.cli.output.streams import check_output, image_files, open_output
from jumok.cli.screen import counted
from jumok.decoding.options import FOR_CAPTIONS, ONLY_FOR_CONTINUATION, DecodingOptions
from jumok.errors import ConfigError, DataError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.systems.caption import Caption
    from jumok.systems.captioner import Captioner

Images = Annotated[
    list[Path],
    typer.Argument(
        help="Images (JPEG, PNG, ...) and folders of images; for a model that reads features, "
        "files of precomputed features."
    ),
]


@dataclass(frozen=True)
class CaptionOutput(Output):
    """What is printed besides the caption, and where."""

    scores: bool = option(False, "Also print the score that ranks the hypotheses.", panel=OUTPUT)
    looks: bool = option(
        False,
        "With --json: also print the attention map of each word, one weight per image cell.",
        panel=OUTPUT,
    )


def caption(
    model: OneModel,
    images: Images,
    *,
    decoding: Annotated[
        DecodingOptions, FOR_CAPTIONS, Without("coverage_penalty", *ONLY_FOR_CONTINUATION)
    ],
    written: Annotated[CaptionOutput, CaptionOutput()],
    machine: Annotated[EngineMachine, EngineMachine()],
) -> None:
    """Caption images: print the file name, a tab and the caption of each image.

    A file that cannot be read as an image gets an empty caption and an error
    on stderr; the other images are still captioned. With --json, each image
    gives one object.

      jumok caption MODEL holiday

      jumok caption MODEL photo.jpg --nbest 5 --scores
    """
    output, scores = written.output, written.scores
    if written.looks and not written.as_json:
        raise ConfigError("--looks needs --json.", do="add --json, or leave out --looks")
    form = form_of(output, written.as_json)
    check_output(output, *images)
    captioner: Captioner = machine.load(model, "caption")
    images = list(image_files(images))
    captions = captioner.caption_files(
        images, decoding, looks=written.looks, batch_size=machine.batch
    )
    failed = False
    with open_output(output) as stream:
        if form == "csv":
            stream.write(as_csv(("file", "caption", *(["score"] if scores else []))))
        for file, one in zip(images, counted(captions), strict=True):
            if isinstance(one, DataError):
                failed = True
                typer.echo(f"error: {one}", err=True)
            stream.writelines(_caption_lines(file, one, form, scores))
    if failed:
        raise typer.Exit(DataError.exit_code)


def _caption_lines(
    file: Path, one: "Caption | DataError", form: OutputForm, scores: bool
) -> Iterator[str]:
    if form == "json":
        facts = {"error": str(one)} if isinstance(one, DataError) else one.facts()
        yield json.dumps({"file": str(file)} | facts, ensure_ascii=False) + "\n"
    elif isinstance(one, DataError):
        yield as_csv((file, "", *([None] if scores else []))) if form == "csv" else f"{file}\t\n"
    else:
        for each in (one, *one.alternatives):
            if form == "csv":
                yield as_csv((file, each.text, *([each.score] if scores else [])))
            else:
                yield f"{file}\t{each.text}" + (f"\t{each.score:.4f}" if scores else "") + "\n"
