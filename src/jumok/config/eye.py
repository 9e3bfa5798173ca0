"""Pretrained encoders of images: the section [model.encoder] with the kind "efficientnet-lite0".

    size x size pixels -> first convolution -> 7 stages of blocks -> last convolution -> grid

Source: Tan and Le 2019, "EfficientNet"; the sizes of the variant "lite0", which has neither
squeeze-and-excitation nor swish.
"""

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from jumok.config.section import DataPath, PixelSide, Section


class EyeStage(NamedTuple):
    """Inverted bottlenecks of one size; the first one has the stride."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    channels: int


FIRST_CHANNELS, LAST_CHANNELS, FIRST_STRIDE = 32, 1280, 2
STAGES = (
    EyeStage(1, 3, 1, 1, 16),
    EyeStage(2, 3, 2, 6, 24),
    EyeStage(2, 5, 2, 6, 40),
    EyeStage(3, 3, 2, 6, 80),
    EyeStage(3, 5, 1, 6, 112),
    EyeStage(4, 5, 2, 6, 192),
    EyeStage(1, 3, 1, 6, 320),
)
CELL = FIRST_STRIDE * 16
"""Pixels along one side of a cell: the product of all strides."""


class EyeConfig(Section):
    """EfficientNet-Lite0 with the weights of ImageNet, which become part of the bundle."""

    kind: Literal["efficientnet-lite0"] = "efficientnet-lite0"
    size: PixelSide = 224
    weights: DataPath | None = None
    tuned_stages: Annotated[int, Field(ge=0, le=len(STAGES))] = 0

    @property
    def grid(self) -> tuple[int, int]:
        """The rows and columns of its output."""
        return self.size // CELL, self.size // CELL

    @property
    def width(self) -> int:
        """The width of the state in each cell."""
        return LAST_CHANNELS

    @property
    def frozen_shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns of what the frozen stages compute, which training reads."""
        if not self.tuned_stages:
            return (LAST_CHANNELS, *self.grid)
        frozen = STAGES[: -self.tuned_stages]
        side = self.size // FIRST_STRIDE
        for stage in frozen:
            side //= stage.stride
        return (frozen[-1].channels if frozen else FIRST_CHANNELS), side, side

    @property
    def weights_by_stage(self) -> list[int]:
        """The numbers in the convolutions: of the first one, of each stage, and of the last one."""
        numbers, inner = [27 * FIRST_CHANNELS], FIRST_CHANNELS
        for blocks, kernel, _, expansion, channels in STAGES:
            total = 0
            for _ in range(blocks):
                wide = inner * expansion
                total += wide * (inner * (expansion > 1) + kernel**2 + channels)
                inner = channels
            numbers.append(total)
        return [*numbers, inner * LAST_CHANNELS]

    @model_validator(mode="after")
    def _cells_fit(self) -> "EyeConfig":
        if self.size % CELL:
            raise ValueError(
                f"size = {self.size} cannot be cut into cells of {CELL} pixels: choose a multiple"
            )
        return self
