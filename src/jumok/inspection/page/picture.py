"""The image that a model read, and the positions of the grid's cells in it."""

import base64
import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.errors import optional_import


@dataclass(frozen=True)
class TracePicture:
    """The image as the model read it, at that size and in those colours.

    Attributes:
        width, height: in pixels.
        url: the PNG file as "data:image/png;base64,...".
    """

    width: int
    height: int
    url: str

    @classmethod
    def of(cls, pixels: npt.NDArray[np.uint8]) -> "TracePicture":
        """Makes it from pixels (height width 3), or (height width 1) for grey."""
        height, width, colours = pixels.shape
        stream = io.BytesIO()
        with optional_import("showing images", extra="images"):
            from PIL import Image
        Image.fromarray(pixels[:, :, 0] if colours == 1 else pixels).save(stream, "PNG")
        coded = base64.b64encode(stream.getvalue()).decode("ascii")
        return cls(width, height, f"data:image/png;base64,{coded}")

    @property
    def png(self) -> bytes:
        """The bytes of the PNG file."""
        return base64.b64decode(self.url.partition(",")[2])

    def box(self, grid: tuple[int, int], cell: int) -> tuple[float, float, float, float]:
        """(left, top, right, bottom) of the cell's own pixels; its vector depends on more.

        Args:
            grid: rows and columns of the cells, which are numbered row by row.
        """
        rows, columns = grid
        row, column = divmod(cell, columns)
        across, down = self.width / columns, self.height / rows
        return column * across, row * down, (column + 1) * across, (row + 1) * down
