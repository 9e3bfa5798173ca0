"""The classes of transformers that a model may be: the config.json of each for one of ours.

Whether the class computes what the model does is decided by the way back: the config's section
[model], as an import reads it, beside the model's own (`jumok.export.equivalents`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from jumok.config.captioner import CaptionerConfig, StackDecoderConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection, Section
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.data.special_tokens import END, PAD, SPECIAL, START
from jumok.interop.activations import activation_there
from jumok.interop.families.bart import BART, MBART, PEGASUS
from jumok.interop.families.bert import BERT
from jumok.interop.families.distilbert import DISTILBERT, DistilBertSettings
from jumok.interop.families.gpt2 import GPT2
from jumok.interop.families.llama import LLAMAS
from jumok.interop.families.marian import MARIAN
from jumok.interop.families.megatron_bert import MEGATRON_BERT
from jumok.interop.families.neox import NEOX
from jumok.interop.families.t5 import OUTPUT, T5
from jumok.interop.families.vision_encoder_decoder import VISION_ENCODER_DECODER
from jumok.interop.families.vit import RESAMPLING, VIT
from jumok.interop.family import ModelFamily
from jumok.interop.layouts.huggingface import PREPROCESSOR

ConfigValues = dict[str, Any]
LANGUAGE = len(SPECIAL)
"""The first id that a language may have; its own one is written later (`marks_of`)."""
MARKS = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}


@dataclass(frozen=True)
class TransformersClass:
    """A class of transformers.

    Attributes:
        architecture: its name.
        family: reads its folders.
        section: of the models that may fit.
        config: (section, rows of the vocabulary) -> its config.json; the values of another file are
            below the file's name.
        names: (section) -> names of tensors that its file has, from which a reader knows what of
            the class it is.
        head: (our weights) -> tensors of a head that has another form there, and is not read.
    """

    architecture: str
    family: ModelFamily
    section: type[ModelSection]
    config: Callable[[Any, int], ConfigValues]
    names: Callable[[Any], tuple[str, ...]] = lambda _: ()
    head: Callable[[Mapping[str, Tensor]], dict[str, Tensor]] = lambda _: {}


def _translator(config: TransformerConfig, rows: int) -> ConfigValues:
    """The keys that encoder-decoders from fairseq share."""
    return {
        "is_encoder_decoder": True,
        "vocab_size": rows,
        "d_model": config.dim,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feedforward,
        "decoder_ffn_dim": config.feedforward,
        "activation_function": activation_there(config.activation),
        "max_position_embeddings": config.max_length,
        "scale_embedding": config.embedding_scale,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feedforward_dropout,
        "decoder_start_token_id": START,
        "forced_eos_token_id": None,
        "pad_token_id": PAD,
        "eos_token_id": END,
        "tie_word_embeddings": True,
    }


def _marian(config: TransformerConfig, rows: int) -> ConfigValues:
    shared = config.tied == "all"
    return _translator(config, rows) | {
        "share_encoder_decoder_embeddings": shared,
        "decoder_vocab_size": rows,
        "static_position_embeddings": True,
    }


def _bart(config: TransformerConfig, rows: int) -> ConfigValues:
    return _translator(config, rows) | {"bos_token_id": START}


def _mbart(config: TransformerConfig, rows: int) -> ConfigValues:
    start = START if config.source_end else LANGUAGE
    return _bart(config, rows) | {"decoder_start_token_id": start}


def _t5(config: TransformerConfig, rows: int) -> ConfigValues:
    activation = {"gelu_tanh": "gelu"}.get(config.activation, config.activation)
    gated = "gated-" if config.feedforward_kind == "gated" else ""
    return {
        "model_type": "t5",
        "is_encoder_decoder": True,
        "vocab_size": rows,
        "d_model": config.dim,
        "d_kv": config.sizes.head_dim,
        "d_ff": config.feedforward,
        "num_layers": config.encoder_layers,
        "num_decoder_layers": config.decoder_layers,
        "num_heads": config.heads,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_distance,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.norm_epsilon,
        "feed_forward_proj": f"{gated}{activation}",
        "scale_decoder_outputs": config.embedding_scale,
        "tie_word_embeddings": config.tied == "all",
        "pad_token_id": PAD,
        "eos_token_id": END,
        "decoder_start_token_id": START,
    }


def _gpt2(config: CausalConfig, rows: int) -> ConfigValues:
    tied = config.tied and not config.embedding_scale
    return _gpt2_writer(config, rows) | {"tie_word_embeddings": tied}


def _gpt2_writer(config: CausalConfig | StackDecoderConfig, rows: int) -> ConfigValues:
    return {
        "vocab_size": rows,
        "n_positions": config.max_length,
        "n_embd": config.dim,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.feedforward,
        "activation_function": activation_there(config.activation),
        "layer_norm_epsilon": config.norm_epsilon,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        **MARKS,
    }


def _decoder(config: CausalConfig, rows: int) -> ConfigValues:
    """The keys that GPT-NeoX and Llama share."""
    return {
        "vocab_size": rows,
        "hidden_size": config.dim,
        "intermediate_size": config.feedforward,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "hidden_act": activation_there(config.activation),
        "max_position_embeddings": config.max_length,
        "attention_dropout": config.attention_dropout,
        "tie_word_embeddings": config.tied and not config.embedding_scale,
        **MARKS,
    }


def _neox(config: CausalConfig, rows: int) -> ConfigValues:
    sizes = config.sizes
    return _decoder(config, rows) | {
        "layer_norm_eps": config.norm_epsilon,
        "use_parallel_residual": config.parallel,
        "hidden_dropout": config.dropout,
        "rope_parameters": rope_values(config)
        | {"partial_rotary_factor": sizes.rotary_dim / sizes.head_dim},
        "attention_bias": True,
    }


def _llama(config: CausalConfig, rows: int) -> ConfigValues:
    """The keys that Llama, Mistral and Qwen share."""
    sizes = config.sizes
    return _decoder(config, rows) | {
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_dim,
        "rms_norm_eps": config.norm_epsilon,
        "rope_parameters": rope_values(config),
    }


def _llama_itself(config: CausalConfig, rows: int) -> ConfigValues:
    return _llama(config, rows) | {"attention_bias": config.bias, "mlp_bias": config.bias}


def _mistral(config: CausalConfig, rows: int) -> ConfigValues:
    return _llama(config, rows) | {"sliding_window": config.window}


def _qwen(config: CausalConfig, rows: int) -> ConfigValues:
    windows = [config.window_of(layer) for layer in range(config.layers)]
    return _llama(config, rows) | {
        "layer_types": ["sliding_attention" if each else "full_attention" for each in windows],
        "use_sliding_window": any(windows),
        "sliding_window": config.window,
    }


def rope_values(config: StackConfig) -> ConfigValues:
    """The rotary positions as transformers writes them."""
    values: ConfigValues = {"rope_type": "default", "rope_theta": config.rotary_base}
    scaling = config.rotary_scaling
    if scaling is None:
        return values
    values |= {"rope_type": scaling.kind, "factor": scaling.factor}
    if scaling.kind == "linear":
        return values
    values["original_max_position_embeddings"] = scaling.original_length
    if scaling.kind == "llama3":
        return values | {"low_freq_factor": scaling.slow, "high_freq_factor": scaling.fast}
    values |= {"beta_slow": scaling.slow, "beta_fast": scaling.fast}
    return values | ({} if scaling.size is None else {"attention_factor": scaling.size})


def _bert(config: MaskedConfig, rows: int) -> ConfigValues:
    return {
        "vocab_size": rows,
        "hidden_size": config.dim,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.feedforward,
        "hidden_act": activation_there(config.activation),
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "max_position_embeddings": config.max_length,
        "type_vocab_size": 1,
        "layer_norm_eps": config.norm_epsilon,
        "pad_token_id": PAD,
        "tie_word_embeddings": True,
    }


def _masked_names(config: MaskedConfig) -> tuple[str, ...]:
    return ("bert.", "cls.predictions.transform.dense.weight") if config.head else ()


def _distilbert(config: TextClassifierConfig, rows: int) -> ConfigValues:
    return {
        "vocab_size": rows,
        "dim": config.dim,
        "n_layers": config.layers,
        "n_heads": config.heads,
        "hidden_dim": config.feedforward,
        "activation": "gelu",
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "seq_classif_dropout": config.dropout,
        "max_position_embeddings": config.max_length,
        "pad_token_id": PAD,
        "tie_word_embeddings": True,
    }


def _reading_labels(settings: DistilBertSettings, tensors: Collection[str]) -> TextClassifierConfig:
    """The section of a classifier that reads the first state."""
    sizes = DISTILBERT.section(settings, tensors).model_dump(exclude={"kind", "head"})
    return TextClassifierConfig(**sizes, pooling="first")


def most_labels(config: TextClassifierConfig) -> int:
    """How many labels `_labels_through_relu` has room for."""
    return config.dim // 2


def _labels_through_relu(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One layer as two with a ReLU between them: x = relu(x) - relu(-x), which is exact."""
    weight, bias = weights["output.weight"], weights["output.bias"]
    labels, dim = weight.shape
    inner, inner_bias = weight.new_zeros(dim, dim), bias.new_zeros(dim)
    inner[: 2 * labels] = torch.cat((weight, -weight))
    inner_bias[: 2 * labels] = torch.cat((bias, -bias))
    outer, ones = weight.new_zeros(labels, dim), torch.eye(labels)
    outer[:, : 2 * labels] = torch.cat((ones, -ones), dim=1)
    return {
        "pre_classifier.weight": inner,
        "pre_classifier.bias": inner_bias,
        "classifier.weight": outer,
        "classifier.bias": torch.zeros(labels),
    }


