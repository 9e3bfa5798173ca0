"""`jumok quantize`: a model with fewer bits, if it loses little."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jumok.cli.options import Beam, Machine, OneModel, Output, Without, use_threads
from jumok.cli.screen import console, plain_table
from jumok.errors import BundleError, ConfigError, Location
from jumok.kinds import KINDS
from jumok.options import option

if TYPE_CHECKING:
    from jumok.bundle.card import MeasuredQuality
    from jumok.bundle.reading import Bundle
    from jumok.cli.quality import ComparedModels


@dataclass(frozen=True)
class LossData:
    """What the loss is measured on."""

    check: tuple[Path, Path] | None = option(
        None,
        "Two files, texts and their translations, to measure the loss of quality (default: test "
        "or validation data of the model's run).",
        metavar="SOURCE REFERENCE",
    )
    data: Path | None = option(
        None, "One file instead of --check; for language models, a text file.", "--data", "-d"
    )
    columns: str | None = option(None, "With --data: columns of the text and its translation.")
    from_: str | None = option(
        None, "Source language of the data, if the model has several language pairs."
    )
    into: str | None = option(
        None, "Target language of the data, if the model has several language pairs."
    )


def quantize(
    model: OneModel,
    to: Annotated[
        Literal["int8", "bf16"],
        typer.Option("--to", help="Number format of the matrices in the new model."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the new bundle.")],
    beam: Beam = 5,
    force: Annotated[
        str | None,
        typer.Option(
            help="Write the model even if it loses too much quality; the model card records this "
            "reason.",
            metavar="REASON",
        ),
    ] = None,
    *,
    measured: Annotated[LossData, LossData()],
    printed: Annotated[Output, Output(), Without("output")],
    machine: Annotated[Machine, Machine(), Without("device", "precision")],
) -> None:
    """Store the matrices of a model in int8 or bfloat16: smaller and faster.

    Measures the loss of quality first. A model is not written if BLEU, chrF
    or the accuracy falls by more than 0.3 points, if the perplexity rises by
    more than 1 %, or if more than 3 % of the tokens or labels change. In int8,
    each output of a matrix has a scale; if the loss is too large, each group
    of 32 inputs of an output has its own scale, and the inputs have 16 bits.

      jumok quantize runs/a/model --to int8 --output a-int8

      jumok quantize MODEL --to int8 --output SMALL --check test.en test.de
    """
    from jumok.bundle.quantised import can_group
    from jumok.bundle.quantising import write_quantised
    from jumok.bundle.reading import read_bundle

    use_threads(machine.threads)
    bundle = read_bundle(Path(model))
    _check_quantisable(bundle, to, output, force)
    known: dict[str, Any] = {}
    with TemporaryDirectory() as room:
        for in_groups in (False, True):
            folder = Path(room) / f"{in_groups}"
            small = read_bundle(
                write_quantised(folder, bundle, to, bundle.card, in_groups=in_groups)
            )
            compared = _compared(bundle, small, measured, beam, machine.batch, known)
            quality, faults = _lost(bundle, to, compared)
            if not faults or compared is None or to != "int8" or not can_group(bundle.section):
                break
        if faults and force is None:
            raise _refusal(bundle, to, faults, compared)
        notes = (*bundle.card.notes, f"the scores are those before the weights became {to}")
        if in_groups:
            notes = (*notes, "32 inputs of an output share a scale, and inputs have 16 bits")
        quality = replace(quality, forced=(force or "") if faults else "")
        card = replace(bundle.card, quality=quality, notes=notes)
        write_quantised(output, bundle, to, card, in_groups=in_groups)
    _print_comparison(bundle, read_bundle(output), compared, printed.as_json)


def _compared(
    bundle: "Bundle",
    small: "Bundle",
    measured: LossData,
    beam: int,
    batch: int,
    known: dict[str, Any],
) -> "ComparedModels | None":
    """None: this kind of model is not measured; `known`: as in `QualityCheck`."""
    kind = KINDS.get(bundle.config.task)
    if kind is None or kind.quality is None:
        return None
    from jumok.cli.quality import QualityCheck

    columns = measured.columns or kind.columns
    compared: ComparedModels = kind.entry("quality")(
        QualityCheck(
            bundle,
            small,
            measured.check,
            measured.data,
            columns,
            beam,
            batch,
            (measured.from_, measured.into),
            known,
        )
    )
    return compared


def _lost(
    bundle: "Bundle", to: str, compared: "ComparedModels | None"
) -> "tuple[MeasuredQuality, list[str]]":
    """What the model loses, and the limits that it exceeds."""
    from jumok.bundle.card import MeasuredQuality
    from jumok.bundle.fingerprint import Origin
    from jumok.evaluation.agreement import faults_of

    made_from = f"{bundle.card.name} {Origin(bundle).fingerprint}"
    if compared is None:
        quality = MeasuredQuality(to, made_from)
        task = bundle.config.task
        faults = [f"what it loses is not measured for this kind of model ({task})"]
    else:
        equal = compared.agreement
        quality = MeasuredQuality(
            *(to, made_from, compared.on, compared.before, compared.after),
            *(equal.tokens, equal.share, compared.unit),
        )
        faults = list(faults_of(quality))
    return quality, faults


def _refusal(
    bundle: "Bundle", to: str, faults: list[str], compared: "ComparedModels | None"
) -> ConfigError:
    return ConfigError(
        f"the model loses too much in {to}: nothing was written.",
        got="; ".join(faults),
        do='--to bf16 loses less; or --force "REASON" writes it all the same'
        if to == "int8" and compared is not None
        else '--force "REASON" writes it all the same',
        place=Location(bundle.folder),
    )


def _check_quantisable(bundle: "Bundle", to: str, output: Path, force: str | None) -> None:
    if bundle.precision == "int8" or bundle.precision == to:
        raise ConfigError(
            f"this model is already stored in {bundle.precision}.",
            do="quantize the model that it was made from",
            place=Location(bundle.folder),
        )
    if output.resolve() == bundle.folder.resolve():
        raise ConfigError(
            "the new model would replace the one that it is made from.",
            got=f"--output {output}",
            do="choose another folder",
        )
    from jumok.bundle.reading import CONFIG

    if output.exists() and not (output / CONFIG).is_file():
        raise BundleError(
            "the folder for the bundle is something else than a bundle.",
            place=Location(output),
            do="choose another folder, or remove this one yourself",
        )
    if force is not None and not force.strip():
        raise ConfigError(
            "--force takes the reason, which is recorded in the card.",
            got="an empty one",
            do='--force "for a demonstration"',
        )


def _print_comparison(
    model: "Bundle", small: "Bundle", compared: "ComparedModels | None", as_json: bool
) -> None:
    quality, seconds = small.card.quality, compared.seconds if compared else None
    assert quality is not None
    if as_json:
        facts = {"model": str(small.folder), "bytes": [model.size, small.size]}
        record = {"quality": asdict(quality), "seconds": seconds}
        typer.echo(json.dumps(facts | record, ensure_ascii=False, indent=2))
        return
    table = plain_table("", "before", "after", "")
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
