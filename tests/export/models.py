"""Models with random weights of every kind that a format may hold."""

from pathlib import Path
from typing import Any

import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.captioner import (
    CaptionerConfig,
    CnnConfig,
    RnnDecoderConfig,
    StackDecoderConfig,
)
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.data.texts.tokenizer import ByteTokenizer, train_text_tokenizer
from jumok.data.tokenizer import END, Tokenizer
from jumok.models.catalog import DataSizes, build
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen

SIZES: dict[str, Any] = {"dim": 42, "heads": 7, "feedforward": 29, "max_length": 61}
TRANSLATOR = SIZES | {"encoder_layers": 3, "decoder_layers": 2}
ENCODER = SIZES | {"layers": 2}
GATED = {
    "norm_kind": "rms",
    "feedforward_kind": "gated",
    "activation": "silu",
    "bias": False,
    "norm_epsilon": 1e-6,
}
RELATIVE: dict[str, Any] = {
    "positions": "relative",
    "norm_kind": "rms",
    "score": "dot",
    "bias": False,
}
SECTIONS: dict[str, ModelSection] = {
    "translator, post-norm": TransformerConfig(norm="post", **TRANSLATOR),
    "translator, post-norm, output bias, two embedding tables": TransformerConfig(
        norm="post", output_bias=True, tied="target", activation="silu", **TRANSLATOR
    ),
    "translator, pre-norm": TransformerConfig(**TRANSLATOR),
    "translator, pre-norm, sinusoidal-inclusive positions": TransformerConfig(
        positions="sinusoidal-inclusive", **TRANSLATOR
    ),
    "translator, pre-norm, learned positions": TransformerConfig(
        positions="learned", activation="gelu", embedding_scale=False, **TRANSLATOR
    ),
    "translator, post-norm, norm after the embedding": TransformerConfig(
        norm="post", positions="learned", embedding_norm=True, **TRANSLATOR
    ),
    "translator, pre-norm, norm after the embedding": TransformerConfig(
        positions="learned", embedding_norm=True, **TRANSLATOR
    ),
    "translator, relative positions": TransformerConfig(**TRANSLATOR, **RELATIVE, head_dim=11),
    "translator, relative positions, gated feed-forward": TransformerConfig(
        **TRANSLATOR,
        **RELATIVE,
        feedforward_kind="gated",
        activation="gelu_tanh",
        embedding_scale=False,
        tied="inputs",
        relative_buckets=19,
        relative_distance=11,
    ),
    "language model, learned positions": CausalConfig(
        positions="learned", embedding_scale=False, activation="gelu_tanh", **ENCODER
    ),
    "language model, learned positions, scaled embedding": CausalConfig(
        positions="learned", **ENCODER
    ),
    "language model, rotary positions": CausalConfig(**ENCODER),
    "language model, gated feed-forward": CausalConfig(
        **ENCODER, **GATED, tied=False, kv_heads=1, head_dim=8
    ),
    "language model, gated feed-forward, scaled embedding": CausalConfig(**ENCODER, **GATED),
    "language model, gated feed-forward, norms of queries and keys": CausalConfig(
        **ENCODER, **GATED, process_heads=("qk-norm",), embedding_scale=False, head_dim=6
    ),
    "language model, gated feed-forward, sliding window": CausalConfig(
        **ENCODER, **GATED, window=5, embedding_scale=False
    ),
    "language model, gated feed-forward, biases of query, key and value": CausalConfig(
        **ENCODER, **GATED, projection_bias=True
    ),
    "masked language model, pre-norm": MaskedConfig(**ENCODER),
    "masked language model, post-norm": MaskedConfig(
        norm="post", embedding_norm=True, embedding_scale=False, **ENCODER
    ),
}
VIT: dict[str, Any] = {
    "size": 33,
    "patch": 11,
    "layers": 2,
    "dim": 35,
    "heads": 5,
    "feedforward": 29,
    "mean": (0.3, 0.5, 0.7),
    "deviation": (0.2, 0.3, 0.4),
    "resample": "bicubic",
}
WRITER: dict[str, Any] = SIZES | {"layers": 2, "positions": "learned"}
OF_IMAGES: dict[str, ModelSection] = {
    "image classifier, ViT": ImageClassifierConfig(encoder=VitConfig(**VIT)),
    "image classifier, DeiT": ImageClassifierConfig(
        encoder=VitConfig(**VIT, distilled=True, resized=41, activation="relu")
    ),
    "captioner, ViT and Transformer": CaptionerConfig(
        encoder=VitConfig(**VIT), decoder=StackDecoderConfig(**WRITER, embedding_scale=False)
    ),
    "captioner, DeiT and Transformer, scaled embedding": CaptionerConfig(
        encoder=VitConfig(**VIT | {"dim": 42, "heads": 3}, distilled=True),
        decoder=StackDecoderConfig(**WRITER | {"positions": "sinusoidal"}),
    ),
}
CELLS: dict[str, Any] = {"kind": "cnn", "size": 14, "patch": 2, "channels": (8,), "blocks": 1}
OTHERS: dict[str, ModelSection] = {
    "text classifier, post-norm, pooling by the first state": TextClassifierConfig(
        norm="post", embedding_norm=True, norm_epsilon=1e-12, pooling="first", **ENCODER
    ),
    "text classifier": TextClassifierConfig(**ENCODER),
    "image classifier, CNN with attention": ImageClassifierConfig(
        height=12, width=14, channels=(8, 12), attention_after=(2,)
    ),
    "RNN translator": RecurrentConfig(dim=36, embedding=28),
    "RNN translator, Luong's order, input feeding": RecurrentConfig(
        dim=36, embedding=28, attention="dot", order="luong", input_feeding=True, cell="lstm"
    ),
    "RNN translator without attention": RecurrentConfig(dim=36, embedding=28, attention="none"),
    "captioner, CNN and Transformer": CaptionerConfig(
        encoder=CnnConfig(**CELLS), decoder=StackDecoderConfig(**WRITER | {"dim": 44, "heads": 4})
    ),
    "captioner, CNN and RNN": CaptionerConfig(
        encoder=CnnConfig(**CELLS), decoder=RnnDecoderConfig(dim=36, embedding=28)
    ),
}
"""Those that an import does not give back."""
TASKS = {
    "rnn": "translation",
    "transformer": "translation",
    "causal-lm": "language-model",
    "masked-lm": "masked-lm",
    "image-classifier": "image-classification",
    "captioner": "captioning",
    "text-classifier": "text-classification",
}
LABELS = "cat", "dog", "bird"


