"""Options of several commands."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jumok import environment
from jumok.cli.groups import typer_option
from jumok.decoding.options import DecodingOptions
from jumok.errors import ConfigError
from jumok.options import option, options_of

if TYPE_CHECKING:
    from jumok.systems.catalog import OpenedModel
    from jumok.tracing.catalog import Family

MOST = 10**6
"""The maximum of counts: a typing error is refused at once, not after hours."""

OUTPUT, MACHINE = "Output", "Machine"

Model = Annotated[
    str,
    typer.Argument(
        help="A bundle: the folder that training wrote. Comma-separated bundles form an ensemble."
    ),
]
OneModel = Annotated[str, typer.Argument(help="A bundle: the folder that training wrote.")]
Recipe = Annotated[
    Path, typer.Argument(help="A recipe: its file (TOML), or its name in `jumok recipes`.")
]
Text = Annotated[
    Path | None,
    typer.Argument(help="Text, one sentence per line, also .gz or .zst (default: stdin)."),
]
Formats = Literal[
    "auto", "lines", "paragraphs", "markdown", "html", "srt", "vtt", "po", "xliff", "tmx", "docx"
]
Beam = Annotated[int, typer_option(options_of(DecodingOptions)["beam"])]
Beams = Annotated[
    int | None,
    typer_option(
        options_of(DecodingOptions)["beam"],
        "Beam size; 1 = greedy (default: 5, for language models 1).",
    ),
]
DATA = "One file with both sides instead: TMX, PO, XLIFF, TSV, CSV, JSONL or Parquet."
IMAGES = (
    "Captions: folder or .zip with the images named in --data (default: images/ or images.zip next "
    "to it)."
)
GOLD = "Gold alignments, one line per pair (0-0 = sure, 1p2 = possible)."
GOLD_COLUMNS = "In --data: columns of source, target and, optionally, gold links (default: 0,1)."
SKIP_DAMAGED = "Skip what cannot be read, and report the number."
FROM = "In --data: the language of the source, or the name of its column."
TO = "In --data: the language of the target, or the name of its column."


@dataclass(frozen=True)
class PairFiles:
    """Where pairs of texts are."""

    source: Path | None = option(None, "Text, one sentence per line.", "--source", "-s")
    target: Path | None = option(None, "Its translation, line-aligned.", "--target", "-t")
    data: Path | None = option(None, DATA, "--data", "-d")
    columns: str | None = option(
        None, "In --data: columns of the text and of its translation (default: 0,1)."
    )
    from_: str | None = option(None, FROM)
    to: str | None = option(None, TO)


@dataclass(frozen=True)
class GoldFiles(PairFiles):
    """Where pairs of texts are, and their gold links."""

    columns: str | None = option(None, GOLD_COLUMNS)
    gold: Path | None = option(None, GOLD)


@dataclass(frozen=True)
class Output:
    """Where the output goes, and how."""

    as_json: bool = option(False, "Print the output as JSON.", "--json", panel=OUTPUT)
    output: Path | None = option(
        None,
        "Output file, written atomically (default: stdout); .csv has a header.",
        *("--output", "-o"),
        panel=OUTPUT,
    )


@dataclass(frozen=True)
class Computer:
    """What computes."""

    batch: int = option(32, "Batch size in examples.", minimum=1, maximum=MOST, panel=MACHINE)
    device: str = option("auto", "Device: auto, cpu, cuda or cuda:0.", panel=MACHINE)
    threads: int = option(0, "CPU threads; 0 = all cores.", minimum=0, maximum=1024, panel=MACHINE)


@dataclass(frozen=True)
class Machine(Computer):
    """What computes, on torch."""

    precision: Literal["fp32", "bf16"] = option(
        "fp32",
        "Number format; bf16 is up to twice as fast on CPUs with native bfloat16.",
        panel=MACHINE,
    )

    def load(self, models: "str | OpenedModel", verb: str) -> Any:
        """Loads the model, or the ensemble, for a command.

        Args:
            models: folders, or what `open_models` read of them.
            verb: the command's name, such as "translate".

        Raises:
            BundleError: a bundle cannot be read, or is for another command.
        """
        use_threads(self.threads)
        opened = open_models(models) if isinstance(models, str) else models
        opened.check_verb(verb)
        return opened.load(self.device, self.precision)

    def load_family(self, models: str) -> "Family":
        """Loads what traces the model, or the ensemble."""
        use_threads(self.threads)
        from jumok.tracing.catalog import load_family

        return load_family(*model_folders(models), device=self.device, precision=self.precision)


@dataclass(frozen=True)
class EngineMachine(Computer):
    """What computes, torch or the native engine."""

    engine: Literal["auto", "torch", "native"] = option(
        "auto",
        "What computes: torch, or the native engine (on the CPU), which is several times faster; "
        "what that cannot do is left to torch. auto: native where it serves the model (jumok info "
        "MODEL) and there is no GPU.",
        panel=MACHINE,
    )
    precision: Literal["auto", "fp32", "bf16", "int8"] = option(
        "auto",
        "Number format; int8 on the native engine only. bf16 is up to twice as fast on CPUs with "
        "native bfloat16. auto: on the native engine that of the bundle, otherwise fp32.",
        panel=MACHINE,
    )

    def load(self, models: str, verb: str) -> Any:
        """As `Machine.load`, on the engine."""
        use_threads(self.threads)
        opened = open_models(models)
        opened.check_verb(verb)
        threads = self.threads or environment.threads() or 0
        return opened.load(self.device, self.precision, self.engine, threads)


def model_folders(models: str) -> list[Path]:
    """Splits a comma-separated list of bundle folders.

    Raises:
        ConfigError: a name before or after a comma is empty.
    """
    # A folder may itself have a comma in its name.
    folders = [models] if Path(models).exists() else models.split(",")
    if not all(folders):
        raise ConfigError("a model's name is empty.", got=models, do="write MODEL or MODEL,MODEL")
    return [Path(folder) for folder in folders]


def use_threads(count: int) -> None:
    """Sets torch's threads, now or when it is imported; 0: all cores."""
    if count and "torch" in sys.modules:
        import torch

        torch.set_num_threads(count)
    elif count:
        os.environ["OMP_NUM_THREADS"] = str(count)


def open_models(models: str) -> "OpenedModel":
    """Reads the model, or the ensemble, up to its weights."""
    from jumok.systems.catalog import open_model

    return open_model(*model_folders(models))
