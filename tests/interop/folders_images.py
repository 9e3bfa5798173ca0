"""Small ViT and DeiT of transformers with random weights, and their folders."""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests.parity.torch_weights import roughen

SIZES: dict[str, Any] = {
    "hidden_size": 35, "num_attention_heads": 5, "num_hidden_layers": 3, "intermediate_size": 29,
    "image_size": 33, "patch_size": 11, "layer_norm_eps": 1e-4,
}  # fmt: skip


def write_vit(folder: Path, *, whole: bool = True, **changes: Any) -> Path:
    """Heads of 7, 5 layers, 9 patches; three labels, two of the same name."""
    labels = {0: "cat", 1: "dog", 2: "cat"}
    torch.manual_seed(1)
    config = transformers.ViTConfig(**SIZES | {"id2label": labels} | changes)
    model = roughen(transformers.ViTForImageClassification(config)).eval()
    (model if whole else model.vit).save_pretrained(folder)
    read = dict.fromkeys(("height", "width"), config.image_size)
    transformers.ViTImageProcessorPil(size=read, image_mean=[0.3, 0.5, 0.7]).save_pretrained(folder)
    return folder


def write_deit(folder: Path, *, taught: bool = False) -> Path:
    """With a second state before the patches; images are resized and their middle is cut out."""
    torch.manual_seed(1)
    kind = "DeiTForImageClassification" + ("WithTeacher" if taught else "")
    config = transformers.DeiTConfig(**SIZES | {"num_labels": 5})
    roughen(getattr(transformers, kind)(config)).eval().save_pretrained(folder)
    transformers.DeiTImageProcessorPil(
        size={"height": 41, "width": 41}, crop_size={"height": 33, "width": 33}
    ).save_pretrained(folder)
    return folder


CLASSIFIERS = {"vit": write_vit, "deit": write_deit}
