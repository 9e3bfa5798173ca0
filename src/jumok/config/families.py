"""Which sections a recipe has, for each kind of model."""

from typing import Annotated, ClassVar, get_args

from pydantic import Field, field_validator, model_validator

from jumok.config.captioner import (
    CaptionDataConfig,
    CaptionerConfig,
    CaptionValidationConfig,
    RnnDecoderConfig,
)
from jumok.config.causal import CausalConfig
from jumok.config.data import DataConfig, TokenizerConfig, VectorsConfig
from jumok.config.eye import EyeConfig
from jumok.config.masked import EncoderConfig, MaskedConfig, MaskingConfig, TextClassifierConfig
from jumok.config.pictures import (
    ImageClassifierConfig,
    PictureDataConfig,
    PictureTrainingConfig,
)
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import DataPath, ModelSection, Section
from jumok.config.texts import LabelledTextsConfig, TextDataConfig, TextsConfig, TextTokenizerConfig
from jumok.config.training import (
    ClassificationValidationConfig,
    ExactTrainingConfig,
    LanguageModelTrainingConfig,
    LossValidationConfig,
    MaskedValidationConfig,
    StartConfig,
    TextValidationConfig,
    TrainingConfig,
    TranslationTrainingConfig,
    ValidationConfig,
)
from jumok.config.transformer import TransformerConfig
from jumok.kinds import KINDS
from jumok.places import import_string


class Config(Section):
    """The common part of all recipes; each family of models adds its sections.

    Attributes:
        manual: the recipes that explain the keys, for error messages.
    """

    manual: ClassVar[str] = (
        "`jumok recipes show multi30k-en-de` explains all keys, multi30k-rnn those of RNNs"
    )

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    plugins: tuple[DataPath, ...] = ()
    start: StartConfig | None = None
    model: ModelSection
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig


DEFAULT_KIND = "transformer"
"""The `model.kind` of a recipe that names none."""


class TranslationConfig(Config):
    """Sequence to sequence: text in, text out."""

    data: DataConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    vectors: VectorsConfig | None = None
    model: Annotated[TransformerConfig | RecurrentConfig, Field(discriminator="kind")] = (
        TransformerConfig()
    )
    training: TranslationTrainingConfig = TranslationTrainingConfig()
    validation: TextValidationConfig = TextValidationConfig()

    @field_validator("model", mode="before")
    @classmethod
    def _kind_may_be_left_out(cls, model: object) -> object:
        return {"kind": DEFAULT_KIND} | model if isinstance(model, dict) else model

    @model_validator(mode="after")
    def _packed_sentences_fit(self) -> "TranslationConfig":
        if self.training.batches != "packed":
            return self
        if not isinstance(self.model, TransformerConfig):
            raise ValueError(
                'training.batches = "packed" is for Transformers: the state of an RNN would carry '
                'over to the next sentence; leave it out, or choose "exact"'
            )
        if self.model.knows_row:
            raise ValueError(
                'training.batches = "packed" needs scores that depend on distances alone, but '
                'positions = "rotary" in this attention depend on the place in the row: choose '
                'other positions, or "exact"'
            )
        if not self.model.source_end:
            raise ValueError(
                'training.batches = "packed" reads the END of sources, which source_end = false '
                'leaves out: choose "exact"'
            )
        if self.varies:
            raise ValueError(
                'training.batches = "packed" needs sentences of known lengths, which '
                "tokenizer.sampling_alpha and data.noise change: leave one of them out"
            )
        return self

    @property
    def varies(self) -> bool:
        """Whether sentences are tokenized from their texts each time, and not the same way."""
        return self.tokenizer.sampling_alpha > 0.0 or self.data.noise is not None

    @model_validator(mode="after")
    def _positions_suffice(self) -> "TranslationConfig":
        model = self.model
        if not isinstance(model, TransformerConfig) or not model.specs.positions.limited:
            return self
        if self.data.max_tokens >= model.max_length:
            raise ValueError(
                f"data.max_tokens = {self.data.max_tokens} and the end of the sentence need more "
                f"positions than model.max_length = {model.max_length}: raise the one or "
                "lower the other"
            )
        return self


