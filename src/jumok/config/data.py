"""The sections [data], [tokenizer] and [vectors]."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializationInfo,
    field_serializer,
    model_serializer,
    model_validator,
)

from jumok.config.section import Count, DataPath, DataSource, Section, part_name

PositiveShare = Annotated[float, Field(gt=0.0, le=1.0)]
Format = Annotated[str, part_name("format", "auto", "text")]


class CorpusConfig(Section):
    """Pairs of sentences: two aligned files, one file with two columns, or a prepared corpus."""

    source: DataPath | None = None
    target: DataPath | None = None
    file: DataPath | None = None
    prepared: DataSource | None = None
    source_column: str | int = 0
    target_column: str | int = 1
    format: Format = "auto"
    encoding: str = "utf-8"
    delimiter: str = ""
    weight: Annotated[float, Field(gt=0.0)] | None = None
    source_language: str = ""
    target_language: str = ""

    @model_validator(mode="after")
    def _one_shape(self) -> "CorpusConfig":
        texts = self.source is not None or self.target is not None
        if texts + (self.file is not None) + (self.prepared is not None) != 1:
            raise ValueError("needs either `source` and `target`, or `file`, or `prepared`")
        if self.prepared is not None:
            return self
        if self.file is None and (self.source is None or self.target is None):
            raise ValueError("needs both `source` and `target`")
        if self.format != "auto" and (self.format == "text") != (self.file is None):
            raise ValueError('reads `format` "text" from `source` and `target`, others from `file`')
        return self


class SmallworldConfig(Section):
    """The embedded English-Korean corpus, generated in the run's folder before training."""

    pairs: Count = 60_000
    validation_pairs: Count = 500
    test_pairs: Count = 1_000
    minimum_words: Annotated[int, Field(ge=3, le=60)] = 3
    maximum_words: Annotated[int, Field(ge=3, le=60)] = 16


class CleanConfig(Section):
    """The section [data.clean]: filters of pairs, in their order.

    None, in recipes false: a filter is not applied.
    """

    equal: bool = True
    encoding: bool = True
    markup: bool = True
    length: Count | None = 1000
    ratio: Annotated[float, Field(gt=1.0)] | None = 4.0
    letters: PositiveShare | None = 0.4
    script: PositiveShare | None = 0.7
    addresses: PositiveShare | None = 0.3
    long_words: Count | None = 40
    numbers: Annotated[int, Field(ge=0)] | None = 2
    language: PositiveShare | None = 0.8
    duplicates: Literal["pair", "target"] | None = "pair"
    near_duplicates: PositiveShare | None = 0.9

    @model_validator(mode="before")
    @classmethod
    def _switched(cls, values: object) -> object:
        """`true` is a filter with its usual threshold, `false` none."""
        if not isinstance(values, Mapping):
            return values
        simple = {name for name, field in cls.model_fields.items() if field.annotation is bool}
        return {
            name: value if name in simple or value is not False else None
            for name, value in values.items()
            if value is not True
        }

    @model_serializer
    def _written(self, info: SerializationInfo) -> dict[str, object]:
        """As in recipes: None is false, which `exclude_none` leaves in its place."""
        names = self.model_fields_set if info.exclude_unset else type(self).model_fields
        values = {name: getattr(self, name) for name in type(self).model_fields if name in names}
        return {name: False if value is None else value for name, value in values.items()}


def clean_section(value: object) -> object:
    """The section of `clean = true`, of a list of filters with their usual thresholds, or itself.

    Raises:
        ValueError: it is neither of these, or names a filter that does not exist.
    """
    names = list(CleanConfig.model_fields)
    if value is True or value is False:
        return {} if value else None
    if isinstance(value, list | tuple):
        unknown = [each for each in value if each not in names]
        if unknown:
            raise ValueError(f"there is no filter {unknown[0]!r}; there are {', '.join(names)}")
        return {name: name in value for name in names} if value else None
    if value is None or isinstance(value, Mapping | CleanConfig):
        return value
    raise ValueError("is true, false, a list of filters, or a section with their thresholds")


Likelihood = Annotated[float, Field(ge=0.0, le=1.0)]