def _vit(config: ImageClassifierConfig, rows: int) -> ConfigValues:  # noqa: ARG001
    return _vit_encoder(config.encoder)


def _deit(config: ImageClassifierConfig, rows: int) -> ConfigValues:
    return _vit(config, rows) | {"model_type": "deit"}


def _vit_encoder(section: Section | None) -> ConfigValues:
    """The keys of a ViT; of another encoder those of some ViT."""
    config = section if isinstance(section, VitConfig) else VitConfig()
    return {
        "hidden_size": config.dim,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.feedforward,
        "hidden_act": activation_there(config.activation),
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "layer_norm_eps": config.norm_epsilon,
        "image_size": config.size,
        "patch_size": config.patch,
        "num_channels": 3,
        "qkv_bias": True,
        PREPROCESSOR: _preprocessor(config),
    }


def _preprocessor(config: VitConfig) -> ConfigValues:
    """How images are read."""
    side = config.resized or config.size
    cut: ConfigValues = {"image_processor_type": "ViTImageProcessor"}
    if config.resized is not None:
        cut = {
            "image_processor_type": "DeiTImageProcessor",
            "do_center_crop": True,
            "crop_size": {"height": config.size, "width": config.size},
        }
    return {
        **cut,
        "do_resize": True,
        "size": {"height": side, "width": side},
        "resample": RESAMPLING.index(config.resample),
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": config.mean,
        "image_std": config.deviation,
        "do_convert_rgb": True,
    }


