"""A recipe (TOML) and overrides become one typed, frozen config.

Every field below is a key of a recipe. `recipes/multi30k-en-de.toml` explains each in one line;
a test holds the two lists together. A key that does not exist is refused with its nearest
neighbour named; all faults are reported at once.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from jumok.errors import ConfigError, Place

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
Count = Annotated[int, Field(ge=1)]


def _locate(path: Path, info: Any) -> Path:
    """The absolute path: `$NAME` filled in, and otherwise counted from the recipe's folder.

    `info` is pydantic's ValidationInfo, a protocol that cannot be checked at run time.
    """
    context = info.context or {}
    text = str(path)
    try:
        filled = Template(text).substitute(context.get("variables", {}))
    except KeyError as error:
        raise ValueError(
            f"the environment variable {error.args[0]} is not set; "
            f"set it before the run: export {error.args[0]}=/path/to/the/folder"
        ) from error
    except ValueError as error:
        raise ValueError("a $ must be followed by a name; write $$ for the sign itself") from error
    # What a variable holds was written by someone in their own folder, not in the recipe's.
    folder = "" if text.startswith("$") else context.get("folder", "")
    return Path(os.path.abspath(Path(folder, filled)))


DataPath = Annotated[Path, AfterValidator(_locate)]


class Section(BaseModel):
    """A part of a config: frozen, and without room for keys nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusConfig(Section):
    """Pairs of sentences: two aligned files, or one file with two columns."""

    source: DataPath | None = None
    target: DataPath | None = None
    file: DataPath | None = None
    source_column: str | int = 0
    target_column: str | int = 1
    format: Literal["auto", "text", "tsv", "jsonl", "parquet", "tmx", "po"] = "auto"
    weight: Annotated[float, Field(gt=0.0)] | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> "CorpusConfig":
        if (self.file is None) == (self.source is None and self.target is None):
            raise ValueError("needs either `source` and `target`, or `file`")
        if self.file is None and (self.source is None or self.target is None):
            raise ValueError("needs both `source` and `target`")
        return self


class SmallworldConfig(Section):
    """The embedded English-Korean corpus, written into the run's folder before training."""

    pairs: Count = 60_000
    validation_pairs: Count = 500
    test_pairs: Count = 1_000
    minimum_words: Annotated[int, Field(ge=3, le=60)] = 3
    maximum_words: Annotated[int, Field(ge=3, le=60)] = 16


class DataConfig(Section):
    """What to train on, and what to validate on."""

    train: tuple[CorpusConfig, ...] = ()
    validation: tuple[CorpusConfig, ...] = ()
    validation_pairs: Count = 500
    smallworld: SmallworldConfig | None = None
    source_language: str = ""
    target_language: str = ""
    max_tokens: Count = 128
    max_ratio: Annotated[float, Field(gt=1.0)] = 9.0

    @model_validator(mode="after")
    def _something_to_read(self) -> "DataConfig":
        if not self.train and self.smallworld is None:
            raise ValueError("needs at least one [[data.train]] corpus, or [data.smallworld]")
        if self.train and self.smallworld is not None:
            raise ValueError("takes either [[data.train]] corpora, or [data.smallworld]")
        if len({corpus.weight is None for corpus in self.train}) > 1:
            raise ValueError("needs a `weight` for every [[data.train]] corpus, or for none")
        return self


class TokenizerConfig(Section):
    """SentencePiece, trained on the training data, or a model given by path."""

    kind: Literal["unigram", "bpe", "char"] = "unigram"
    size: Annotated[int, Field(ge=8)] = 8000
    byte_fallback: bool = True
    character_coverage: Annotated[float, Field(gt=0.9, le=1.0)] = 1.0
    sampling_alpha: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    path: DataPath | None = None


class TransformerConfig(Section):
    """The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm."""

    kind: Literal["transformer"] = "transformer"
    dim: Count = 256
    heads: Count = 4
    head_dim: Count | None = None
    value_dim: Count | None = None
    encoder_layers: Count = 3
    decoder_layers: Count = 3
    feedforward: Count = 1024
    activation: Literal["relu", "gelu"] = "relu"
    norm: Literal["pre", "post"] = "pre"
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    max_length: Count = 1024
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    feedforward_dropout: Share = 0.0
    word_dropout: Share = 0.0
    tied: Literal["all", "target", "none"] = "all"

    @model_validator(mode="after")
    def _heads_fit(self) -> "TransformerConfig":
        if self.head_dim is None and self.dim % self.heads:
            raise ValueError(
                f"dim = {self.dim} cannot be split among heads = {self.heads}: "
                "choose a multiple, or give head_dim"
            )
        head_dim = self.head_dim or self.dim // self.heads
        if self.positions == "rotary" and head_dim % 2:
            raise ValueError(f"rotary positions need an even head size, not {head_dim}")
        return self


class AverageConfig(Section):
    """Averaged weights, which is what gets validated and shipped."""

    kind: Literal["ema", "last", "none"] = "ema"
    decay: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.998
    last: Count = 5


