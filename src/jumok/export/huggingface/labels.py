"""Classifiers of texts as DistilBertForSequenceClassification, which reads the first state."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from jumok.config.masked import TextClassifierConfig
from jumok.data.special_tokens import PAD
from jumok.interop.families.distilbert import DISTILBERT, DistilBertSettings


def distilbert_values(config: TextClassifierConfig, rows: int) -> dict[str, Any]:
    """The keys of config.json."""
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
    """How many labels `labels_through_relu` has room for."""
    return config.dim // 2


def labels_through_relu(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
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


DISTILBERT_OF_LABELS = replace(
    DISTILBERT,
    section=_reading_labels,
    theirs=lambda _: "AutoModelForSequenceClassification",
)
