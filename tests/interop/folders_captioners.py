"""A small VisionEncoderDecoder of transformers with random weights, and its folder."""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.interop.folders import write_gpt2
from tests.interop.folders_images import write_vit
from tests.parity.torch_weights import roughen


def write_captioner(folder: Path, *, dim: int = 21, **decoder: Any) -> Path:
    """A ViT of width 35, and a GPT-2 of width `dim` with heads of 7."""
    parts = [write(folder.parent / write.__name__) for write in (write_vit, write_gpt2)]
    vit, gpt2 = (transformers.AutoConfig.from_pretrained(part) for part in parts)
    sizes = {"n_embd": dim, "n_head": dim // 7, "n_layer": 2, "n_positions": 37}
    for key, value in (sizes | decoder).items():
        setattr(gpt2, key, value)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        vit, gpt2, decoder_start_token_id=0, pad_token_id=0, eos_token_id=0
    )
    torch.manual_seed(1)
    model = roughen(transformers.VisionEncoderDecoderModel(config)).eval()
    model.save_pretrained(folder)
    for part, name in zip(parts, ("preprocessor_config.json", "tokenizer.json"), strict=True):
        (folder / name).write_bytes((part / name).read_bytes())
    return folder