def _captioner(config: CaptionerConfig, rows: int) -> ConfigValues:
    encoder, decoder = _vit_encoder(config.encoder), config.decoder
    if not isinstance(decoder, StackDecoderConfig):
        decoder = StackDecoderConfig()
    kind = "deit" if getattr(config.encoder, "distilled", False) else "vit"
    images = encoder.pop(PREPROCESSOR)
    writes = {"model_type": "gpt2", "is_decoder": True, "add_cross_attention": True}
    return {
        "is_encoder_decoder": True,
        "encoder": encoder | {"model_type": kind},
        "decoder": _gpt2_writer(decoder, rows) | writes | {"tie_word_embeddings": True},
        "tie_word_embeddings": True,
        "decoder_start_token_id": START,
        "pad_token_id": PAD,
        "eos_token_id": END,
        PREPROCESSOR: images,
    }


def _captioner_names(config: CaptionerConfig) -> tuple[str, ...]:
    second = getattr(config.encoder, "distilled", False)
    return ("encoder.embeddings.distillation_token",) if second else ()


LLAMA, MISTRAL, QWEN2, QWEN3 = LLAMAS
CLASSES: tuple[TransformersClass, ...] = (
    TransformersClass("MarianMTModel", MARIAN, TransformerConfig, _marian),
    TransformersClass("PegasusForConditionalGeneration", PEGASUS, TransformerConfig, _translator),
    TransformersClass("BartForConditionalGeneration", BART, TransformerConfig, _bart),
    TransformersClass("MBartForConditionalGeneration", MBART, TransformerConfig, _mbart),
    TransformersClass(
        "T5ForConditionalGeneration",
        T5,
        TransformerConfig,
        _t5,
        lambda config: () if config.tied == "all" else (OUTPUT,),
    ),
    TransformersClass("GPT2LMHeadModel", GPT2, CausalConfig, _gpt2),
    TransformersClass("GPTNeoXForCausalLM", NEOX, CausalConfig, _neox),
    TransformersClass("LlamaForCausalLM", LLAMA, CausalConfig, _llama_itself),
    TransformersClass("MistralForCausalLM", MISTRAL, CausalConfig, _mistral),
    TransformersClass("Qwen2ForCausalLM", QWEN2, CausalConfig, _qwen),
    TransformersClass("Qwen3ForCausalLM", QWEN3, CausalConfig, _qwen),
    TransformersClass("BertForMaskedLM", BERT, MaskedConfig, _bert, _masked_names),
    TransformersClass("MegatronBertForMaskedLM", MEGATRON_BERT, MaskedConfig, _bert, _masked_names),
    TransformersClass(
        "DistilBertForSequenceClassification",
        replace(
            DISTILBERT,
            section=_reading_labels,
            theirs=lambda _: "AutoModelForSequenceClassification",
        ),
        TextClassifierConfig,
        _distilbert,
        lambda _: ("distilbert.",),
        _labels_through_relu,
    ),
    TransformersClass("ViTForImageClassification", VIT, ImageClassifierConfig, _vit),
    TransformersClass(
        "DeiTForImageClassification",
        VIT,
        ImageClassifierConfig,
        _deit,
        lambda _: ("deit.embeddings.distillation_token",),
    ),
    TransformersClass(
        "VisionEncoderDecoderModel",
        VISION_ENCODER_DECODER,
        CaptionerConfig,
        _captioner,
        _captioner_names,
    ),
)
