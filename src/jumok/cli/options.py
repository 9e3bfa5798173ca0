"""The options of the verbs that use a model: each is written once, whoever takes it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.systems.tracers import Family
    from jumok.systems.translator import Translator

MOST = 10**6
"""Of what nobody needs more: a slip of the finger is refused, and not tried for hours."""

LENGTH, SAMPLING, OUTPUT, MACHINE = "Length and beginning", "Sampling", "Output", "Machine"
CONTENT = "Sentences and terms"

Model = Annotated[
    str,
    typer.Argument(
        help="A bundle: the folder that training wrote. Several with commas between them "
        "write together (an ensemble)."
    ),
]
OneModel = Annotated[str, typer.Argument(help="A bundle: the folder that training wrote.")]
Text = Annotated[
    Path | None, typer.Argument(help="Text, one sentence a line (also .gz, .zst); else stdin.")
]
SkipDamaged = Annotated[
    bool,
    typer.Option("--skip-damaged", help="Leave out and count what cannot be read, and go on."),
]
Formats = Literal[
    "auto", "lines", "paragraphs", "markdown", "html", "srt", "vtt", "po", "xliff", "tmx", "docx"
]
Format = Annotated[
    Formats,
    typer.Option(
        help="What the file is; auto goes by its first bytes and its name. lines: a sentence a "
        "line; paragraphs: plain text whose lines are wrapped."
    ),
]
Source = Annotated[Path | None, typer.Option("--source", "-s", help="Text, one sentence a line.")]
Target = Annotated[
    Path | None, typer.Option("--target", "-t", help="Its translation, line by line.")
]
Pairs = Annotated[
    Path | None,
    typer.Option(
        "--data", "-d", help="One file instead: TMX, PO, XLIFF, TSV, CSV, JSONL or Parquet."
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", help="In --data: the source's language, or its column's name."),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="In --data: the target's language, or its column's name."),
]
Images = Annotated[
    Path | None,
    typer.Option(help="Captions: where --data's pictures are; else images or images.zip by it."),
]
Beam = Annotated[int, typer.Option("--beam", "-b", max=1000, help="Hypotheses kept; 1 is greedy.")]
Nbest = Annotated[int, typer.Option(max=1000, help="Translations for each line, best first.")]

MetricSets = Literal["text", "spelling", "meteor"]
Metrics = Annotated[
    MetricSets,
    typer.Option(
        help="text: BLEU, chrF, TER, of captions BLEU, CIDEr-D, ROUGE-L; spelling: lines and "
        "characters that are right; meteor, of English captions: METEOR too, by Java."
    ),
]

LengthPenalty = Annotated[
    float, typer.Option(help="0 favours short ones, 1 is about even.", rich_help_panel=LENGTH)
]
CoveragePenalty = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="How much it costs to leave source words unlooked at; with a beam.",
        rich_help_panel=LENGTH,
    ),
]
MinimumLength = Annotated[
    int, typer.Option(max=MOST, help="Pieces at least.", rich_help_panel=LENGTH)
]
MaximumLength = Annotated[
    int, typer.Option(max=MOST, help="Pieces at most.", rich_help_panel=LENGTH)
]
NoRepeatNgram = Annotated[
    int,
    typer.Option(
        min=0,
        max=MOST,
        help="So many pieces in a row are never written twice; 0: they may be.",
        rich_help_panel=LENGTH,
    ),
]
Prefix = Annotated[str, typer.Option(help="How all translations begin.", rich_help_panel=LENGTH)]

Splits = Literal["auto", "sentences", "length", "none"]
Split = Annotated[
    Splits,
    typer.Option(
        help="Where lines are cut: after each sentence, only where too long, or never; auto does "
        "as the model was trained.",
        rich_help_panel=CONTENT,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="A regular expression of what must come through unchanged; may be given again. Tags, "
        "placeholders, addresses and numbers do anyway.",
        rich_help_panel=CONTENT,
    ),
]
NoKeep = Annotated[
    bool,
    typer.Option(
        "--no-keep", help="Leave it to the model what comes through.", rich_help_panel=CONTENT
    ),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary",
        help="Terms and the translations they must have, a tab between them.",
        rich_help_panel=CONTENT,
    ),
]

Sample = Annotated[
    bool,
    typer.Option(
        "--sample", help="Draw instead of search; the beam is not used.", rich_help_panel=SAMPLING
    ),
]
Temperature = Annotated[
    float, typer.Option(help="Below 1 sharpens, above 1 flattens.", rich_help_panel=SAMPLING)
]
TopK = Annotated[
    int | None,
    typer.Option(max=MOST, help="Only the K likeliest pieces.", rich_help_panel=SAMPLING),
]
TopP = Annotated[
    float | None,
    typer.Option(help="Only the likeliest that hold this share.", rich_help_panel=SAMPLING),
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**63 - 1, help="Equal seeds draw equally.", rich_help_panel=SAMPLING),
]

Alignments = Annotated[
    bool,
    typer.Option(
        "--alignments", help="Add word links, source first: 0-0 1-2.", rich_help_panel=OUTPUT
    ),
]
Scores = Annotated[
    bool,
    typer.Option("--scores", help="Add what they were ranked by.", rich_help_panel=OUTPUT),
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="Add how sure the model was, 0 to 1: not how likely the translation is right.",
        rich_help_panel=OUTPUT,
    ),
]
FlagBelow = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Name the lines on standard error whose confidence is lower.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON.", rich_help_panel=OUTPUT)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="A file, there whole or not at all.", rich_help_panel=OUTPUT
    ),
]

Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Answer every line before the next is read. (From a pipe, what is waiting is answered "
        "together whenever its writer pauses.)",
        rich_help_panel=OUTPUT,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the --output of a command that was interrupted.",
        rich_help_panel=OUTPUT,
    ),
]

Batch = Annotated[
    int,
    typer.Option(
        "--batch", min=1, max=MOST, help="Sentences done together.", rich_help_panel=MACHINE
    ),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:0.", rich_help_panel=MACHINE)]
Precisions = Literal["fp32", "bf16"]
Precision = Annotated[
    Precisions,
    typer.Option(
        help="bf16 is up to twice as fast on processors that multiply it.",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int, typer.Option(min=0, max=1024, help="0 takes all processor cores.", rich_help_panel=MACHINE)
]


def model_folders(models: str) -> list[Path]:
    """The folders named with commas between them.

    Raises:
        ConfigError: a name is missing beside a comma.
    """
    # A folder may itself have a comma in its name.
    folders = [models] if Path(models).exists() else models.split(",")
    if not all(folders):
        raise ConfigError(
            "a model's name is missing beside a comma.", got=models, do="write MODEL or MODEL,MODEL"
        )
    return [Path(folder) for folder in folders]


def load_system(models: str, verb: str, device: str, precision: Precisions, threads: int) -> Any:
    """The model, or the ensemble of the models, that this verb is for.

    Raises:
        BundleError: a bundle that cannot be read, or that is for another verb.
    """
    import torch

    from jumok.systems.catalog import check_verb, load

    if threads:
        torch.set_num_threads(threads)
    folders = model_folders(models)
    for folder in folders:
        check_verb(folder, verb)
    return load(*folders, device=device, precision=precision)


def load_family(
    models: str, device: str, precision: Precisions, threads: int
) -> "tuple[Family, str]":
    """What traces the model, or the ensemble of the models, and the first one's name."""
    import torch

    from jumok.systems.tracers import load_family as load

    if threads:
        torch.set_num_threads(threads)
    family = load(*model_folders(models), device=device, precision=precision)
    return family, family.name


def load_translator(models: str, device: str, precision: Precisions, threads: int) -> "Translator":
    """The models named with commas between them, as one."""
    translator: Translator = load_system(models, "translate", device, precision, threads)
    return translator
