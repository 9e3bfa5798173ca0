"""From a bundle's weights to a model."""

from collections.abc import Mapping

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from jumok.bundle.arrays import check_digest, read_arrays, unreadable
from jumok.bundle.checks import (
    check_alignment,
    check_config_size,
    check_free_memory,
    check_tensors,
    unfit,
)
from jumok.bundle.reading import WEIGHTS, Bundle
from jumok.config.section import ModelSection
from jumok.models.catalog import DataSizes, build
from jumok.models.memory import SequenceToSequence
from jumok.models.size import BYTES


def load_model(bundle: Bundle, device: str = "cpu") -> nn.Module:
    """The model with its weights in float32, whatever their stored type, in evaluation mode.

    Raises:
        BundleError: tensors that are missing, unknown, or of other shapes than config.json gives;
            or too little memory is free.
    """
    check_free_memory(bundle, BYTES * bundle.parameters)
    model = _built(bundle, bundle.section)
    own = model.state_dict()
    check_tensors(bundle, {name: tuple(tensor.shape) for name, tensor in own.items()})
    stored = _read_tensors(bundle)
    # The storage is compared, not the name: a tied tensor has several names and is stored once.
    filled = {own[name].data_ptr() for name in stored}
    missing = [name for name, tensor in own.items() if tensor.data_ptr() not in filled]
    if missing:
        raise unfit(bundle, f"no tensor for {missing[0]}")
    copy_weights(model, stored)
    return model.to(device).eval()


def _built(bundle: Bundle, config: ModelSection) -> nn.Module:
    check_config_size(bundle, config)
    file = bundle.config
    model = build(config, DataSizes(file.vocabulary_size, len(file.labels)))
    layers = len(model.cross_sites) if isinstance(model, SequenceToSequence) else 0
    check_alignment(bundle, layers)
    return model


def _read_tensors(bundle: Bundle) -> dict[str, Tensor]:
    if bundle.precision == "int8":
        return {name: torch.from_numpy(array) for name, array in read_arrays(bundle).items()}
    try:
        stored = load_file(bundle.folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise unreadable(bundle, error) from error
    check_digest(bundle)
    return stored


@torch.no_grad()
def copy_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies the weights into the model, whatever their type; tied ones are needed only once."""
    own = model.state_dict()
    for name, tensor in weights.items():
        own[name].copy_(tensor)