class ScheduleConfig(Section):
    """The learning rate over the course of training."""

    kind: Literal["inverse-sqrt", "cosine", "warmup-stable-decay", "constant"] = "cosine"
    warmup: Annotated[int, Field(ge=0)] = 500
    decay_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2
    final_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.01


class TrainingConfig(Section):
    """The training step and how often it is repeated."""

    steps: Count = 8000
    minutes: Annotated[float, Field(gt=0.0)] | None = None
    tokens_per_batch: Count = 4096
    tokens_per_micro_batch: Count = 1024
    learning_rate: Annotated[float, Field(gt=0.0)] = 1.5e-3
    betas: tuple[Share, Share] = (0.9, 0.98)
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.0
    clip: Annotated[float, Field(gt=0.0)] | None = 1.0
    label_smoothing: Share = 0.1
    schedule: ScheduleConfig = ScheduleConfig()
    average: AverageConfig = AverageConfig()
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    threads: Annotated[int, Field(ge=0)] = 0
    device: str = "auto"
    log_every: Count = 20
    checkpoint_every: Count = 200
    tensorboard: bool = False


class ValidationConfig(Section):
    """How often to look, at what, and when to stop."""

    every: Count = 500
    metric: Literal["loss", "bleu", "chrf"] = "bleu"
    patience: Annotated[int, Field(ge=0)] = 0
    decode_pairs: Count = 200
    beam: Count = 1


class Config(Section):
    """A whole recipe."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    seed: Annotated[int, Field(ge=0)] = 1
    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: TransformerConfig = TransformerConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()

    @model_validator(mode="after")
    def _positions_suffice(self) -> "Config":
        counted = self.model.positions in ("sinusoidal", "learned")
        if counted and self.data.max_tokens >= self.model.max_length:
            raise ValueError(
                f"data.max_tokens = {self.data.max_tokens} and the end of the sentence need more "
                f"positions than model.max_length = {self.model.max_length}: raise the one or "
                "lower the other"
            )
        return self


def load_config(
    recipe: Path, overrides: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Config:
    """Reads a recipe.

    Args:
        recipe: a TOML file; relative paths in it count from its own folder.
        overrides: "training.steps=2000": a dotted key and a TOML value; a bare word is a string.
        variables: what `$NAME` in a path stands for.

    Raises:
        ConfigError: no such file, not TOML, an unknown key (the nearest is named), a wrong type,
            impossible sizes, a variable that is not set.
    """
    return parse_config(read_recipe(recipe), overrides, recipe, variables)


def read_recipe(recipe: Path) -> dict[str, Any]:
    """The recipe's keys and values, not yet judged."""
    place = Place(recipe)
    if not recipe.is_file():
        nearest = difflib.get_close_matches(recipe.name, _names(recipe.parent), n=1)
        raise ConfigError(
            "there is no such recipe.",
            place=place,
            do=f"did you mean {recipe.parent / nearest[0]}?" if nearest else "check the path",
        )
    try:
        return tomllib.loads(recipe.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(
            "the recipe is not UTF-8.", place=Place(recipe, byte=error.start), do="save it as UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("the recipe is not TOML.", place=place, got=str(error)) from error


def parse_config(
    values: dict[str, Any],
    overrides: Sequence[str] = (),
    recipe: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Config:
    """Judges keys and values; all faults are reported in one ConfigError.

    Args:
        recipe: the file that the values came from; None: relative paths stay as they are.
    """
    for override in overrides:
        _override(values, override)
    context = {"folder": recipe.parent if recipe else "", "variables": variables or {}}
    try:
        return Config.model_validate(values, context=context)
    except ValidationError as error:
        faults = "\n  ".join(_faults(error))
        raise ConfigError(
            f"the recipe cannot be followed:\n  {faults}",
            place=Place(recipe) if recipe else None,
            do="mend these keys; recipes/multi30k-en-de.toml explains every one",
        ) from error


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def _override(values: dict[str, Any], override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(
            "an override has the form section.key=value.",
            got=override,
            do="for example --set training.steps=2000",
        )
    *sections, key = dotted.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{section!r} in {dotted!r} is a value, not a section.", got=override)
    try:
        values[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        values[key] = text


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        path = ".".join(str(part) for part in fault["loc"]) or "recipe"
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(fault["loc"][-1]), _keys(fault["loc"]), n=1)
            yield f"{path}: unknown key; " + (
                f"did you mean {near[0]!r}?" if near else "no such key"
            )
        elif fault["type"] == "missing" or isinstance(fault["input"], dict):
            yield f"{path}: {message}"
        else:
            yield f"{path}: {message} (got {fault['input']!r})"


def _keys(location: tuple[str | int, ...]) -> list[str]:
    """The keys that the section holding `location` knows."""
    section: Any = Config
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        section = _section(section.model_fields[part].annotation)
    return list(section.model_fields)


def _section(annotation: Any) -> Any:
    """The Section inside an annotation such as `tuple[CorpusConfig, ...]` or `X | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(_section(part) for part in annotation.__args__ if part not in (type(None), ...))
