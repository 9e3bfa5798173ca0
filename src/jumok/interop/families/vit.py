"""ViT and DeiT: classifiers of images by a Transformer over patches.

Source: Dosovitskiy et al. 2021; Touvron et al. 2021; names of transformers.
"""

from collections.abc import Collection, Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import Count, PixelSide, Share
from jumok.config.vit import Channels, Resampling, VitConfig
from jumok.errors import BundleError, Location
from jumok.interop.activations import ActivationName, activation_here
from jumok.interop.families.bert import LAYER
from jumok.interop.family import ModelFamily
from jumok.interop.rows import Table, TensorRow, layer_rows
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import NO_TEXT, Vocabulary

RESAMPLING: tuple[Resampling, ...] = (
    *("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"),
)
"""By Pillow's numbers."""


class ImageSide(BaseModel):
    """A size of which both sides are equal."""

    model_config = ConfigDict(extra="forbid")

    height: PixelSide
    width: PixelSide

    @model_validator(mode="before")
    @classmethod
    def _of_one_number(cls, value: object) -> object:
        return {"height": value, "width": value} if isinstance(value, int) else value

    @model_validator(mode="after")
    def _equal(self) -> "ImageSide":
        if self.height != self.width:
            raise ValueError("both sides have to be equal")
        return self


class Preprocessor(BaseModel):
    """The keys of preprocessor_config.json that change what a model reads."""

    model_config = ConfigDict(extra="forbid")
    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"image_processor_type", "feature_extractor_type", "processor_class", "default_to_square"}
        | {"_valid_processor_keys", "data_format", "input_data_format", "return_tensors", "device"}
    )

    do_resize: Literal[True] = True
    size: ImageSide = ImageSide(height=224, width=224)
    resample: Annotated[int, Field(ge=0, lt=len(RESAMPLING))] = 2
    do_center_crop: bool = False
    crop_size: ImageSide | None = None
    do_rescale: Literal[True] = True
    rescale_factor: float = Field(1 / 255, gt=0.003921, lt=0.003922)
    do_normalize: bool = True
    image_mean: Channels = (0.5, 0.5, 0.5)
    image_std: Channels = (0.5, 0.5, 0.5)
    do_convert_rgb: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        return {
            key: value
            for key, value in values.items()
            if value is not None and key not in cls.without_effect
        }


class VitSettings(Settings):
    """The keys of a ViT's config.json, and of preprocessor_config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"encoder_stride", "pooler_act", "pooler_output_size", "eos_token_id"}
        | {"decoder_start_token_id", "tie_word_embeddings", "is_encoder_decoder"}
    )

    vocab_size: Literal[0] = 0
    hidden_size: Count = 768
    num_hidden_layers: Count = 12
    num_attention_heads: Count = 12
    intermediate_size: Count = 3072
    hidden_act: ActivationName = "gelu"
    hidden_dropout_prob: Share = 0.0
    attention_probs_dropout_prob: Share = 0.0
    layer_norm_eps: float = Field(1e-12, gt=0.0, lt=1.0)
    image_size: PixelSide = 224
    patch_size: Count = 16
    num_channels: Literal[3] = 3
    qkv_bias: Literal[True] = True
    id2label: dict[int, str] = Field({0: "LABEL_0", 1: "LABEL_1"}, min_length=1)
    images: Preprocessor = Field(alias="preprocessor_config.json")

    @model_validator(mode="after")
    def _images_fit(self) -> "VitSettings":
        images = self.images
        read = images.size
        if images.do_center_crop:
            read = images.crop_size or images.size
            if read.height > images.size.height:
                raise ValueError("crop_size is larger than size: there is nothing to fill it with")
        if read.height != self.image_size:
            raise ValueError(f"images of {read.height} pixels for image_size = {self.image_size}")
        if sorted(self.id2label) != list(range(len(self.id2label))):
            raise ValueError("id2label does not number its labels from 0")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Two that are equal get their numbers."""
        names = [self.id2label[id] for id in range(len(self.id2label))]
        return tuple(
            f"{name} ({id})" if names.count(name) > 1 else name for id, name in enumerate(names)
        )


