"""Small models of transformers with random weights, each axis another prime, and their folders."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import decoders, models, pre_tokenizers, trainers

from tests.interop import folders_encdec, folders_encoders, folders_llama
from tests.interop.bert import save
from tests.parity.torch_weights import roughen

TEXT = ["the cat sat on the mat and the dog saw the cat again", "고양이가 매트 위에 앉아 있다"]


WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


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


def write_marian(folder: Path, **changes: Any) -> Path:
    """Two SentencePiece models, whose subwords are one vocabulary; some rows of it are in none."""
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, int] = {"</s>": 0, "<unk>": 1}
    for side, texts in (("source", TEXT[:1]), ("target", TEXT)):
        with (folder / f"{side}.spm").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts * 4), model_writer=file, model_type="unigram",
                vocab_size={"source": 31, "target": 53}[side], hard_vocab_limit=False,
                bos_id=-1, eos_id=0, unk_id=1, minloglevel=2,
            )  # fmt: skip
        pieces = sentencepiece.SentencePieceProcessor(model_file=file.name)
        for piece in map(pieces.id_to_piece, range(pieces.get_piece_size())):
            names.setdefault(piece, len(names))
    names |= {"in neither": len(names), "<pad>": len(names) + 1}
    (folder / "vocab.json").write_text(json.dumps(names))
    described = {"source_lang": "en", "target_lang": "ko", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    pad = names["<pad>"]
    sizes: dict[str, Any] = {
        "vocab_size": len(names), "d_model": 42, "encoder_layers": 3, "decoder_layers": 2,
        "encoder_attention_heads": 7, "decoder_attention_heads": 7, "encoder_ffn_dim": 29,
        "decoder_ffn_dim": 29, "activation_function": "swish", "scale_embedding": True,
        "max_position_embeddings": 61, "pad_token_id": pad, "eos_token_id": 0,
        "decoder_start_token_id": pad, "bos_token_id": None, "forced_eos_token_id": None,
        "dropout": 0.1,
    }  # fmt: skip
    torch.manual_seed(1)
    model = roughened(transformers.MarianMTModel(transformers.MarianConfig(**(sizes | changes))))
    words, last = model.model.shared.weight, model.model.decoder.layers[-1].final_layer_norm
    with torch.no_grad():
        # Embedding and output share a table, so a random model repeats its last word for ever,
        # unless what is added last turns it into another; and it hardly ever ends unless led to.
        words.copy_(torch.randn_like(words) * 42**-0.5)
        last.weight.copy_(torch.randn_like(last.weight) * 1.5)
        last.bias.copy_(words[0] * 0.7)
    model.save_pretrained(folder)
    return folder


WRITTEN: Mapping[str, Callable[[Path], Path]] = {
    "bert": write_bert,
    "bert alone": lambda folder: write_bert(folder, whole=False),
    **folders_encoders.WRITTEN,
    "gpt2": write_gpt2,
    "gpt2 untied": lambda folder: write_gpt2(folder, tie_word_embeddings=False),
    "marian": write_marian,
    "marian relu": lambda folder: write_marian(
        folder, activation_function="relu", scale_embedding=False
    ),
    **folders_llama.WRITTEN,
    "gpt2 relu": lambda folder: write_gpt2(folder, activation_function="relu"),
    **folders_encdec.WRITTEN,
}
"""By the name of a test: what writes the folder."""


def configured(folder: Path, changes: Mapping[str, Any]) -> Path:
    """Changes keys of config.json; None takes one out."""
    values = json.loads((folder / "config.json").read_text()) | dict(changes)
    kept = {key: value for key, value in values.items() if value != "DROP"}
    (folder / "config.json").write_text(json.dumps(kept))
    return folder


def sharded(folder: Path) -> dict[str, str]:
    """Two shards and their index."""
    tensors = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    names = sorted(tensors)
    halves = names[: len(names) // 2], names[len(names) // 2 :]
    shards = {}
    for number, half in enumerate(halves, start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: tensors[name] for name in half}, folder / file)
        shards |= dict.fromkeys(half, file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": shards}))
    return shards
