"""Pictures of coloured frames for the lab `convolution`: which core has the frame in my colour?"""

import colorsys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.data.pictures.store import PictureStore

COLOURS = 4  # of frames, and of cores: 16 pairs
THINGS = 5  # the first, in the top left corner, asks; the second is its partner
PLACES, STEP, SIDE = 4, 6, 4  # 4 x 4 places, 6 pixels apart; things of 4 x 4 pixels
PATCH = 2  # pixels a side of a cell
CELLS = PLACES * STEP // PATCH

Corners = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Pictures and their answers.

    Attributes:
        corners: (picture thing 2), the top left pixel of each thing.
    """

    store: PictureStore
    corners: Corners


def draw(pictures: int, seed: int) -> Drawn:
    """Frames of different colours; the cores' colours may be alike."""
    random = np.random.default_rng(seed)
    hues = [colorsys.hsv_to_rgb(hue / COLOURS, 0.9, 0.95) for hue in range(COLOURS)]
    palette = (255 * np.array(hues)).astype(np.uint8)
    side = PLACES * STEP
    pixels = random.integers(90, 160, (pictures, side, side, 3), dtype=np.uint8)
    answers = np.empty(pictures, dtype=np.int64)
    corners = np.empty((pictures, THINGS, 2), dtype=np.int64)
    for index in range(pictures):
        places = np.append(0, 1 + random.permutation(PLACES**2 - 1)[: THINGS - 1])
        corners[index] = np.stack(np.divmod(places, PLACES), axis=1) * STEP
        frames = palette[random.permutation(COLOURS)[: THINGS - 1]]
        cores = random.integers(0, COLOURS, THINGS - 1)
        answers[index] = cores[0]
        black = np.zeros(3, dtype=np.uint8)
        things = [(frames[0], black), *zip(frames, palette[cores], strict=True)]
        for (frame, core), (row, column) in zip(things, corners[index], strict=True):
            pixels[index, row : row + SIDE, column : column + SIDE] = frame
            pixels[index, row + 1 : row + SIDE - 1, column + 1 : column + SIDE - 1] = core
    labels = tuple(f"colour {colour}" for colour in range(COLOURS))
    return Drawn(PictureStore(f"things {seed}", pixels, answers, labels), corners)


def cells_of(corner: npt.NDArray[np.int64]) -> list[int]:
    """The cells that a thing lies on, numbered row by row."""
    row, column = corner // PATCH
    span = range(SIDE // PATCH)
    return [int((row + down) * CELLS + column + right) for down in span for right in span]