def write_model(folder: Path, section: ModelSection, *, tokens: str = "bpe") -> Path:
    """A bundle of an untrained model.

    Args:
        tokens: the kind of its tokenizer; "byte" for language models alone.
    """
    tokenizer: Any
    if isinstance(section, ImageClassifierConfig):
        torch.manual_seed(1)
        model = roughen(build(section, DataSizes(labels=len(LABELS))))
        told = BundleConfig(TASKS[section.kind], section.model_dump(mode="json"), labels=LABELS)
        return write_bundle(folder, model.state_dict(), told, None, Card("untrained"))
    if isinstance(section, CausalConfig):
        tokenizer = ByteTokenizer()
        if tokens != "byte":
            tokenizer = train_text_tokenizer(TINY_TEXT, tokens, 350)  # type: ignore[arg-type]
    else:
        tokenizer = Tokenizer.train(TINY_TEXT, tokens, 350)  # type: ignore[arg-type]
    torch.manual_seed(1)
    labels = LABELS if section.kind == "text-classifier" else ()
    model = roughen(build(section, DataSizes(tokenizer.size, len(labels))))
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if name.endswith("embedding.table"):
                tensor.copy_(torch.randn_like(tensor) * tensor.shape[1] ** -0.5)
                tensor[END] *= 1.5
            if name.endswith("output.bias"):
                tensor.copy_(torch.randn_like(tensor))
    writer = section.decoder if isinstance(section, CaptionerConfig) else section
    reach = getattr(writer, "max_length", 61)
    told = BundleConfig(
        TASKS[section.kind],
        section.model_dump(mode="json"),
        tokenizer.size,
        labels,
        max_tokens=reach - 2,
        documents="file" if isinstance(section, CausalConfig) else "",
    )
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))
