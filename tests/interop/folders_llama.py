"""Small models of the families of Llama with random weights, each axis another prime."""

from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.parity.torch_weights import roughen

TEXT = ["the cat sat on the mat and the dog saw the cat again", "고양이가 매트 위에 앉아 있다"]
CONFIGS = {
    "llama": transformers.LlamaConfig,
    "mistral": transformers.MistralConfig,
    "qwen2": transformers.Qwen2Config,
    "qwen3": transformers.Qwen3Config,
}


def of_bytes() -> tokenizers.Tokenizer:
    """Subwords of bytes."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|end|>", "<|pad|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=311, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    made.train_from_iterator(TEXT * 4, trainer)
    return made


def of_characters() -> tokenizers.Tokenizer:
    """Subwords of characters, as Llama 2 has them: others are written as bytes."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
         decoders.Strip(" ", 1, 0)]
    )  # fmt: skip
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=331, special_tokens=special, show_progress=False)
    made.train_from_iterator(TEXT * 4, trainer)
    return made


def write_llama(
    folder: Path, kind: str = "llama", *, characters: bool = False, **changes: Any
) -> Path:
    """Three rows are of no subword; three heads share one of keys and values."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = of_characters() if characters else of_bytes()
    tokenizer.save(str(folder / "tokenizer.json"))
    first = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size() + 3,
        "hidden_size": 66,
        "intermediate_size": 53,
        "num_hidden_layers": 5,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 14,
        "max_position_embeddings": 113,
        "rms_norm_eps": 1e-4,
        "rope_theta": 5e3,
        **(first if characters else {"bos_token_id": 0, "eos_token_id": [5, 1], "pad_token_id": 2}),
    }
    if kind == "qwen2":  # it has no key for the width of a head
        sizes |= {"hidden_size": 84}
        del sizes["head_dim"]
    torch.manual_seed(1)
    config = CONFIGS[kind](**(sizes | changes))
    model = transformers.AutoModelForCausalLM.from_config(config)
    roughen(model).eval().save_pretrained(folder)
    return folder


def write_neox(folder: Path, **changes: Any) -> Path:
    """Six of the fourteen elements of a head are turned."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = of_bytes()
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size() + 3, "hidden_size": 70, "intermediate_size": 53,
        "num_hidden_layers": 5, "num_attention_heads": 5, "max_position_embeddings": 113,
        "layer_norm_eps": 1e-4, "rotary_pct": 0.43, "rotary_emb_base": 5000, "bos_token_id": 1,
        "eos_token_id": 1, "pad_token_id": None,
    }  # fmt: skip
    torch.manual_seed(1)
    model = transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**(sizes | changes)))
    roughen(model).eval().save_pretrained(folder)
    return folder


LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 5e3, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}  # fmt: skip
WRITTEN = {
    "llama": write_llama,
    "llama of characters": lambda folder: write_llama(
        folder, characters=True, tie_word_embeddings=True
    ),
    "llama 3": lambda folder: write_llama(
        folder, rope_parameters=LLAMA3, attention_bias=True, mlp_bias=True
    ),
    "mistral": lambda folder: write_llama(folder, "mistral", sliding_window=4),
    "qwen2": lambda folder: write_llama(
        folder, "qwen2", use_sliding_window=True, sliding_window=5, max_window_layers=2,
        rope_parameters={"rope_type": "yarn", "rope_theta": 5e3, "factor": 3.0},
    ),
    "neox": write_neox,
    "neox one after another": lambda folder: write_neox(folder, use_parallel_residual=False),
    "qwen3": lambda folder: write_llama(folder, "qwen3", tie_word_embeddings=True),
}  # fmt: skip
