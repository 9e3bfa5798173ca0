"""From a bundle's weights to a model."""

from collections.abc import Mapping

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from jumok.bundle.reading import CONFIG, WEIGHTS, Bundle
from jumok.config.section import ModelSection
from jumok.errors import BundleError, ModelError, Place
from jumok.models.catalog import DataSizes, build, model_config
from jumok.models.memory import SequenceToSequence
from jumok.models.size import BYTES

TABLES = 1 << 30
"""The most bytes of tables that are computed, not stored: those of positions."""


def load_model(bundle: Bundle, device: str = "cpu") -> nn.Module:
    """The model with its weights in float32, whatever their stored type, in evaluation mode.

    Raises:
        BundleError: tensors that are missing, unknown, or of other shapes than config.json gives.
    """
    model = _built(bundle, section_of(bundle))
    own = model.state_dict()
    _check_tensors(bundle, {name: tuple(tensor.shape) for name, tensor in own.items()})
    stored = stored_weights(bundle)
    # The storage is compared, not the name: a tied tensor has several names and is stored once.
    filled = {own[name].data_ptr() for name in stored}
    missing = [name for name, tensor in own.items() if tensor.data_ptr() not in filled]
    if missing:
        raise _unfit(bundle, f"no tensor for {missing[0]}")
    fill(model, stored)
    return model.to(device).eval()


def section_of(bundle: Bundle) -> ModelSection:
    """The [model] section of the bundle.

    Raises:
        BundleError: keys or values that this kind of model does not have.
    """
    try:
        return model_config(bundle.config.model)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleError(
            "the model's sizes in config.json cannot be followed.",
            place=Place(bundle.folder / CONFIG),
            got="; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults),
            do="get an undamaged copy of the bundle",
        ) from error


def _built(bundle: Bundle, config: ModelSection) -> nn.Module:
    """The model without its weights; sizes beyond those of the weights are refused."""
    file, sizes = bundle.config, DataSizes(bundle.config.vocabulary_size, len(bundle.config.labels))
    try:
        model = build(config, sizes, TABLES + 2 * BYTES * bundle.parameters)
    except ModelError as error:
        raise BundleError(
            "the sizes in config.json are not those of the weights.",
            expected=f"the sizes of a model of {bundle.parameters:,} numbers",
            got=f"{error.what} {error.got}",
            do="get an undamaged copy: config.json and model.safetensors belong together",
            place=Place(bundle.folder / CONFIG),
        ) from error
    looks = len(model.cross_sites) if isinstance(model, SequenceToSequence) else 0
    if file.alignment_layer is not None and file.alignment_layer >= looks:
        raise BundleError(
            "the alignment setting names a layer that this model does not have.",
            expected=f"alignment_layer below {looks}, or null",
            got=str(file.alignment_layer),
            do="get an undamaged copy of the bundle",
            place=Place(bundle.folder / CONFIG),
        )
    return model


def stored_weights(bundle: Bundle) -> dict[str, Tensor]:
    """The bundle's weights by their names: int8 as float32, others as they are stored.

    Raises:
        BundleError: they cannot be read, or are not those that the bundle was written with.
    """
    if bundle.precision == "int8":
        read = bundle.weights()
        floats = read.floats | {name: each.floats() for name, each in read.integers.items()}
        return {name: torch.from_numpy(array) for name, array in floats.items()}
    try:
        return load_file(bundle.folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise BundleError(
            "the weights cannot be read.",
            place=Place(bundle.folder / WEIGHTS),
            got=str(error),
            do="get an undamaged copy of the bundle",
        ) from error


@torch.no_grad()
def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies the weights into the model, whatever their type; tied ones are needed only once."""
    own = model.state_dict()
    for name, tensor in weights.items():
        own[name].copy_(tensor)


def _check_tensors(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> None:
    if unknown := [name for name in bundle.tensors if name not in shapes]:
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        raise BundleError(
            "this model was trained with other code: it has weights that config.json does not "
            "describe.",
            place=Place(bundle.folder / WEIGHTS),
            expected="the tensors of the model that config.json describes",
            got=f"{unknown[0]}{more}",
            do="load it with the code that it was trained with: a newer jumok, or your own parts",
        )
    for name, tensor in bundle.tensors.items():
        if tensor.shape != shapes[name]:
            raise _unfit(bundle, f"{name} of shape {tensor.shape}, not {shapes[name]}")


def _unfit(bundle: Bundle, got: str) -> BundleError:
    return BundleError(
        "the weights do not fit the model that config.json describes.",
        place=Place(bundle.folder / WEIGHTS),
        got=got,
        do="get an undamaged copy: config.json and model.safetensors belong together",
    )
