"""A recipe for a folder of images with one folder per label, sized to their number.

The network is that of the recipe cifar10 for images of 64 x 64 pixels, with the same number of
cells; small folders get a narrow one, because a wide one overfits.
"""

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from jumok.config.writing import toml_path
from jumok.data.files.images import ImageSource
from jumok.errors import DataError, Location


@dataclass(frozen=True)
class LabelledFolder:
    """Attributes:
    labels: the number of images of each.
    empty: folders without an image.
    """

    labels: dict[str, int]
    empty: tuple[str, ...]

    @property
    def pictures(self) -> int:
        return sum(self.labels.values())


def read_folder(folder: Path) -> LabelledFolder:
    """Counts the images of each label.

    Raises:
        DataError: fewer than two labels have images, or some images are not in the folder of a
            label.
    """
    labels: dict[str, int] = {}
    for name in ImageSource(folder).names:
        label = PurePosixPath(name).parent.name
        labels[label] = labels.get(label, 0) + 1
    loose = labels.pop("", 0)
    if loose or len(labels) < 2:
        raise DataError(
            f"{loose:,} images are not in the folder of a label." if loose else
            "these images do not have at least two labels.",
            expected="a folder of images for each label: cat/0001.jpg, dog/0001.jpg",
            got=", ".join(f"{label} ({count:,})" for label, count in labels.items())
            or "no folder with images",
            place=Location(folder),
        )  # fmt: skip
    below = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    empty = (path.name for path in below if not path.name.startswith("."))
    known = {PurePosixPath(name).parts[0] for name in ImageSource(folder).names}
    return LabelledFolder(labels, tuple(name for name in empty if name not in known))


def recipe_for_pictures(folder: Path, images: LabelledFolder, name: str) -> str:
    """A complete recipe, as TOML for the user to edit."""
    small = images.pictures < 5_000
    steps = 1_500 if small else 3_000 if images.pictures < 30_000 else 10_000
    return f"""\
# Made by jumok for {images.pictures:,} pictures of {len(images.labels)} labels; edit it as needed.
# All keys: jumok recipes show cifar10-attention
name = {json.dumps(name)}

[data]
validation_pictures = {min(1_000, max(1, images.pictures // 10))}  # held out
skip_damaged = false  # true: leave out images that cannot be read

[[data.train]]
folder = {toml_path(folder)}

[data.augmentation]
flip = true  # use false if left and right differ, as in letters
shift = 4

[model]
kind = "image-classifier"
height = 64
width = 64
patch = 4
channels = {[16, 32, 64] if small else [32, 64, 128]}
dropout = {0.2 if small else 0.1}

[training]
steps = {steps}
learning_rate = 6e-3
weight_decay = 0.02
label_smoothing = 0.05
schedule = {{ kind = "cosine", warmup = {steps // 20} }}
average = {{ decay = 0.99 }}

[validation]
every = {steps // 10}
metric = "accuracy"
"""