class CaptionConfig(Config):
    """Images in, sentences out."""

    manual: ClassVar[str] = (
        "`jumok recipes show scenes` and flickr8k explain the keys of images and captions, "
        "flickr8k-pretrained those of pretrained encoders, multi30k-en-de all others"
    )

    data: CaptionDataConfig
    tokenizer: TokenizerConfig = TokenizerConfig(size=2000)
    model: CaptionerConfig = CaptionerConfig()
    validation: CaptionValidationConfig = CaptionValidationConfig()

    @model_validator(mode="after")
    def _positions_suffice(self) -> "CaptionConfig":
        decoder = self.model.decoder
        if isinstance(decoder, RnnDecoderConfig):
            return self
        counted = decoder.specs.positions.limited
        if counted and self.data.max_tokens >= decoder.max_length:
            raise ValueError(
                f"data.max_tokens = {self.data.max_tokens} and the end of the caption need more "
                f"positions than model.decoder.max_length = {decoder.max_length}: raise the one "
                "or lower the other"
            )
        return self

    @model_validator(mode="after")
    def _images_can_be_changed(self) -> "CaptionConfig":
        data, encoder = self.data, self.model.encoder
        changed = bool(data.flip or data.shift)
        if encoder.kind == "given" and changed:
            raise ValueError(
                "flip and shift need pixels, and the features are precomputed: leave them out"
            )
        check_views(data.views, changed=changed, stored=isinstance(encoder, EyeConfig))
        return self


def check_views(views: int, *, changed: bool, stored: bool) -> None:
    """Raises ValueError unless images that a pretrained encoder reads are changed by views.

    Args:
        changed: they are flipped or shifted.
        stored: what its frozen stages compute is stored.
    """
    if stored and changed != (views > 1):
        raise ValueError(
            "a pretrained encoder reads each image once, so `views` = 2 or more are stored with "
            "flip and shift: give both, or neither"
        )
    if not stored and views > 1:
        raise ValueError(
            "`views` are stored for a pretrained encoder, and this one reads the images again in "
            "each epoch: leave it out"
        )


class ImageClassificationConfig(Config):
    """Images in, labels out."""

    manual: ClassVar[str] = (
        "`jumok recipes show cifar10-attention` explains the keys of images, "
        "flickr8k-pretrained those of pretrained encoders, multi30k-en-de all others"
    )

    data: PictureDataConfig
    model: ImageClassifierConfig = ImageClassifierConfig()
    training: PictureTrainingConfig = PictureTrainingConfig()
    validation: ClassificationValidationConfig = ClassificationValidationConfig()

    @model_validator(mode="after")
    def _images_can_be_changed(self) -> "ImageClassificationConfig":
        changes, encoder = self.data.augmentation, self.model.encoder
        check_views(
            changes.views,
            changed=bool(changes.flip or changes.shift),
            stored=isinstance(encoder, EyeConfig),
        )
        return self


class LanguageModelConfig(Config):
    """Plain text in, the next token out."""

    manual: ClassVar[str] = (
        "`jumok recipes show shakespeare` explains the keys of texts, multi30k-en-de all others"
    )

    data: TextDataConfig
    tokenizer: TextTokenizerConfig = TextTokenizerConfig()
    model: CausalConfig = CausalConfig()
    training: LanguageModelTrainingConfig = LanguageModelTrainingConfig()
    validation: LossValidationConfig = LossValidationConfig()

    @property
    def context(self) -> int:
        """The tokens of a window of training."""
        return min(self.data.window or self.model.max_length, self.model.max_length)

    @model_validator(mode="after")
    def _a_batch_holds_a_window(self) -> "LanguageModelConfig":
        context, training = self.context, self.training
        smallest = min(training.tokens_per_batch, training.tokens_per_micro_batch)
        if context < 2 or smallest < context:
            raise ValueError(
                f"training.tokens_per_batch = {training.tokens_per_batch} and "
                f"training.tokens_per_micro_batch = {training.tokens_per_micro_batch} must hold "
                f"at least one window of {context} tokens, and that two: raise these, or lower "
                "data.window, which is model.max_length where it is not given"
            )
        return self

    @model_validator(mode="after")
    def _documents_may_share_windows(self) -> "LanguageModelConfig":
        if self.model.knows_row and self.data.documents != "file":
            raise ValueError(
                f'data.documents = "{self.data.documents}" lets documents share a window, and '
                'positions = "rotary" in this attention depend on the place in it, which is '
                'another one in generation: choose other positions, or documents = "file"'
            )
        return self


