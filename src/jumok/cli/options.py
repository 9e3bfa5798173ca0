"""Options of several commands, and dataclasses of options as parameters of typer commands."""

import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from jumok import environment
from jumok.data.report import UTF8
from jumok.decoding.options import DecodingOptions
from jumok.errors import ConfigError
from jumok.options import OptionField, option, options_of

if TYPE_CHECKING:
    from jumok.systems.base import AnySystem
    from jumok.systems.catalog import OpenedModel
    from jumok.tracing.catalog import Family

LARGEST_COUNT = 10**6
"""A typing error is refused at once, not after hours."""

ENCODING = "Character encoding of the input: cp949, shift_jis, latin-1, utf-16, ..."
DELIMITER = "With --data: column delimiter of TSV and CSV files, such as ; or tab."

CONTENT, OUTPUT, MACHINE = "Sentences and terms", "Output", "Machine"
Split = Literal["auto", "sentences", "length", "none"]


_LISTED: dict[Any, Any] = {tuple[str, ...]: list[str]}
"""Types of options, with those that typer has."""


class Without:
    """In the annotation of a group: options, or panels of them, that a command does not have."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)


def flat(verb: Callable[..., object]) -> Callable[..., object]:
    """The command with one parameter for each option of its groups, as typer needs it.

    A group is a parameter `Annotated[Kind, Kind(...), Without(...)]`, with its defaults.
    """
    signature = inspect.signature(verb, eval_str=True)
    groups: dict[str, tuple[Any, list[OptionField]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        group = _group(parameter.annotation)
        if group is None:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = default, fields = group
        parameters += [
            inspect.Parameter(
                known.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(default, known.name),
                annotation=Annotated[_LISTED.get(known.kind, known.kind), typer_option(known)],
            )
            for known in fields
        ]

    @functools.wraps(verb)
    def command(**given: Any) -> object:
        made = {}
        for name, (default, fields) in groups.items():
            values = {each.name: given.pop(each.name) for each in fields}
            values |= {
                each.name: tuple(values[each.name]) for each in fields if each.kind in _LISTED
            }
            decoding = isinstance(default, DecodingOptions)
            made[name] = default.changed(values) if decoding else replace(default, **values)
        return verb(**{**given, **made})

    command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _group(annotation: Any) -> tuple[Any, list[OptionField]] | None:
    """The defaults and the options of a group; None: it is none."""
    if get_origin(annotation) is not Annotated:
        return None
    kind, *known = get_args(annotation)
    if not isinstance(kind, type) or not is_dataclass(kind):
        return None
    default = next(each for each in known if isinstance(each, kind))
    without = {name for each in known if isinstance(each, Without) for name in each.names}
    options = options_of(type(default)).values()
    return default, [each for each in options if not {each.name, each.option.panel} & without]


def typer_option(known: OptionField, help: str | None = None) -> Any:
    """The option as typer has it, perhaps with another help."""
    option = known.option
    whole = int in {known.kind, *get_args(known.kind)}

    def limit(value: float | None) -> float | None:
        return value if value is None or whole else float(value)

    return typer.Option(
        *(option.names or (f"--{known.name.strip('_').replace('_', '-')}",)),
        help=help or option.help,
        min=limit(option.minimum),
        max=limit(option.maximum),
        rich_help_panel=option.panel,
        metavar=option.metavar,
    )


ModelOrEnsemble = Annotated[
    str,
    typer.Argument(
        help="Bundle: the folder of a trained model. Comma-separated bundles form an ensemble."
    ),
]
OneModel = Annotated[str, typer.Argument(help="Bundle: the folder of a trained model.")]
Recipe = Annotated[
    Path, typer.Argument(help="Recipe: a TOML file, or a name listed by `jumok recipes`.")
]
Text = Annotated[
    Path | None,
    typer.Argument(
        help="Text file, one sentence per line; .gz or .zst also work (default: stdin)."
    ),
]
AsOneObject = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Formats = Literal[
    "auto", "lines", "paragraphs", "markdown", "html", "docx", "srt", "vtt", "ass", "po", "xliff",
    "tmx", "json", "yaml", "properties", "strings", "ipynb",
]  # fmt: skip
Beam = Annotated[int, typer_option(options_of(DecodingOptions)["beam"])]
Beams = Annotated[
    int | None,
    typer_option(
        options_of(DecodingOptions)["beam"],
        "Beam size; 1 = greedy decoding (default: 5; for language models: 1).",
    ),
]
DATA = "One file with source and target instead: TMX, PO, XLIFF, TSV, CSV, JSONL or Parquet."
IMAGES = (
    "For captions: folder or .zip of the images that --data names (default: images/ or images.zip"
    " beside that file)."
)
GOLD = "File of gold alignments, one line per sentence pair (0-0 = sure, 1p2 = possible)."
GOLD_COLUMNS = (
    "With --data: columns of source, target and, optionally, gold alignment (default: 0,1)."
)
SKIP_DAMAGED = "Skip unreadable lines or images, and report their number."
FROM = (
    "Source language, if the model has several language pairs; with --data, also the name of the "
    "source column."
)
TO = (
    "Target language, if the model has several language pairs; with --data, also the name of the "
    "target column."
)


@dataclass(frozen=True)
class ChosenLanguages:
    """The pair of languages of a model that has several."""

    from_: str | None = option(None, "Source language, if the model has several language pairs.")
    to: str | None = option(None, "Target language, if the model has several language pairs.")

    def chosen(self, system: "AnySystem") -> "AnySystem":
        """The system for these languages."""
        from jumok.systems.catalog import for_languages

        return for_languages(system, self.from_, self.to)


@dataclass(frozen=True)
class PairFiles:
    """Where pairs of texts are."""

    source: Path | None = option(None, "Text file, one sentence per line.", "--source", "-s")
    target: Path | None = option(None, "Translation of --source, line-aligned.", "--target", "-t")
    data: Path | None = option(None, DATA, "--data", "-d")
    columns: str | None = option(
        None, "With --data: columns of the text and its translation (default: 0,1)."
    )
    from_: str | None = option(None, FROM)
    to: str | None = option(None, TO)

    encoding: str = option(UTF8, ENCODING)
    delimiter: str = option("", DELIMITER)


@dataclass(frozen=True)
class GoldFiles(PairFiles):
    """Where pairs of texts are, and their gold links."""

    columns: str | None = option(None, GOLD_COLUMNS)
    gold: Path | None = option(None, GOLD)


@dataclass(frozen=True)
class ReadingOptions:
    """What of a line a translator reads, and where it is cut."""

    split: Split = option(
        "auto",
        "Split lines into segments after each sentence, only if they are too long, or never. "
        "auto: as in the model's training data.",
        panel=CONTENT,
    )
    keep: list[str] | None = option(
        None,
        "Copy text that matches this regular expression unchanged, as tags, placeholders, "
        "addresses and numbers are. Repeatable.",
        panel=CONTENT,
    )
    no_keep: bool = option(
        False,
        "Let the model translate all text, including tags, placeholders and numbers.",
        panel=CONTENT,
    )

    @property
    def kept(self) -> bool | list[str]:
        """The argument `keep` of `Translator.translate`.

        Raises:
            ConfigError: both --keep and --no-keep were given.
        """
        if self.no_keep and self.keep:
            raise ConfigError(
                "--keep and --no-keep contradict each other.", do="leave one of them out"
            )
        return self.keep or not self.no_keep


@dataclass(frozen=True)
class Output:
    """Where the output goes, and how."""

    as_json: bool = option(False, "Print the output as JSON.", "--json", panel=OUTPUT)
    output: Path | None = option(
        None,
        "Output file, written atomically (default: stdout). A .csv file has a header line.",
        *("--output", "-o"),
        panel=OUTPUT,
    )


ANY_LANGUAGES = ChosenLanguages()


@dataclass(frozen=True)
class Computer:
    """What computes."""

    batch: int = option(
        32, "Batch size in examples.", minimum=1, maximum=LARGEST_COUNT, panel=MACHINE
    )
    device: str = option("auto", "Device: auto, cpu, cuda or cuda:0.", panel=MACHINE)
    threads: int = option(0, "CPU threads; 0 = all cores.", minimum=0, maximum=1024, panel=MACHINE)

    def _open(self, models: "str | OpenedModel", verb: str) -> "OpenedModel":
        use_threads(self.threads)
        opened = open_models(models) if isinstance(models, str) else models
        opened.check_verb(verb)
        return opened


@dataclass(frozen=True)
class Machine(Computer):
    """What computes, on torch."""

    precision: Literal["fp32", "bf16"] = option(
        "fp32",
        "Number format. bf16 is faster on CPUs that support bfloat16.",
        panel=MACHINE,
    )

    def load(self, models: "str | OpenedModel", verb: str) -> Any:
        """Loads the model, or the ensemble, for the command `verb`.

        Args:
            models: folders, or what `open_models` read of them.

        Raises:
            BundleError: a bundle cannot be read, or is for another command.
        """
        return self._open(models, verb).load(self.device, self.precision)

    def load_family(self, models: str, languages: ChosenLanguages = ANY_LANGUAGES) -> "Family":
        """Loads what traces the model, or the ensemble, for these languages."""
        use_threads(self.threads)
        from jumok.tracing.catalog import load_family

        return load_family(
            *model_folders(models), device=self.device, precision=self.precision,
            between=(languages.from_, languages.to),
        )  # fmt: skip


@dataclass(frozen=True)
class EngineMachine(Computer):
    """What computes, torch or the native engine."""

    engine: Literal["auto", "torch", "native"] = option(
        "auto",
        "Compute with torch, or with the native engine, which is faster on the CPU and uses torch "
        "for unsupported requests. auto: native if it supports the model (see jumok info MODEL) "
        "and there is no GPU.",
        panel=MACHINE,
    )
    precision: Literal["auto", "fp32", "bf16", "int8"] = option(
        "auto",
        "Number format. int8 needs the native engine; bf16 is faster on CPUs that support "
        "bfloat16. auto: the bundle's format on the native engine, fp32 on torch.",
        panel=MACHINE,
    )

    def load(self, models: str, verb: str) -> Any:
        """As `Machine.load`, on the engine."""
        opened = self._open(models, verb)
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
