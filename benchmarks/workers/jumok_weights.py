"""Write the weights of a jumok Transformer for every engine to decode with.

python jumok_weights.py FOLDER, which holds shape.json; writes weights.safetensors there. The
weights are random but the same on every run: the length is forced, so what the words are does not
change the work, and whether all engines write the same words is checked on the way.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from jumok.config import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from jumok.positions.sinusoidal import sinusoids

GAIN = 8.0
"""Without it the residual stream of an untrained, tied model repeats its input token for ever."""


def main() -> None:
    """Build, and save each shared tensor under every name it has."""
    folder = Path(sys.argv[1])
    shape = json.loads((folder / "shape.json").read_text())
    torch.manual_seed(1)
    model = Transformer(config_of(shape), shape["vocabulary"])
    for name, parameter in model.named_parameters():
        if name.endswith(("output.weight", "outer.weight")):
            parameter.data *= GAIN
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights["positions"] = sinusoids(shape["positions"], shape["dim"])
    save_file(weights, folder / "weights.safetensors")


def config_of(shape: dict[str, int]) -> TransformerConfig:
    """Post-norm, the order that Marian has."""
    return TransformerConfig(
        dim=shape["dim"],
        heads=shape["heads"],
        encoder_layers=shape["layers"],
        decoder_layers=shape["layers"],
        feedforward=shape["inner"],
        norm="post",
        max_length=shape["positions"],
    )


if __name__ == "__main__":
    main()