class MaskedLanguageModelConfig(Config):
    """Masked texts in, the masked tokens out."""

    manual: ClassVar[str] = (
        "`jumok recipes show nsmc-mlm` explains the keys of texts, multi30k-en-de all others"
    )

    data: TextsConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    vectors: VectorsConfig | None = None
    model: MaskedConfig = MaskedConfig()
    masking: MaskingConfig = MaskingConfig()
    training: ExactTrainingConfig = ExactTrainingConfig()
    validation: MaskedValidationConfig = MaskedValidationConfig()

    @model_validator(mode="after")
    def _positions_suffice(self) -> "MaskedLanguageModelConfig":
        check_max_positions(self.data.max_tokens, self.model)
        return self


class TextClassificationConfig(Config):
    """Texts in, labels out."""

    manual: ClassVar[str] = (
        "`jumok recipes show nsmc` and nsmc-mlm explain the keys of texts, "
        "multi30k-en-de all others"
    )

    data: LabelledTextsConfig
    tokenizer: TokenizerConfig = TokenizerConfig()
    vectors: VectorsConfig | None = None
    model: TextClassifierConfig = TextClassifierConfig()
    validation: ClassificationValidationConfig = ClassificationValidationConfig()

    @model_validator(mode="after")
    def _positions_suffice(self) -> "TextClassificationConfig":
        if self.model.pretrained is None:
            check_max_positions(self.data.max_tokens, self.model)
        return self

    @model_validator(mode="after")
    def _begins_once(self) -> "TextClassificationConfig":
        if self.model.pretrained is not None and self.vectors is not None:
            raise ValueError(
                "model.pretrained and vectors both initialize the embeddings: leave one of them out"
            )
        return self


def check_max_positions(max_tokens: int, model: EncoderConfig) -> None:
    """Raises ValueError if there are not enough positions for START, the tokens and END."""
    if model.specs.positions.limited and max_tokens + 2 > model.max_length:
        raise ValueError(
            f"data.max_tokens = {max_tokens}, START and END need more positions than "
            f"model.max_length = {model.max_length}: raise the latter or lower the former"
        )


RECIPES: tuple[type[Config], ...] = (
    TranslationConfig,
    CaptionConfig,
    ImageClassificationConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassificationConfig,
)


def sections_of(recipe: type[Config]) -> tuple[type[ModelSection], ...]:
    """The sections [model] of a recipe, one for each kind of model."""
    annotation = recipe.model_fields["model"].annotation
    kinds: tuple[type[ModelSection], ...] = get_args(annotation)
    if kinds:
        return kinds
    assert isinstance(annotation, type)
    return (annotation,)


def _kind_values(recipe: type[Config]) -> list[str]:
    """The values of its `model.kind`."""
    return [section.model_fields["kind"].default for section in sections_of(recipe)]


FAMILIES: dict[str, type[Config]] = {
    kind: recipe for recipe in RECIPES for kind in _kind_values(recipe)
}
"""The recipe of every `model.kind` that comes with jumok."""


def families() -> dict[str, type[Config]]:
    """The recipe of every `model.kind`, those of plugins included."""
    places = [each.recipe for each in KINDS.values() if each.recipe is not None]
    return FAMILIES | {
        kind: recipe for recipe in map(import_string, places) for kind in _kind_values(recipe)
    }
