"""A Transformer over the patches of an image: the section [model.encoder] with the kind "vit"."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from jumok.config.section import Count, Layers, PixelSide
from jumok.config.stack import ActivationKind, PositionKind, StackConfig

Resampling = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
"""How an image is brought to another size, by the names of Pillow."""
Channels = tuple[float, float, float]


class VitConfig(StackConfig):
    """Patches, learned positions, and blocks in which all patches attend to all.

    Before the states of the patches there is one that a classifier reads, of DeiT two.
    """

    kind: Literal["vit"] = "vit"
    size: PixelSide = 224
    patch: Count = 16
    layers: Layers = 4
    activation: ActivationKind = "gelu"
    positions: PositionKind = "none"
    distilled: bool = False
    mean: Channels = (0.5, 0.5, 0.5)
    deviation: Annotated[Channels, Field(min_length=3)] = (0.5, 0.5, 0.5)
    resample: Resampling = "bilinear"
    resized: PixelSide | None = None

    @property
    def grid(self) -> tuple[int, int]:
        """The rows and columns of patches."""
        return self.size // self.patch, self.size // self.patch

    @property
    def width(self) -> int:
        """The width of each state."""
        return self.dim

    @property
    def before(self) -> int:
        """The states before those of the patches."""
        return 1 + self.distilled

    @property
    def names_before(self) -> tuple[str, ...]:
        """What those states are called."""
        return ("[CLS]", "[DISTILL]")[: self.before]

    @property
    def states(self) -> int:
        """The number of all states."""
        return self.before + self.grid[0] * self.grid[1]

    @model_validator(mode="after")
    def _patches_fit(self) -> "VitConfig":
        if self.size % self.patch:
            raise ValueError(
                f"size = {self.size} cannot be cut into patches of {self.patch} pixels: "
                "choose a multiple"
            )
        if self.resized is not None and self.resized < self.size:
            raise ValueError(
                f"resized = {self.resized} is smaller than size = {self.size}, which is cut out "
                "of it: raise it, or leave it out"
            )
        if self.positions != "none":
            raise ValueError("its positions are learned, one for each patch: leave positions out")
        if min(self.deviation) <= 0.0:
            raise ValueError("deviation is divided by: choose numbers above 0")
        return self
