"""`jumok info`: describes a model without loading it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from jumok.cli.options import AsOneObject
from jumok.cli.screen import console, print_scores
from jumok.kernels.libraries.building import are_shipped
from jumok.kernels.libraries.compiler import NONE, find_compiler

if TYPE_CHECKING:
    from jumok.bundle.card import BundleConfig
    from jumok.bundle.confidence import Calibration
    from jumok.bundle.reading import Bundle


def info(
    model: Annotated[Path, typer.Argument(help="Bundle: the folder of a trained model.")],
    as_json: AsOneObject = False,
) -> None:
    """Show the size, languages, training data and scores of a model."""
    from jumok.bundle.reading import read_bundle

    bundle = read_bundle(model)
    if as_json:
        sizes = {
            "parameters": bundle.parameters, "bytes": bundle.size, "precision": bundle.precision,
            "jumok": bundle.jumok,
        }  # fmt: skip
        facts = {"config": asdict(bundle.config), "card": asdict(bundle.card), "sizes": sizes}
        facts["engine"] = _engine_facts(bundle)
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    console().print(facts_table(bundle))
    if bundle.card.scores:
        print_scores(bundle.card.scores)


def _named(config: "BundleConfig", label: str) -> str:
    name = config.label_names.get(label)
    return label if name is None else f"{label} ({name})"


def facts_table(bundle: "Bundle") -> Table:
    """The description of the bundle, as two columns."""
    config, card = bundle.config, bundle.card
    stored = ", ".join(sorted({tensor.dtype for tensor in bundle.stored.values()}))
    from jumok.bundle.card import languages_text

    facts = {
        "model": f"{card.name} ({config.task}{languages_text(config)})",
        "folder": str(bundle.folder),
        "parameters": f"{bundle.parameters:,} ({stored}); {bundle.size / 1e6:.1f} MB on disk",
        "precision": bundle.precision,
        "quality": "\n".join(card.quality.lines()) if card.quality else "",
        "vocabulary": f"{config.vocabulary_size:,} subwords" if config.vocabulary_size else "",
        "labels": ", ".join(_named(config, label) for label in config.labels),
        "texts": f"up to {config.max_tokens} tokens" if config.max_tokens else "",
        "architecture": ", ".join(architecture(config.model)),
        "alignment": alignment_words(config),
        "engine": ": ".join(_engine_facts(bundle).values()),
        "imported": "\n".join(card.provenance.lines()) if card.provenance else "",
        "trained on": "\n".join(card.trained_on) or "not known",
        "examples": card.examples,
        "training": f"{card.steps:,} steps, {card.minutes:.1f} minutes, finished {card.date}"
        if card.trained
        else "",
        "trained further": f"from {card.started_from}" if card.started_from else "",
        "written by": f"jumok {bundle.jumok}",
        "confidence": card.confidence.text if card.confidence else "",
        "reliability": _reliability_bars(card.confidence) if card.confidence else "",
        "notes": "\n".join(card.notes),
        "here": "" if are_shipped() or find_compiler() else NONE,
    }
    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            table.add_row(name, fact)
    return table


def _engine_facts(bundle: "Bundle") -> dict[str, str]:
    """What computes the model on a CPU, and why it is not the native engine."""
    from jumok.systems.native.models import lacking

    why = lacking(bundle.section)
    return {"name": "native"} if why is None else {"name": "torch", "why": why}


def _reliability_bars(confidence: "Calibration") -> str:
    """The reliability diagram: one bar a bin, for the share of right outputs."""
    return "\n".join(
        f"{each.confidence:.2f}  {'█' * round(20 * each.right):<20}  right {each.right:.2f} of "
        f"{each.outputs}"
        for each in confidence.bins
    )


def architecture(model: Mapping[str, object], part: str = "") -> Iterator[str]:
    """Each key with its value; those of a part with its name, as in "encoder.size"."""
    for key, value in model.items():
        if isinstance(value, Mapping):
            yield from architecture(value, f"{part}{key}.")
        elif value is not None:  # None: the default
            yield f"{part}{key} {value}"


def alignment_words(config: "BundleConfig") -> str:
    """The alignment setting in words; empty if it was not measured."""
    if config.alignment_layer is None:
        return ""
    step = "reads" if config.alignment_at_input else "writes"
    head = "" if config.alignment_head is None else f", head {config.alignment_head + 1}"
    return (
        f"from decoder layer {config.alignment_layer + 1}{head}, at the step that {step} the token"
    )
