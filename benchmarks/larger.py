"""The larger models of `python -m benchmarks decode`, with random weights: time does not depend on
what a model has learned where the length of its output is forced.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from benchmarks.corpus import WORK, data_folder
from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.texts.tokenizer import ByteTokenizer, TextTokenizer, train_text_tokenizer
from jumok.models.causal import CausalLanguageModel
from jumok.models.encoder_decoder import Transformer
from jumok.models.recurrent import RecurrentModel
from jumok.positions.sinusoidal import sinusoids

POSITIONS = 256

BASE = TransformerConfig(
    dim=512, heads=8, feedforward=2048, encoder_layers=6, decoder_layers=6, norm="post"
)
"""The base model of Vaswani et al. 2017."""

LANGUAGE = CausalConfig(
    dim=384, heads=6, feedforward=1536, layers=6, positions="learned", max_length=POSITIONS
)
"""A small GPT: pre-norm, GELU, learned positions."""

RECURRENT = RecurrentConfig(order="gnmt", encoder_layers=2, decoder_layers=2)
"""The RNN of the recipe multi30k-rnn: GRUs of width 256, additive attention."""

Config = TransformerConfig | CausalConfig | RecurrentConfig

CONFIGS: dict[str, Config] = {"base": BASE, "language": LANGUAGE, "recurrent": RECURRENT}
VOCABULARIES = {"base": 32_000, "language": 8_000, "recurrent": 6_000}


def random_weights(name: str) -> Path:
    """The folder with the weights of a model of CONFIGS, and their shape, for every engine."""
    folder = WORK / "larger" / name
    if not (folder / "shape.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        config = CONFIGS[name]
        model = model_of(config, VOCABULARIES[name])
        weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        if name == "base":
            weights["positions"] = sinusoids(POSITIONS, config.dim)
        save_file(weights, folder / "weights.safetensors")
        shape = {
            "vocabulary": VOCABULARIES[name],
            "heads": getattr(config, "heads", None),
            "layers": getattr(config, "layers", BASE.encoder_layers),
            "config": config.model_dump(),
        }
        (folder / "shape.json").write_text(json.dumps(shape))
    return folder


def random_language_model(subwords: int | None = None) -> Path:
    """A bundle of LANGUAGE for bytes, 10.8 million weights, or for so many subwords."""
    folder = WORK / "larger" / ("bytes" if subwords is None else f"subwords-{subwords}")
    if not folder.exists():
        torch.manual_seed(1)
        tokenizer: TextTokenizer = ByteTokenizer()
        if subwords is not None:
            text = (data_folder() / "lm" / "tinyshakespeare.txt").read_text("utf-8")
            tokenizer = train_text_tokenizer([text], "bpe", subwords)
        model = model_of(LANGUAGE, tokenizer.size)
        config = BundleConfig(
            task="language-model",
            model=LANGUAGE.model_dump(),
            vocabulary_size=tokenizer.size,
            max_tokens=POSITIONS,
            documents="file",
        )
        card = Card(name="random", date="2026-11-23")
        write_bundle(folder, model.state_dict(), config, tokenizer, card)
    return folder


def model_of(config: Config, vocabulary: int) -> Transformer | CausalLanguageModel | RecurrentModel:
    """The model on torch, in evaluation mode."""
    if isinstance(config, RecurrentConfig):
        return RecurrentModel(config, vocabulary).eval()
    if isinstance(config, CausalConfig):
        return CausalLanguageModel(config, vocabulary).eval()
    return Transformer(config, vocabulary).eval()


def random_sources(name: str, count: int) -> list[list[int]]:
    """Sentences of 15 tokens, END included; prompts of 15."""
    torch.manual_seed(2)
    ids = torch.randint(4, VOCABULARIES[name], (count, 14)).tolist()
    return [[*row, 3] if name != "language" else [2, *row] for row in ids]
