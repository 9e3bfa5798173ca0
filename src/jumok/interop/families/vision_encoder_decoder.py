"""VisionEncoderDecoder: a ViT, and a GPT-2 that attends to its states and writes captions.

Source: Dosovitskiy et al. 2021; Radford et al. 2019; names of transformers.
"""

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from jumok.config.captioner import CaptionerConfig, StackDecoderConfig
from jumok.interop.families import gpt2, vit
from jumok.interop.family import ModelFamily
from jumok.interop.layouts.huggingface import PREPROCESSOR
from jumok.interop.rows import Table, layer_rows
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import Marks, causal_vocabulary, read_tokenizer
from jumok.interop.vocabulary import Vocabulary

Id = Annotated[int, Field(ge=0)]


class EncoderSettings(vit.VitSettings):
    """The keys of its ViT."""

    model_type: Literal["vit", "deit"]


class CaptionWriterSettings(gpt2.Gpt2Settings):
    """The keys of its GPT-2."""

    without_effect: ClassVar[frozenset[str]] = gpt2.Gpt2Settings.without_effect | {
        *("decoder_start_token_id", "is_encoder_decoder")
    }

    model_type: Literal["gpt2"]
    is_decoder: Literal[True]  # type: ignore[assignment]
    add_cross_attention: Literal[True]  # type: ignore[assignment]
    tie_word_embeddings: Literal[True] = True


class VisionEncoderDecoderSettings(Settings):
    """The keys of config.json; those of preprocessor_config.json are the encoder's."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"is_encoder_decoder", "tie_word_embeddings", "processor_class"}
    )

    encoder: EncoderSettings
    decoder: CaptionWriterSettings
    decoder_start_token_id: Id
    eos_token_id: Id | None = None
    pad_token_id: Id | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_parts(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        encoder, decoder = values.get("encoder"), values.get("decoder")
        if not isinstance(encoder, dict) or not isinstance(decoder, dict):
            return values
        rest = {key: value for key, value in values.items() if key != PREPROCESSOR}
        images = {PREPROCESSOR: values[PREPROCESSOR]} if PREPROCESSOR in values else {}
        sizes = {"vocab_size": decoder.get("vocab_size")}
        return {**rest, **sizes, "encoder": encoder | images}


def section(settings: VisionEncoderDecoderSettings, tensors: Collection[str]) -> CaptionerConfig:
    """The same sizes as a section [model]."""
    return CaptionerConfig(
        encoder=vit.encoder_section(settings.encoder, distilled=_distilled(tensors)),
        decoder=StackDecoderConfig.model_validate(gpt2.writer_keys(settings.decoder)),
    )


def table(settings: VisionEncoderDecoderSettings, tensors: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    encoder, decoder = settings.encoder, settings.decoder
    start, distilled = "decoder.transformer.", _distilled(tensors)
    widths = encoder.hidden_size, decoder.n_embd
    projected = () if widths[0] == widths[1] else layer_rows("enc_to_dec_proj", "writer")
    return Table(
        (
            *vit.encoder_rows("encoder.", encoder.num_hidden_layers, distilled=distilled),
            *projected,
            *gpt2.decoder_rows(start, decoder, cross=True),
        ),
        {f"{start}wte.weight": ("decoder.lm_head.weight",)},
        unused=(
            *("encoder.pooler.", "encoder.embeddings.mask_token"),
            *gpt2.masks(start, decoder, "crossattention"),
        ),
    )


def _distilled(tensors: Collection[str]) -> bool:
    return "encoder.embeddings.distillation_token" in tensors


def vocabulary(source: Source, settings: VisionEncoderDecoderSettings) -> Vocabulary:
    """START is the token that the decoder begins with, often the same as END and PAD."""
    end = settings.eos_token_id
    marks = Marks(
        settings.decoder_start_token_id,
        settings.decoder.eos_token_id if end is None else end,
        settings.pad_token_id,
    )
    described = read_tokenizer(source.folder, "BPE")
    return causal_vocabulary(described, marks, settings.vocab_size, source.config_file)


VISION_ENCODER_DECODER = ModelFamily(
    name="VisionEncoderDecoder",
    kinds=("vision-encoder-decoder",),
    task="captioning",
    settings=VisionEncoderDecoderSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: settings.decoder.n_positions - 1,
    theirs=lambda _: "VisionEncoderDecoderModel",
)
