"""What systems load from bundles, and read there of a model. Importing it imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.card import BundleConfig
from jumok.bundle.reading import TOKENIZER, Bundle, read_bundle
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError, DataError, Location
from jumok.systems.device import PrecisionName, choose_device, dtype_of

if TYPE_CHECKING:
    import torch

ModelKind = TypeVar("ModelKind")

UNDAMAGED = "get an undamaged copy of the bundle"


def read_bundles(folders: Sequence[Bundle | Path | str], task: str) -> list[Bundle]:
    """The bundles in these folders, at least one, all of them for this task.

    Raises:
        BundleError: there is no folder; a bundle is missing, damaged, unsafe, or for another task.
    """
    if not folders:
        raise BundleError("there is no model to load.", do="give the folder of a bundle")
    bundles = [opened(folder) for folder in folders]
    for bundle in bundles:
        if bundle.config.task != task:
            raise BundleError(
                "this bundle holds another kind of model.",
                place=Location(bundle.folder),
                expected=f"one for {task}",
                got=f"one for {bundle.config.task}",
                do="jumok.load(FOLDER) takes any kind",
            )
    return bundles


def opened(folder: Bundle | Path | str) -> Bundle:
    """The bundle in this folder, if it was not read before."""
    return folder if isinstance(folder, Bundle) else read_bundle(Path(folder))


def load_one(
    folders: Sequence[Bundle | Path | str],
    kind: type[ModelKind],
    device: str,
    precision: PrecisionName,
    alone: str = "models of this kind do not form an ensemble.",
) -> tuple[Bundle, ModelKind]:
    """The bundle in the one folder, and its model ready for use.

    Args:
        alone: the message if more than one folder is given.

    Raises:
        BundleError: there is more than one folder; a bundle is missing, damaged, unsafe, or holds
            another kind of model.
        ConfigError: the device does not exist.
    """
    bundle = only_one([opened(folder) for folder in folders], alone)
    return bundle, load_ready_model(bundle, kind, choose_device(device), dtype_of(precision))


def only_one(bundles: Sequence[Bundle], alone: str) -> Bundle:
    """The one bundle; raises a BundleError with the message `alone` if there are more, or none."""
    if len(bundles) != 1:
        raise BundleError(
            alone,
            expected="one folder",
            got=", ".join(str(bundle.folder) for bundle in bundles) or "none",
        )
    return bundles[0]


def load_ready_model(
    bundle: Bundle, kind: type[ModelKind], device: torch.device, dtype: torch.dtype
) -> ModelKind:
    """The model of a bundle, ready for use.

    Raises:
        BundleError: the bundle is damaged, unsafe, or holds another kind of model.
    """
    from jumok.bundle.weights import load_model

    model = load_model(bundle, str(device))
    if not isinstance(model, kind):
        raise BundleError(
            "this bundle holds another kind of model.",
            place=Location(bundle.folder),
            expected=kind.__name__,
            got=type(model).__name__,
        )
    model.eval().to(dtype)
    return model


def load_tokenizer(bundle: Bundle) -> Tokenizer:
    """The bundle's tokenizer.

    Raises:
        BundleError: it is missing or damaged, or its vocabulary has another size than the model's.
    """
    file = bundle.folder / TOKENIZER
    try:
        tokenizer = Tokenizer.load(file)
    except DataError as error:
        raise BundleError(error.what, got=error.got, do=UNDAMAGED, place=Location(file)) from error
    check_vocabulary(bundle, tokenizer.size)
    return tokenizer


def check_vocabulary(bundle: Bundle, pieces: int) -> None:
    """Raises a BundleError if the sizes of the tokenizer's and the model's vocabulary differ."""
    if pieces != bundle.config.vocabulary_size:
        raise BundleError(
            "the tokenizer is not this model's.",
            expected=f"{bundle.config.vocabulary_size:,} subwords, by config.json",
            got=f"{pieces:,} subwords",
            do=UNDAMAGED,
            place=Location(bundle.folder / TOKENIZER),
        )


def reading_of(config: BundleConfig) -> AlignmentSetting | None:
    """The model's alignment setting; None if it was not measured."""
    if config.alignment_layer is None:
        return None
    return AlignmentSetting(
        config.alignment_layer, config.alignment_at_input, config.alignment_head
    )


def longest_of(config: ModelSection) -> int | None:
    """The maximum number of tokens that the positions allow besides START or END; None: no
    limit."""
    reach = config.reach if isinstance(config, StackConfig) else None
    return None if reach is None else reach - 1


def longest_part(bundle: Bundle) -> int:
    """The maximum number of tokens that are translated at once."""
    return min(bundle.config.max_tokens, longest_of(bundle.section) or bundle.config.max_tokens)
