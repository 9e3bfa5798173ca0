"""From a bundle's weights to a model that computes."""

from collections.abc import Mapping

import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from torch import Tensor, nn

from jumok.bundle.reading import CONFIG, WEIGHTS, Bundle
from jumok.errors import BundleError, Place
from jumok.models.catalog import Sizes, build, model_config


def load_model(bundle: Bundle, device: str = "cpu") -> nn.Module:
    """The model with its weights, in evaluation mode; computed in float32 however stored.

    Raises:
        BundleError: tensors that are missing, unknown, or shaped otherwise than config.json says.
    """
    try:
        config = model_config(bundle.config.model)
    except ValidationError as error:
        raise BundleError(
            "the model's sizes in config.json cannot be followed.",
            place=Place(bundle.folder / CONFIG),
            got="; ".join(f"{fault['loc']}: {fault['msg']}" for fault in error.errors()),
            do="get an undamaged copy of the bundle",
        ) from error
    sizes = Sizes(bundle.config.vocabulary_size, len(bundle.config.labels))
    model = build(config, sizes)
    own = model.state_dict()
    _check_tensors(bundle, {name: tuple(tensor.shape) for name, tensor in own.items()})
    stored = load_file(bundle.folder / WEIGHTS)
    # The storage is compared, not the name: a tied tensor has several names and is stored once.
    filled = {own[name].data_ptr() for name in stored}
    missing = [name for name, tensor in own.items() if tensor.data_ptr() not in filled]
    if missing:
        raise _unfit(bundle, f"no tensor for {missing[0]}")
    fill(model, stored)
    return model.to(device).eval()


@torch.no_grad()
def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies the weights into the model, whatever their type; tied ones are needed but once."""
    own = model.state_dict()
    for name, tensor in weights.items():
        own[name].copy_(tensor)


def _check_tensors(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, tensor in bundle.tensors.items():
        if name not in shapes:
            raise _unfit(bundle, f"a tensor {name} that this model does not have")
        if tensor.shape != shapes[name]:
            raise _unfit(bundle, f"{name} of shape {tensor.shape}, not {shapes[name]}")


def _unfit(bundle: Bundle, got: str) -> BundleError:
    return BundleError(
        "the weights do not fit the model that config.json describes.",
        place=Place(bundle.folder / WEIGHTS),
        got=got,
        do="get an undamaged copy: config.json and model.safetensors belong together",
    )
