"""Decode with MarianMTModel.generate, on the weights that jumok wrote.

python huggingface_decoding.py FOLDER, which holds shape.json and weights.safetensors (jumok's
names, and the table of positions).
"""

import json
import sys
from functools import partial
from pathlib import Path

import torch
from answering import answer_requests
from safetensors.torch import load_file
from transformers import GenerationConfig, MarianConfig, MarianMTModel

PAD, _UNKNOWN, START, END = range(4)

NAMES = {
    "blocks.": "layers.",
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "after_self.norm": "self_attn_layer_norm",
    "after_cross.norm": "encoder_attn_layer_norm",
    "after_feedforward.norm": "final_layer_norm",
    "feedforward.inner": "fc1",
    "feedforward.outer": "fc2",
}
"""jumok's parts -> Marian's."""


def main() -> None:
    """Load, then answer."""
    folder = Path(sys.argv[1])
    shape = json.loads((folder / "shape.json").read_text())
    model = MarianMTModel(_config(shape))
    model.load_state_dict(_renamed(load_file(folder / "weights.safetensors")), strict=True)
    answer_requests(partial(_decode, model.eval()))


def _config(shape: dict[str, int]) -> MarianConfig:
    return MarianConfig(
        vocab_size=shape["vocabulary"],
        d_model=shape["dim"],
        encoder_layers=shape["layers"],
        decoder_layers=shape["layers"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=shape["inner"],
        decoder_ffn_dim=shape["inner"],
        activation_function="relu",
        max_position_embeddings=shape["positions"],
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
    )


def _renamed(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    positions = weights.pop("positions")
    table = weights["decoder.embedding.table"]
    renamed = {
        "final_logits_bias": torch.zeros(1, len(table)),
        "lm_head.weight": table,
        "model.shared.weight": table,
    }
    for side in ("encoder", "decoder"):
        renamed[f"model.{side}.embed_tokens.weight"] = table
        renamed[f"model.{side}.embed_positions.weight"] = positions
    for name, weight in weights.items():
        if ".blocks." in name:
            for ours, theirs in NAMES.items():
                name = name.replace(ours, theirs)
            renamed[f"model.{name}"] = weight
    return renamed


@torch.inference_mode()
def _decode(
    model: MarianMTModel, sources: list[list[int]], beam: int, length: int
) -> list[list[int]]:
    longest = max(map(len, sources))
    padded = torch.tensor([source + [PAD] * (longest - len(source)) for source in sources])
    outputs = model.generate(  # type: ignore[misc]  # typed for a protocol that no model meets
        padded,
        attention_mask=(padded != PAD).long(),
        generation_config=GenerationConfig(
            num_beams=beam,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
            decoder_start_token_id=START,
            eos_token_id=END,
            pad_token_id=PAD,
        ),
    )
    return outputs[:, 1:].tolist()


if __name__ == "__main__":
    main()