class NoiseConfig(Section):
    """The section [data.noise]: how likely a source is changed in each way, whenever it is read."""

    case: Likelihood = 0.2
    typos: Likelihood = 0.2
    punctuation: Likelihood = 0.05
    spaces: Likelihood = 0.05
    emoji: Likelihood = 0.02


def noise_section(value: object) -> object:
    """The section of `noise = true`; None of `noise = false`."""
    return ({} if value else None) if isinstance(value, bool) else value


class DataConfig(Section):
    """The training and validation data."""

    train: tuple[CorpusConfig, ...] = ()
    validation: tuple[CorpusConfig, ...] = ()
    validation_pairs: Count = 500
    test_pairs: Annotated[int, Field(ge=0)] = 0
    smallworld: SmallworldConfig | None = None
    source_language: str = ""
    target_language: str = ""
    sampling_temperature: Annotated[float, Field(ge=1.0)] | None = None
    max_tokens: Count = 128
    max_ratio: Annotated[float, Field(gt=1.0)] = 9.0
    skip_damaged: bool = False
    clean: Annotated[CleanConfig | None, BeforeValidator(clean_section)] = None
    noise: Annotated[NoiseConfig | None, BeforeValidator(noise_section)] = None

    @model_validator(mode="after")
    def _something_to_read(self) -> "DataConfig":
        if not self.train and self.smallworld is None:
            raise ValueError("needs at least one [[data.train]] corpus, or [data.smallworld]")
        if self.train and self.smallworld is not None:
            raise ValueError("takes either [[data.train]] corpora, or [data.smallworld]")
        if len({corpus.weight is None for corpus in self.train}) > 1:
            raise ValueError("needs a `weight` for every [[data.train]] corpus, or for none")
        if len({corpus.prepared is None for corpus in self.train}) > 1:
            raise ValueError("takes [[data.train]] corpora that are all `prepared`, or none")
        if self.is_prepared and self.test_pairs:
            raise ValueError("cannot hold out `test_pairs` of `prepared` corpora: leave it out")
        if any(corpus.prepared is not None for corpus in self.validation):
            raise ValueError("takes [[data.validation]] pairs from files, not `prepared` ones")
        if self.sampling_temperature is not None and any(each.weight for each in self.train):
            raise ValueError("takes a `weight` for every corpus, or `sampling_temperature`")
        self._check_languages()
        return self

    def _check_languages(self) -> None:
        if len(self.pairs) > 1:
            if self.is_prepared:
                raise ValueError("takes `prepared` corpora of one pair of languages only")
            if not all(code for pair in self.pairs for code in pair):
                raise ValueError("needs both languages of every corpus, as they are several")
        others = {self.pair_of(corpus) for corpus in self.validation} - {*self.pairs}
        if self.train and others:
            raise ValueError(f"has [[data.validation]] pairs of {others}, and none to train on")

    def pair_of(self, corpus: CorpusConfig) -> tuple[str, str]:
        """The languages of a corpus."""
        return (
            corpus.source_language or self.source_language,
            corpus.target_language or self.target_language,
        )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of languages of the training corpora, each once."""
        own = self.source_language, self.target_language
        return tuple(dict.fromkeys(map(self.pair_of, self.train))) or (own,)

    @field_serializer("clean", "noise")
    def _switch_written(
        self, section: CleanConfig | NoiseConfig | None
    ) -> CleanConfig | NoiseConfig | Literal[False]:
        return section or False

    @property
    def is_prepared(self) -> bool:
        """Whether the training corpora are token ids already."""
        return any(corpus.prepared is not None for corpus in self.train)


class PiecesConfig(Section):
    """A SentencePiece vocabulary, trained on the training data, or a model given by path."""

    size: Annotated[int, Field(ge=8)] = 8000
    byte_fallback: bool = True
    character_coverage: Annotated[float, Field(gt=0.9, le=1.0)] = 1.0
    path: DataPath | None = None


class TokenizerConfig(PiecesConfig):
    """The tokenizer, with subword regularisation."""

    kind: Literal["unigram", "bpe", "char"] = "unigram"
    sampling_alpha: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0


class VectorsConfig(Section):
    """word2vec, GloVe or fastText vectors for the words that are one subword.

    It is not a part of [model], because a trained model does not need its initial embeddings to be
    built again.
    """

    path: DataPath
    frozen: bool = False
