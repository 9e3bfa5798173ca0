"""What config.json says of the weights, and its checks. Imports no torch."""

from collections.abc import Mapping

from jumok.bundle.reading import CONFIG, WEIGHTS, Bundle
from jumok.config.section import ModelSection
from jumok.errors import BundleError, Location, ModelError
from jumok.models.size import BYTES, check_memory

TABLES = 1 << 30
"""The most bytes of tables that are computed, not stored: those of positions."""


def check_size(bundle: Bundle, config: ModelSection) -> None:
    """Raises a BundleError for a model that is much larger than the weights."""
    file = bundle.config
    most = TABLES + 2 * BYTES * bundle.parameters
    try:
        check_memory(config, file.vocabulary_size, len(file.labels), most)
    except ModelError as error:
        raise BundleError(
            "the sizes in config.json are not those of the weights.",
            expected=f"the sizes of a model of {bundle.parameters:,} numbers",
            got=f"{error.what} {error.got}",
            do="get an undamaged copy: config.json and model.safetensors belong together",
            place=Location(bundle.folder / CONFIG),
        ) from error


def check_alignment(bundle: Bundle, layers: int) -> None:
    """Raises a BundleError if the alignment setting names a layer or head that is not there.

    Args:
        layers: the number of the decoder's cross-attentions.
    """
    config, heads = bundle.config, bundle.config.model.get("heads")
    for what, index, count in (
        ("layer", config.alignment_layer, layers),
        ("head", config.alignment_head, heads),
    ):
        if index is not None and isinstance(count, int) and index >= count:
            raise BundleError(
                f"the alignment setting names a {what} that this model does not have.",
                expected=f"alignment_{what} below {count}, or null",
                got=str(index),
                do="get an undamaged copy of the bundle",
                place=Location(bundle.folder / CONFIG),
            )


def check_tensors(bundle: Bundle, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises a BundleError if a tensor of the bundle is not in `shapes`, or has another shape."""
    if unknown := [name for name in bundle.tensors if name not in shapes]:
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        raise BundleError(
            "this model was trained with other code: it has weights that config.json does not "
            "describe.",
            place=Location(bundle.folder / WEIGHTS),
            expected="the tensors of the model that config.json describes",
            got=f"{unknown[0]}{more}",
            do="load it with the code that it was trained with: a newer jumok, or your own parts",
        )
    for name, tensor in bundle.tensors.items():
        if tensor.shape != shapes[name]:
            raise unfit(bundle, f"{name} of shape {tensor.shape}, not {shapes[name]}")


def unfit(bundle: Bundle, got: str) -> BundleError:
    """The error for weights that are not those of the described model."""
    return BundleError(
        "the weights do not fit the model that config.json describes.",
        place=Location(bundle.folder / WEIGHTS),
        got=got,
        do="get an undamaged copy: config.json and model.safetensors belong together",
    )
