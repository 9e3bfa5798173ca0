"""`jumok quantize`: a model with fewer bits, if it loses little by that."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from jumok.cli import options as option
from jumok.cli.quality.check import ComparedModels, QualityCheck
from jumok.cli.screen import console
from jumok.errors import BundleError, ConfigError, Place
from jumok.kinds import KINDS
from jumok.late import late_imports

with late_imports():
    import torch

    from jumok.bundle import card as bundle_card
    from jumok.bundle import fingerprint, quantising, reading
    from jumok.evaluation import quality as evaluation_quality

if TYPE_CHECKING:
    from jumok.bundle.card import MeasuredQuality
    from jumok.bundle.reading import Bundle


def quantize(
    model: option.OneModel,
    to: Annotated[
        Literal["int8", "bf16"],
        typer.Option("--to", help="Number format of the matrices of the new model."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the new model, a bundle.")
    ],
    check: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--check",
            help="Two files, texts and their translations, to measure what is lost (default: the "
            "test or validation data of the model's run).",
            metavar="SOURCE REFERENCE",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", "-d", help="One file instead of --check; for language models, a text."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="In --data: columns of the text and of its translation.")
    ] = None,
    beam: option.Beam = 5,
    force: Annotated[
        str | None,
        typer.Option(
            help="Write the model even if it loses too much; the reason is recorded in its card.",
            metavar="REASON",
        ),
    ] = None,
    as_json: option.Json = False,
    batch: option.Batch = 32,
    threads: option.Threads = 0,
) -> None:
    """Make a model smaller and faster: its matrices in int8 or bfloat16.

    What it loses is measured, and a model that loses more than 0.3 points of
    BLEU or chrF, 1 % of perplexity, or 3 % of its tokens, is not written.

      jumok quantize runs/a/model --to int8 --output a-int8

      jumok quantize MODEL --to int8 --output SMALL --check test.en test.de
    """
    if threads:
        torch.set_num_threads(threads)
    bundle = reading.read_bundle(Path(model))
    _refuse(bundle, to, output, force)
    kind = KINDS.get(bundle.config.task)
    with TemporaryDirectory() as room:
        small = reading.read_bundle(
            quantising.write_quantised(Path(room) / "model", bundle, to, bundle.card)
        )
        compared = None
        if kind is not None and kind.quality is not None:
            given = columns or kind.columns
            asked = QualityCheck(bundle, small, check, data, given, beam, batch)
            compared = kind.entry("quality")(asked)
        quality = _quality(bundle, to, compared)
        faults = _faults(bundle, compared, quality)
        if faults and force is None:
            raise ConfigError(
                f"the model loses too much in {to}: nothing was written.",
                got="; ".join(faults),
                do='--to bf16 loses less; or --force "REASON" writes it all the same'
                if to == "int8" and compared is not None
                else '--force "REASON" writes it all the same',
                place=Place(bundle.folder),
            )
        quality = replace(quality, forced=(force or "") if faults else "")
        notes = (*bundle.card.notes, f"the scores are those before the weights became {to}")
        card = replace(bundle.card, quality=quality, notes=notes)
        quantising.write_quantised(output, bundle, to, card)
    _say(bundle, reading.read_bundle(output), compared, as_json)


def _refuse(bundle: "Bundle", to: str, output: Path, force: str | None) -> None:
    """Refuses what cannot be meant, before minutes of measuring."""
    if bundle.precision == "int8" or bundle.precision == to:
        raise ConfigError(
            f"this model is already stored in {bundle.precision}.",
            do="quantize the model that it was made from",
            place=Place(bundle.folder),
        )
    if output.resolve() == bundle.folder.resolve():
        raise ConfigError(
            "the new model would replace the one that it is made from.",
            got=f"--output {output}",
            do="choose another folder",
        )
    if output.exists() and not (output / reading.CONFIG).is_file():
        raise BundleError(
            "the folder for the bundle is something else than a bundle.",
            place=Place(output),
            do="choose another folder, or remove this one yourself",
        )
    if force is not None and not force.strip():
        raise ConfigError(
            "--force takes the reason, which is recorded in the card.",
            got="an empty one",
            do='--force "for a demonstration"',
        )


def _quality(bundle: "Bundle", to: str, compared: ComparedModels | None) -> "MeasuredQuality":
    made_from = f"{bundle.card.name} {fingerprint.Origin(bundle).fingerprint}"
    if compared is None:
        return bundle_card.MeasuredQuality(to, made_from)
    found = compared.agreement
    return bundle_card.MeasuredQuality(
        to,
        made_from,
        compared.on,
        compared.before,
        compared.after,
        found.tokens,
        found.share,
        compared.unit,
    )


def _faults(
    bundle: "Bundle", compared: ComparedModels | None, quality: "MeasuredQuality"
) -> list[str]:
    if compared is None:
        return [f"what it loses is not measured for this kind of model ({bundle.config.task})"]
    return list(evaluation_quality.faults_of(quality))


def _say(model: "Bundle", small: "Bundle", compared: ComparedModels | None, as_json: bool) -> None:
    """Prints the sizes, the scores, the equal tokens and the speed, before and after."""
    quality, seconds = small.card.quality, compared.seconds if compared else None
    assert quality is not None
    if as_json:
        facts = {"model": str(small.folder), "bytes": [model.size, small.size]}
        record = {"quality": asdict(quality), "seconds": seconds}
        typer.echo(json.dumps(facts | record, ensure_ascii=False, indent=2))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "before", "after", ""):
        table.add_column(heading, no_wrap=True, justify="left" if not heading else "right")
    sizes = model.size / 1e6, small.size / 1e6
    table.add_row("size, MB", *(f"{size:.2f}" for size in sizes), f"{sizes[1] / sizes[0]:.0%}")
    for before, after in zip(quality.before, quality.after, strict=True):
        change = f"{after.value - before.value:+.2f}"
        table.add_row(before.name, f"{before.value:.2f}", f"{after.value:.2f}", change)
    if quality.tokens:
        table.add_row(f"equal {quality.unit}", "", f"{quality.equal:.2%}", f"of {quality.tokens:,}")
    if seconds is not None:
        times = (f"{each:.1f}" for each in seconds)
        table.add_row("CPU seconds", *times, f"{seconds[0] / max(seconds[1], 1e-3):.2f} x faster")
    screen = console()
    screen.print(table)
    for line in (quality.on, *sorted({f"{one.name}|{one.signature}" for one in quality.after})):
        screen.print(line, soft_wrap=True)
    if quality.forced:
        screen.print(f"forced: {quality.forced}", soft_wrap=True)
    screen.print(f"written to {small.folder}", soft_wrap=True)