def encoder_section(settings: VitSettings, *, distilled: bool) -> VitConfig:
    """The same sizes as a section [model.encoder]."""
    images = settings.images
    cropped = images.do_center_crop and images.size.height != settings.image_size
    return VitConfig.model_validate(
        {
            "size": settings.image_size,
            "patch": settings.patch_size,
            "layers": settings.num_hidden_layers,
            "dim": settings.hidden_size,
            "heads": settings.num_attention_heads,
            "feedforward": settings.intermediate_size,
            "activation": activation_here(settings.hidden_act),
            "norm_epsilon": settings.layer_norm_eps,
            "distilled": distilled,
            "mean": images.image_mean if images.do_normalize else (0.0, 0.0, 0.0),
            "deviation": images.image_std if images.do_normalize else (1.0, 1.0, 1.0),
            "resample": RESAMPLING[images.resample],
            "resized": images.size.height if cropped else None,
            "dropout": settings.hidden_dropout_prob,
            "attention_dropout": settings.attention_probs_dropout_prob,
        }
    )


def encoder_rows(start: str, layers: int, *, distilled: bool) -> Iterator[TensorRow]:
    """The tensors of an encoder whose names begin so."""
    embedding, theirs = f"{start}embeddings", f"{start}encoder.layer.{{n}}"
    yield TensorRow((f"{embedding}.cls_token",), ("cells.class_token",))
    if distilled:
        yield TensorRow((f"{embedding}.distillation_token",), ("cells.distillation_token",))
    yield TensorRow((f"{embedding}.position_embeddings",), ("cells.positions",))
    yield from layer_rows(f"{embedding}.patch_embeddings.projection", "cells.patches")
    block = "cells.blocks.{n}"
    for name, ours in LAYER.items():
        if "LayerNorm" not in name:
            there = name.replace("attention.self", "attention.attention")
            yield from layer_rows(f"{theirs}.{there}", f"{block}.{ours}", layers=layers)
    # A norm there is before what reads it, and here after what is added before.
    yield from layer_rows(f"{start}encoder.layer.0.layernorm_before", "cells.first_norm")
    yield from layer_rows(f"{theirs}.layernorm_after", f"{block}.after_self.norm", layers=layers)
    after = "after_feedforward.norm"
    following = f"{start}encoder.layer.{{next}}.layernorm_before"
    yield from layer_rows(following, f"{block}.{after}", layers=layers - 1)
    yield from layer_rows(f"{start}layernorm", f"cells.blocks.{layers - 1}.{after}")


def section(settings: VitSettings, tensors: Collection[str]) -> ImageClassifierConfig:
    """The same sizes as a section [model]."""
    distilled = any(name.endswith("distillation_token") for name in tensors)
    return ImageClassifierConfig(encoder=encoder_section(settings, distilled=distilled))


def table(settings: VitSettings, tensors: Collection[str]) -> Table:
    """The tensors of a classifier; of one with a teacher the head that reads the first state."""
    distilled = any(name.endswith("distillation_token") for name in tensors)
    start = "deit." if distilled else "vit."
    return Table(
        (
            *encoder_rows(start, settings.num_hidden_layers, distilled=distilled),
            *layer_rows("classifier", "output"),
        ),
        unused=(f"{start}pooler.", f"{start}embeddings.mask_token"),
    )


def without_text(source: Source, settings: VitSettings) -> Vocabulary:
    """No vocabulary; the folder has to hold a classifier with one head."""
    del settings
    names = source.weights().shapes
    if "classifier.weight" not in names:
        taught = any(name.startswith("cls_classifier.") for name in names)
        raise BundleError(
            "this model of images is no classifier with one head.",
            expected="classifier.weight, as ViTForImageClassification has it",
            got="two heads, whose mean is taken" if taught else "an encoder alone",
            do="save the model as ViTForImageClassification or DeiTForImageClassification; as the "
            "encoder of a VisionEncoderDecoderModel it becomes a captioner",
            place=Location(source.path),
        )
    return NO_TEXT


VIT = ModelFamily(
    name="ViT, DeiT",
    kinds=("vit", "deit"),
    task="image-classification",
    settings=VitSettings,
    section=section,
    table=table,
    vocabulary=without_text,
    longest=lambda _: 0,
    theirs=lambda _: "AutoModelForImageClassification",
    labels=lambda settings: settings.labels,
)
