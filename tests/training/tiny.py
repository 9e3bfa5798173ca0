"""A model and a corpus small enough to follow by hand."""

import copy

import torch

from jumok.config import AverageConfig, TrainingConfig, TransformerConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.models.encoder_decoder import Transformer
from jumok.training.learner import Learner

VOCABULARY = 31


def model(**options: object) -> Transformer:
    torch.manual_seed(1)
    sizes = {"dim": 48, "heads": 3, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 32}
    config = TransformerConfig.model_validate({**sizes, "dropout": 0.0, **options})
    return Transformer(config, VOCABULARY)


def config(average: str = "none", **options: object) -> TrainingConfig:
    return TrainingConfig(average=AverageConfig(kind=average, last=2), **options)


def sentence(first: int, length: int) -> list[int]:
    return [(first * 7 + i * 5) % 27 + 4 for i in range(length)]


def pairs(count: int, first: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Sources of 3 to 7 and targets of 2 to 6 words."""
    rows = range(first, first + count)
    sources = [sentence(row, 3 + row % 5) for row in rows]
    return sources, [sentence(row + 1, 2 + row * 3 % 5) for row in rows]


def batches(update: int, micro: int = 3) -> list[Batch]:
    """The micro-batches of an update, of 5, 7, 9 ... pairs."""
    return [collate(*pairs(5 + 2 * i, 29 * update + 11 * i)) for i in range(micro)]


def assert_same_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """NaN is equal to NaN."""
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        exact = {"rtol": 0, "atol": 0, "equal_nan": True}
        torch.testing.assert_close(tensor, other[name], **exact, msg=name)


def saved(learning: Learner) -> dict[str, torch.Tensor]:
    """What a checkpoint would hold."""
    return {name: tensor.clone() for name, tensor in learning.state().items()}


def weights(of: Transformer) -> dict[str, torch.Tensor]:
    return {name: copy.deepcopy(p.detach()) for name, p in of.named_parameters()}
