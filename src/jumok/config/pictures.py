"""The sections [model] and [data] of an image classifier."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.eye import EyeConfig
from jumok.config.section import Count, DataPath, Layers, ModelSection, PixelSide, Section, Share
from jumok.config.training import TrainingConfig
from jumok.config.vit import VitConfig


class ImageClassifierConfig(ModelSection):
    """A convolutional network, with self-attention after the given stages; or another encoder,
    which has its own keys, and a linear layer.
    """

    kind: Literal["image-classifier"] = "image-classifier"
    height: PixelSide = 32
    width: PixelSide = 32
    colours: Literal[1, 3] = 3
    patch: Count = 1
    channels: Annotated[tuple[Count, ...], Field(min_length=1, max_length=30)] = (32, 64, 128)
    blocks: Layers = 1
    attention_after: tuple[Count, ...] = ()
    attention_heads: Count = 4
    attention_dropout: Share = 0.0
    mixing_after: tuple[Count, ...] = ()
    dropout: Share = 0.0
    encoder: Annotated[EyeConfig | VitConfig, Field(discriminator="kind")] | None = None

    @property
    def input_shape(self) -> tuple[int, int, int, str, int | None]:
        """The height, width and colours of the images, and how they are made so: see `Shape`."""
        encoder = self.encoder
        if isinstance(encoder, VitConfig):
            return encoder.size, encoder.size, 3, encoder.resample, encoder.resized
        if encoder is not None:
            return encoder.size, encoder.size, 3, "bilinear", None
        return self.height, self.width, self.colours, "bilinear", None

    @property
    def summary(self) -> str:
        """A description of the sizes."""
        if self.encoder is not None:
            return f"{self.encoder.kind}, images of {self.encoder.size} x {self.encoder.size}"
        stages = f"{len(self.channels)} stages of {', '.join(map(str, self.channels))} channels"
        extras = [
            f"{name} after stage {', '.join(map(str, after))}"
            for name, after in (("attention", self.attention_after), ("mixing", self.mixing_after))
            if after
        ]
        return "; ".join([stages, *extras])

    @model_validator(mode="after")
    def _stages_exist(self) -> "ImageClassifierConfig":
        if self.encoder is not None:
            fields = type(self).model_fields
            own = [key for key in fields if key not in ("kind", "dropout", "encoder")]
            if given := [key for key in own if getattr(self, key) != fields[key].default]:
                raise ValueError(f"model.encoder has its own keys: leave out {', '.join(given)}")
        stages = len(self.channels)
        for name in ("attention_after", "mixing_after"):
            if beyond := [stage for stage in getattr(self, name) if stage > stages]:
                raise ValueError(f"{name} = {beyond[0]}, but there are only {stages} stages")
        for stage in self.attention_after:
            if self.channels[stage - 1] % self.attention_heads:
                raise ValueError(
                    f"{self.channels[stage - 1]} channels of stage {stage} cannot be split among "
                    f"attention_heads = {self.attention_heads}: choose a multiple"
                )
        return self


class PicturesConfig(Section):
    """Images and their labels: a folder or zip archive, a table, or two IDX files."""

    folder: DataPath | None = None
    table: DataPath | None = None
    images: DataPath | None = None
    labels: DataPath | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> "PicturesConfig":
        if (self.images is None) != (self.labels is None):
            raise ValueError("needs both `images` and `labels`")
        given = [each for each in (self.folder, self.table, self.images) if each is not None]
        if len(given) != 1:
            raise ValueError("needs either `folder`, or `table`, or `images` and `labels`")
        return self


class AugmentationConfig(Section):
    """Data augmentation: random changes of the training images."""

    flip: bool = False
    shift: Annotated[int, Field(ge=0)] = 0
    views: Count = 1


class PictureDataConfig(Section):
    """The training and validation data."""

    train: Annotated[tuple[PicturesConfig, ...], Field(min_length=1)]
    validation: tuple[PicturesConfig, ...] = ()
    validation_pictures: Count = 1000
    skip_damaged: bool = False
    augmentation: AugmentationConfig = AugmentationConfig()


class PictureTrainingConfig(TrainingConfig):
    """As for text, but in images instead of tokens."""

    tokens_per_batch: Count = 64
    tokens_per_micro_batch: Count = 64
