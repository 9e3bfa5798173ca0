"""Write the weights of a jumok bundle for every engine to decode with.

python jumok_weights.py FOLDER, which holds the bundle model/; writes weights.safetensors (each
tensor under every name it has, and the table of positions) and shape.json beside it.
"""

import json
import sys
from pathlib import Path

from safetensors.torch import save_file

from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.config import TransformerConfig
from jumok.positions.sinusoidal import sinusoids

POSITIONS = 256


def main() -> None:
    """Read the bundle, write the two files."""
    folder = Path(sys.argv[1])
    bundle = read_bundle(folder / "model")
    config = bundle.section
    assert isinstance(config, TransformerConfig)
    weights = {name: tensor.clone() for name, tensor in load_model(bundle).state_dict().items()}
    weights["positions"] = sinusoids(POSITIONS, config.dim)
    save_file(weights, folder / "weights.safetensors")
    shape = {
        "vocabulary": bundle.config.vocabulary_size,
        "dim": config.dim,
        "heads": config.heads,
        "layers": config.encoder_layers,
        "inner": config.feedforward,
        "positions": POSITIONS,
        "norm": config.norm,
    }
    (folder / "shape.json").write_text(json.dumps(shape))


if __name__ == "__main__":
    main()
