"""Loading of systems that are one model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from torch import nn

from jumok.bundle.card import BundleConfig
from jumok.bundle.reading import Bundle, read_bundle
from jumok.bundle.weights import load_model
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.errors import BundleError, Place
from jumok.inspection.alignment import Reading
from jumok.kernels.linear import prepare_for_inference
from jumok.models.catalog import model_config
from jumok.systems.device import DTYPES, Precision, choose_device

Model = TypeVar("Model", bound=nn.Module)


def read_bundles(folders: Sequence[Path | str], task: str) -> list[Bundle]:
    """The bundles in these folders, at least one, all of them for this task.

    Raises:
        BundleError: no folder; a bundle that is missing, damaged, unsafe, or for another task.
    """
    if not folders:
        raise BundleError("there is no model to load.", do="give the folder of a bundle")
    bundles = [read_bundle(Path(folder)) for folder in folders]
    for bundle in bundles:
        if bundle.config.task != task:
            raise BundleError(
                "this bundle holds another kind of model.",
                place=Place(bundle.folder),
                expected=f"one for {task}",
                got=f"one for {bundle.config.task}",
                do="jumok.load(FOLDER) takes any kind",
            )
    return bundles


def load_one(
    folders: Sequence[Path | str],
    kind: type[Model],
    device: str,
    precision: Precision,
    alone: str = "models of this kind do not work together.",
) -> tuple[Bundle, Model]:
    """The bundle in the one folder, and its model made ready for use.

    Args:
        alone: what is said where more than one is given.

    Raises:
        BundleError: more than one folder; a bundle that is missing, damaged, unsafe, or holds
            another kind of model.
        ConfigError: no such device.
    """
    bundles = [read_bundle(Path(folder)) for folder in folders]
    if len(bundles) != 1:
        raise BundleError(
            alone,
            expected="one folder",
            got=", ".join(str(folder) for folder in folders) or "none",
        )
    (bundle,) = bundles
    model = load_model(bundle, str(choose_device(device)))
    if not isinstance(model, kind):
        raise BundleError(
            "this bundle holds another kind of model.",
            place=Place(bundle.folder),
            expected=kind.__name__,
            got=type(model).__name__,
        )
    prepare_for_inference(model, DTYPES[precision])
    return bundle, model


def reading_of(config: BundleConfig) -> Reading | None:
    """Where the model's alignments are read; None where nobody measured it."""
    if config.alignment_layer is None:
        return None
    return Reading(config.alignment_layer, config.alignment_at_input, config.alignment_head)


def longest_of(config: ModelSection) -> int | None:
    """The most pieces that the positions leave room for beside START or END; None: any."""
    reach = config.reach if isinstance(config, StackConfig) else None
    return None if reach is None else reach - 1


def positions_end(bundle: Bundle) -> int | None:
    """`longest_of` the model in a bundle."""
    return longest_of(model_config(bundle.config.model))


def longest_part(bundle: Bundle) -> int:
    """The most pieces that are translated at once."""
    return min(bundle.config.max_tokens, positions_end(bundle) or bundle.config.max_tokens)
