"""Pictures small enough to draw here: a patch of one colour on a grey ground."""

import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"blue": (20, 30, 230), "green": (20, 220, 40), "red": (240, 20, 30)}


def picture(label: str, number: int) -> np.ndarray:
    """8 rows, 10 columns: a patch of 4 x 4 pixels somewhere."""
    random = np.random.default_rng([number, len(label)])
    pixels = random.integers(100, 140, (8, 10, 3), dtype=np.uint8)
    row, column = random.integers(0, 5), random.integers(0, 7)
    pixels[row : row + 4, column : column + 4] = COLOURS[label]
    return pixels


def paint(folder: Path, each: int) -> Path:
    """A folder for each label with so many pictures, in PNG."""
    for label in COLOURS:
        (folder / label).mkdir(parents=True)
        for number in range(each):
            Image.fromarray(picture(label, number)).save(folder / label / f"{number:04}.png")
    return folder


def pack(folder: Path) -> Path:
    """The folder as a zip archive beside it."""
    archive = folder.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for each in sorted(folder.rglob("*.png")):
            file.write(each, each.relative_to(folder).as_posix())
    return archive


def write_idx(path: Path, values: np.ndarray) -> Path:
    """An array of bytes as MNIST has it, compressed where the name ends in .gz."""
    content = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    content += values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path
