"""The bundle of a model after some training, which nobody did."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.bundle.conftest import sign


def tune(folder: Path, to: Path, by: float = 0.3, **sizes: object) -> Path:
    """A copy of the bundle with other weights, as training leaves it.

    Args:
        sizes: what its config.json says of the model besides.
    """
    shutil.copytree(folder, to)
    file = to / "model.safetensors"
    random = np.random.default_rng(5)
    weights = {
        name: (array + by * random.normal(size=array.shape)).astype(array.dtype)
        for name, array in load_file(file).items()
    }
    save_file(weights, file, metadata={"format": "pt"})
    if (to / "card.json").is_file():  # a bundle, and no model of another toolkit
        sign(to)
    if sizes:
        config = json.loads((to / "config.json").read_text("utf-8"))
        config["model"] |= sizes
        (to / "config.json").write_text(json.dumps(config), "utf-8")
    return to
