"""Small models of transformers with random weights, each axis another prime, and their folders."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

from tests.interop.bert import save
from tests.parity.torch_weights import roughen

TEXT = ["the cat sat on the mat and the dog saw the cat again", "고양이가 매트 위에 앉아 있다"]


def roughened(model: Any) -> Any:
    """With every number away from its default, those that no training moves too."""
    model = roughen(model).eval()
    for name, tensor in model.named_buffers():
        if name.endswith("logits_bias"):
            tensor.copy_(torch.randn_like(tensor))
    return model


def write_bert(folder: Path, *, whole: bool = True, **changes: Any) -> Path:
    """Heads of 7, 5 layers; [CLS] and its kin are the first ids, as `save` has them."""
    config = transformers.BertConfig(
        vocab_size=31,
        hidden_size=35,
        num_attention_heads=5,
        num_hidden_layers=3,
        intermediate_size=29,
        max_position_embeddings=37,
        type_vocab_size=2,
        layer_norm_eps=1e-4,
        **changes,
    )
    torch.manual_seed(1)
    model = roughened(transformers.BertForMaskedLM(config))
    return save(model if whole else model.bert, folder)


def write_gpt2(folder: Path, **changes: Any) -> Path:
    """As large as a tokenizer of bytes and a few words, and three rows that no text has."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=311,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 4, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size() + 3,
        "n_positions": 113,
        "n_embd": 35,
        "n_layer": 3,
        "n_head": 5,
        "n_inner": 53,
        "layer_norm_epsilon": 1e-4,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    torch.manual_seed(1)
    config = transformers.GPT2Config(**(sizes | changes))
    roughened(transformers.GPT2LMHeadModel(config)).save_pretrained(folder)
    return folder


WRITTEN: Mapping[str, Callable[[Path], Path]] = {
    "bert": write_bert,
    "bert alone": lambda folder: write_bert(folder, whole=False),
    "gpt2": write_gpt2,
    "gpt2 untied": lambda folder: write_gpt2(folder, tie_word_embeddings=False),
    "gpt2 relu": lambda folder: write_gpt2(folder, activation_function="relu"),
}
"""By the name of a test: what writes the folder."""


def configured(folder: Path, changes: Mapping[str, Any]) -> Path:
    """Changes keys of config.json; None takes one out."""
    values = json.loads((folder / "config.json").read_text()) | dict(changes)
    kept = {key: value for key, value in values.items() if value != "DROP"}
    (folder / "config.json").write_text(json.dumps(kept))
    return folder
