"""A tiny masked language model with a vocabulary of its own, that nobody trained."""

import torch

from jumok.config import MaskedConfig
from jumok.data.tokenizer import Tokenizer
from jumok.models.masked import MaskedLanguageModel
from jumok.systems.masked_model import MaskedModel
from tests.parity.torch_weights import roughen

LINES = ["the cat sat on the mat", "the dog sat on the cat", "학교에 갔다 학교는 좋다"] * 5


def untrained(max_tokens: int = 23) -> MaskedModel:
    tokenizer = Tokenizer.train(LINES, "bpe", 300)
    torch.manual_seed(1)
    config = MaskedConfig(dim=12, heads=3, layers=2, feedforward=20, max_length=29)
    model = roughen(MaskedLanguageModel(config, tokenizer.size)).eval()
    return MaskedModel(model, tokenizer, max_tokens)
