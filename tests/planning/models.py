"""Small recipes of every kind, and one forward pass of each without kernels of our own."""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.config import Config, parse_config
from jumok.models.catalog import DataSizes, build

BATCH, SOURCE, TARGET, VOCABULARY, LABELS = 3, 7, 12, 53, 10
DATA = {
    "transformer": {"smallworld": {}},
    "rnn": {"smallworld": {}},
    "causal-lm": {"train": [{"file": "x"}]},
    "masked-lm": {"train": [{"file": "x"}], "max_tokens": 10},
    "text-classifier": {"train": [{"file": "x"}], "max_tokens": 10},
    "captioner": {"scenes": {}, "language": "en", "captions_per_picture": 1},
    "image-classifier": {"train": [{"folder": "x"}]},
}


def recipe(model: dict, **more: object) -> Config:
    data = DATA[model.get("kind", "transformer")]
    return parse_config({"name": "planned", "model": model, "data": data, **more})


def model_of(config: Config) -> nn.Module:
    return build(config.model, DataSizes(vocabulary=VOCABULARY, labels=LABELS)).train()


def texts(length: int) -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (BATCH, length))


def states(model: nn.Module, config: Config) -> torch.Tensor:
    """What the logits are computed from, or the logits of the labels."""
    kind, target = config.model.kind, texts(TARGET)
    if kind in ("transformer", "rnn"):
        return model.decoder.hidden(model.encode(texts(SOURCE)), target)
    if kind == "causal-lm":
        return model.hidden(target)
    if kind == "masked-lm":  # half of the tokens are masked
        return model.head.transform(model.encoder(target)[:, ::2])
    if kind == "text-classifier":
        return model(target, torch.ones_like(target, dtype=torch.bool))
    if kind == "captioner":
        side = config.model.encoder.size
        return model.decoder.hidden(model.encode(pixels(3, side, side)), target)
    sizes = config.model
    return model(pixels(sizes.colours, sizes.height, sizes.width))


def pixels(*shape: int) -> torch.Tensor:
    return torch.randint(0, 255, (BATCH, *shape), dtype=torch.uint8)


def loss(model: nn.Module, config: Config) -> torch.Tensor:
    head_inputs = states(model, config)
    if config.model.kind in ("text-classifier", "image-classifier"):
        return head_inputs.sum()
    head = model.head if config.model.kind == "masked-lm" else model.decoder
    logits = F.linear(head_inputs.flatten(0, -2), head.output.weight)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))


def targets_of(config: Config) -> int:
    return BATCH if config.model.kind == "image-classifier" else BATCH * TARGET
