"""The options that several commands share, each defined once."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jumok import environment
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    import torch

    from jumok.systems import catalog
    from jumok.systems.translation import translator as translation_translator
    from jumok.tracing import catalog as tracing_catalog

if TYPE_CHECKING:
    from jumok.systems.catalog import OpenedModel
    from jumok.systems.device import EngineName
    from jumok.systems.device import EnginePrecision as EnginePrecisionName
    from jumok.systems.translation.translator import Translator
    from jumok.tracing.catalog import Family

MOST = 10**6
"""The maximum of counts and lengths: a typing error is refused at once, not after hours."""

LENGTH, SAMPLING, OUTPUT, MACHINE = "Length and prefix", "Sampling", "Output", "Machine"
CONTENT = "Sentences and terms"

Model = Annotated[
    str,
    typer.Argument(
        help="A bundle: the folder that training wrote. Comma-separated bundles form an ensemble."
    ),
]
OneModel = Annotated[str, typer.Argument(help="A bundle: the folder that training wrote.")]
Text = Annotated[
    Path | None,
    typer.Argument(help="Text, one sentence per line, also .gz or .zst (default: stdin)."),
]
SkipDamaged = Annotated[
    bool,
    typer.Option("--skip-damaged", help="Skip what cannot be read, and report the number."),
]
Formats = Literal[
    "auto", "lines", "paragraphs", "markdown", "html", "srt", "vtt", "po", "xliff", "tmx", "docx"
]
Format = Annotated[
    Formats,
    typer.Option(
        help="Format of the file; auto goes by its first bytes and its name. lines: one sentence a "
        "line; paragraphs: plain text whose lines are wrapped."
    ),
]
Source = Annotated[Path | None, typer.Option("--source", "-s", help="Text, one sentence per line.")]
Target = Annotated[
    Path | None, typer.Option("--target", "-t", help="Its translation, line-aligned.")
]
Pairs = Annotated[
    Path | None,
    typer.Option(
        "--data",
        "-d",
        help="One file with both sides instead: TMX, PO, XLIFF, TSV, CSV, JSONL or Parquet.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from", help="In --data: the language of the source, or the name of its column."
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="In --data: the language of the target, or the name of its column."),
]
Images = Annotated[
    Path | None,
    typer.Option(
        help="Captions: folder or .zip with the images named in --data (default: images/ or "
        "images.zip next to it)."
    ),
]
Beam = Annotated[int, typer.Option("--beam", "-b", max=1000, help="Beam size; 1 = greedy.")]
Nbest = Annotated[int, typer.Option(max=1000, help="Translations for each line, best first.")]

MetricSets = Literal["text", "spelling", "meteor"]
Metrics = Annotated[
    MetricSets,
    typer.Option(
        help="text: BLEU, chrF and TER, for captions BLEU, CIDEr-D and ROUGE-L; spelling: accuracy "
        "of lines and characters; meteor: adds METEOR (English captions only, needs Java)."
    ),
]

LengthPenalty = Annotated[
    float,
    typer.Option(
        help="Length penalty: 0 favours short outputs, 1 is roughly neutral.",
        rich_help_panel=LENGTH,
    ),
]
CoveragePenalty = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Coverage penalty: cost of unattended source words (beam search only).",
        rich_help_panel=LENGTH,
    ),
]
MinimumLength = Annotated[
    int, typer.Option(max=MOST, help="Minimum output length in tokens.", rich_help_panel=LENGTH)
]
MaximumLength = Annotated[
    int, typer.Option(max=MOST, help="Maximum output length in tokens.", rich_help_panel=LENGTH)
]
NoRepeatNgram = Annotated[
    int,
    typer.Option(
        min=0,
        max=MOST,
        help="Never repeat an n-gram of this many tokens (0 = off).",
        rich_help_panel=LENGTH,
    ),
]
Prefix = Annotated[
    str,
    typer.Option(help="Force every translation to start with this text.", rich_help_panel=LENGTH),
]

Splits = Literal["auto", "sentences", "length", "none"]
Split = Annotated[
    Splits,
    typer.Option(
        help="Where to cut lines into segments: after each sentence, only where a line is too "
        "long, or never; auto follows the lines that the model was trained on.",
        rich_help_panel=CONTENT,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Regular expression of text to copy unchanged, besides tags, placeholders, "
        "addresses and numbers. Repeatable.",
        rich_help_panel=CONTENT,
    ),
]
NoKeep = Annotated[
    bool,
    typer.Option(
        "--no-keep",
        help="Copy nothing unchanged: leave tags, placeholders and numbers to the model.",
        rich_help_panel=CONTENT,
    ),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        help="File of terms and their required translations, tab-separated.",
        rich_help_panel=CONTENT,
    ),
]

Sample = Annotated[
    bool,
    typer.Option(
        "--sample",
        help="Sample instead of beam search; ignores --beam.",
        rich_help_panel=SAMPLING,
    ),
]
Temperature = Annotated[
    float,
    typer.Option(
        help="Temperature: below 1 sharpens the distribution, above 1 flattens it.",
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        max=MOST,
        help="Top-k sampling: keep only the K most probable tokens.",
        rich_help_panel=SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        help="Nucleus sampling: keep the smallest set of tokens with total probability P.",
        rich_help_panel=SAMPLING,
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(
        help="Min-p sampling: keep tokens with P times the highest probability, or more.",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**63 - 1, help="Random seed for sampling.", rich_help_panel=SAMPLING),
]

Alignments = Annotated[
    bool,
    typer.Option(
        "--alignments",
        help="Also print the word alignment (Pharaoh format, e.g. 0-0 1-2).",
        rich_help_panel=OUTPUT,
    ),
]
Scores = Annotated[
    bool,
    typer.Option("--scores", help="Also print the ranking score.", rich_help_panel=OUTPUT),
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="Also print the model's confidence, 0 to 1; jumok info says what it means.",
        rich_help_panel=OUTPUT,
    ),
]
FlagBelow = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Report lines with a lower confidence on stderr.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print the output as JSON.", rich_help_panel=OUTPUT)
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Output file, written atomically (default: stdout); .csv has a header.",
        rich_help_panel=OUTPUT,
    ),
]

Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Translate every line before reading the next. (Without it, lines from a pipe are "
        "translated as soon as their writer pauses.)",
        rich_help_panel=OUTPUT,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the --output of an interrupted command.",
        rich_help_panel=OUTPUT,
    ),
]

Batch = Annotated[
    int,
    typer.Option(
        "--batch", min=1, max=MOST, help="Batch size in examples.", rich_help_panel=MACHINE
    ),
]
Device = Annotated[
    str, typer.Option(help="Device: auto, cpu, cuda or cuda:0.", rich_help_panel=MACHINE)
]
Engine = Annotated[
    Literal["auto", "torch", "native"],
    typer.Option(
        help="What computes: torch, or the native engine (one Transformer, on the CPU), which is "
        "several times faster; what that cannot do is left to torch. auto: native where it serves "
        "the model (jumok info MODEL) and there is no GPU.",
        rich_help_panel=MACHINE,
    ),
]
Precisions = Literal["fp32", "bf16"]
WritingEngine = Annotated[
    Literal["auto", "torch", "native"],
    typer.Option(
        help="What computes: torch, or the native engine (on the CPU, without beams), which is "
        "several times faster and writes the same text from the same seed in fp32. auto: native "
        "where it serves the model and there is no GPU.",
        rich_help_panel=MACHINE,
    ),
]
CaptioningEngine = Annotated[
    Literal["auto", "torch", "native"],
    typer.Option(
        help="What writes the captions: torch, or the native engine (on the CPU), which is several "
        "times faster; images are read by torch. auto: native where it serves the model's decoder "
        "and there is no GPU.",
        rich_help_panel=MACHINE,
    ),
]
EnginePrecision = Annotated[
    Literal["auto", "fp32", "bf16", "int8"],
    typer.Option(
        help="Number format; int8 on the native engine only. bf16 is up to twice as fast on CPUs "
        "with native bfloat16. auto: on the native engine that of the bundle, otherwise fp32.",
        rich_help_panel=MACHINE,
    ),
]
Precision = Annotated[
    Precisions,
    typer.Option(
        help="Number format; bf16 is up to twice as fast on CPUs with native bfloat16.",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int,
    typer.Option(min=0, max=1024, help="CPU threads; 0 = all cores.", rich_help_panel=MACHINE),
]


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
    """Has torch compute with this many threads, now or when it is imported; 0: with all cores."""
    if count and "torch" in sys.modules:
        torch.set_num_threads(count)
    elif count:
        os.environ["OMP_NUM_THREADS"] = str(count)


def open_models(models: str) -> "OpenedModel":
    """Reads the model, or the ensemble, up to its weights."""
    return catalog.open_model(*model_folders(models))


def load_system(
    models: "str | OpenedModel", verb: str, device: str, precision: Precisions, threads: int
) -> Any:
    """Loads the model, or the ensemble, for a command.

    Args:
        models: folders, or what `open_models` read of them.
        verb: the command's name, such as "translate".

    Raises:
        BundleError: a bundle cannot be read, or is for another command.
    """
    use_threads(threads)
    opened = open_models(models) if isinstance(models, str) else models
    opened.check_verb(verb)
    return opened.load(device, precision)


def load_family(
    models: str, device: str, precision: Precisions, threads: int
) -> "tuple[Family, str]":
    """Loads what traces the model, or the ensemble; also returns the first model's name."""
    use_threads(threads)
    family = tracing_catalog.load_family(*model_folders(models), device=device, precision=precision)
    return family, family.name


def load_translator(
    models: "str | OpenedModel", device: str, precision: Precisions, threads: int
) -> "Translator":
    """Loads a translation model, or an ensemble of comma-separated ones, on torch."""
    translator: Translator = load_system(models, "translate", device, precision, threads)
    return translator


def load_fast_translator(
    models: str, device: str, engine: "EngineName", precision: "EnginePrecisionName", threads: int
) -> "Translator":
    """Loads a translation model on the given engine."""
    use_threads(threads)
    opened = open_models(models)
    opened.check_verb("translate")
    translator = opened.load(device, precision, engine, threads or environment.threads() or 0)
    assert isinstance(translator, translation_translator.Translator)
    return translator
