"""Small GGUF files, written as convert_hf_to_gguf.py of llama.cpp writes them."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from tests.interop.folders_llama import write_llama

NAMES = {
    "model.embed_tokens.": "token_embd.", "model.norm.": "output_norm.", "lm_head.": "output.",
    "model.layers.": "blk.", "self_attn.o_proj": "attn_output", "self_attn.": "attn_",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.": "ffn_",
    "_proj": "",
}  # fmt: skip
F32, F16, Q8_0 = 0, 1, 8


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value_of(value: Any) -> bytes:
    """A value and its type before it."""
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    items = [value_of(each) for each in value]
    kind = items[0][:4]
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(items)) + b"".join(
        each[4:] for each in items
    )  # fmt: skip


def stored(tensor: torch.Tensor) -> tuple[int, bytes]:
    """Vectors in float32; matrices in Q8_0, or in float16 where rows are no whole blocks."""
    if tensor.ndim == 1:
        return F32, tensor.numpy().tobytes()
    if tensor.shape[-1] % 32:
        return F16, tensor.half().numpy().tobytes()
    blocks = tensor.reshape(-1, 32)
    scale = (blocks.abs().amax(dim=1, keepdim=True) / 127).half()
    numbers = (blocks / scale.float()).round().clamp(-127, 127).to(torch.int8)
    return Q8_0, np.concatenate(
        [scale.numpy().view(np.uint8), numbers.numpy().view(np.uint8)], axis=1
    ).tobytes()


def write_file(file: Path, values: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Path:
    made = {name: stored(tensor.contiguous()) for name, tensor in tensors.items()}
    header = b"GGUF" + struct.pack("<IQQ", 3, len(made), len(values))
    header += b"".join(text(key) + value_of(value) for key, value in values.items())
    place, whole = 0, b""
    for name, (kind, data) in made.items():
        shape = tensors[name].shape
        header += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        header += struct.pack("<IQ", kind, place)
        whole += data + bytes(-len(data) % 32)
        place = len(whole)
    file.write_bytes(header + bytes(-len(header) % 32) + whole)
    return file


def write_gguf(
    folder: Path, kind: str = "llama", more: Mapping[str, Any] | None = None, **changes: Any
) -> Path:
    """A file beside the same model in a folder of transformers, whose numbers are not rounded.

    Args:
        more: further values of the header.
    """
    theirs = write_llama(folder / "theirs", kind, hidden_size=96, num_attention_heads=6, **changes)
    config = json.loads((theirs / "config.json").read_text())
    described = json.loads((theirs / "tokenizer.json").read_text())
    width = config.get("head_dim") or 16
    tensors = {}
    for name, tensor in load_file(theirs / "model.safetensors").items():
        if kind == "llama" and name.split(".")[-2] in ("q_proj", "k_proj"):
            halves = tensor.unflatten(0, (-1, 2, width // 2))
            tensor = halves.transpose(1, 2).flatten(0, 2)
        for there, here in NAMES.items():
            name = name.replace(there, here)
        tensors[name] = tensor
    names = {id: piece for piece, id in described["model"]["vocab"].items()}
    rows = config["vocab_size"]
    tokens = [names.get(id, f"[PAD{id}]") for id in range(rows)]
    values = {
        "general.architecture": kind,
        f"{kind}.block_count": config["num_hidden_layers"],
        f"{kind}.context_length": config["max_position_embeddings"],
        f"{kind}.embedding_length": config["hidden_size"],
        f"{kind}.feed_forward_length": config["intermediate_size"],
        f"{kind}.attention.head_count": config["num_attention_heads"],
        f"{kind}.attention.head_count_kv": config["num_key_value_heads"],
        f"{kind}.attention.key_length": width,
        f"{kind}.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        f"{kind}.rope.freq_base": float(config["rope_parameters"]["rope_theta"]),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if id < 3 else 1 for id in range(rows)],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in described["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
    }
    return write_file(folder / "model.gguf", values | dict(more or {}), tensors)
