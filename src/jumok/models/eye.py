"""EfficientNet-Lite0: pixels to a grid of states, with weights that were trained on ImageNet.

    pixels -> frozen stages -> tuned stages -> cells

Batch norms are part of the convolutions before them: with fixed means, W and b alone compute the
same. Frozen weights are buffers, so that training has no gradients and moments of them.

Source: Tan and Le 2019; Sandler et al. 2018, "MobileNetV2" (inverted bottlenecks).
"""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional as F

from jumok.config.eye import FIRST_CHANNELS, FIRST_STRIDE, LAST_CHANNELS, STAGES, EyeConfig
from jumok.layers.convolution import PictureTensor
from jumok.shapes import Float, Tensor

CELLS = "cells."
"""The beginning of the names of an encoder's weights in a captioner and a classifier."""
MEAN, SCALE = 127.0, 128.0
"""Pixels are read as (x - MEAN) / SCALE."""
NORM_EPSILON = 1e-3
LARGEST = 6.0
"""What the activation, ReLU6, cuts off."""


class SameConvolution(nn.Conv2d):
    """A convolution whose zeros around the image are TensorFlow's: with a stride, more of them
    are below and on the right.
    """

    def __init__(
        self, inner: int, outer: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(inner, outer, kernel, stride, groups=groups)

    def forward(self, picture: PictureTensor) -> Tensor:
        padding = []
        for side, kernel, stride in zip(
            picture.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1], strict=True
        ):
            missing = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            padding += [missing // 2, missing - missing // 2]
        return F.conv2d(
            F.pad(picture, padding) if any(padding) else picture,
            self.weight,
            self.bias,
            self.stride,
            groups=self.groups,
        )


class InvertedBottleneck(nn.Module):
    """x + project(depthwise(expand(x))); without x where the sizes differ."""

    def __init__(self, inner: int, outer: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inner * expansion
        self.expand = SameConvolution(inner, wide) if expansion > 1 else nn.Identity()
        self.depthwise = SameConvolution(wide, wide, kernel, stride, groups=wide)
        self.project = SameConvolution(wide, outer)
        self.expands, self.adds = expansion > 1, stride == 1 and inner == outer

    def forward(self, picture: PictureTensor) -> Tensor:
        wide = _bent(self.expand(picture)) if self.expands else picture
        narrow: Tensor = self.project(_bent(self.depthwise(wide)))
        return picture + narrow if self.adds else narrow


class Bent(nn.Module):
    """A convolution and its activation."""

    def __init__(self, convolution: SameConvolution) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, picture: PictureTensor) -> Tensor:
        return _bent(self.convolution(picture))


class Eye(nn.Module):
    """EfficientNet-Lite0 without its classifier.

    Attributes:
        stages: the first convolution, the stages, and the last convolution.
        frozen: how many of them do not change.
    """

    def __init__(self, config: EyeConfig) -> None:
        super().__init__()
        first = Bent(SameConvolution(3, FIRST_CHANNELS, 3, FIRST_STRIDE))
        stages: list[nn.Module] = [first]
        inner = FIRST_CHANNELS
        for blocks, kernel, stride, expansion, channels in STAGES:
            stage = []
            for number in range(blocks):
                step = 1 if number else stride
                stage.append(InvertedBottleneck(inner, channels, kernel, step, expansion))
                inner = channels
            stages.append(nn.Sequential(*stage))
        self.stages = nn.ModuleList([*stages, Bent(SameConvolution(inner, LAST_CHANNELS))])
        tuned = config.tuned_stages
        self.frozen = len(self.stages) - (tuned + 1 if tuned else 0)
        for stage_ in self.stages[: self.frozen]:
            _freeze(stage_)

    def forward(self, pictures: Tensor, like: Tensor) -> Float[Tensor, "batch cells width"]:
        """The states of the cells, row by row.

        Args:
            pictures: pixels (batch 3 height width) in bytes, or what `frozen_features` returned.
            like: has the number format of the states.
        """
        if pictures.dtype == torch.uint8:
            pictures = self.frozen_features(pictures)
        grid = pictures.to(like.dtype)
        for stage in self.stages[self.frozen :]:
            grid = stage(grid)
        return grid.flatten(2).transpose(1, 2)

    @torch.no_grad()
    def frozen_features(self, pixels: Tensor) -> Tensor:
        """What the frozen stages compute for pixels (batch 3 height width) in bytes."""
        first = next(self.stages[0].children())
        assert isinstance(first, SameConvolution)
        grid = (pixels.to(first.weight.dtype) - MEAN) / SCALE
        for stage in self.stages[: self.frozen]:
            grid = stage(grid)
        return grid


def _bent(picture: Tensor) -> Tensor:
    return F.relu6(picture)


def _freeze(module: nn.Module) -> None:
    """Makes buffers of the parameters, under the same names."""
    for each in module.modules():
        for name, tensor in list(each.named_parameters(recurse=False)):
            delattr(each, name)
            each.register_buffer(name, tensor.detach())


def original_names() -> dict[str, tuple[str, str]]:
    """For each convolution its name, and that of the batch norm after it, in EfficientNet-Lite."""
    names = {"stages.0.convolution": ("_conv_stem", "_bn0")}
    block = 0
    for number, stage in enumerate(STAGES, start=1):
        for index in range(stage.blocks):
            for part, convolution, norm in (
                ("expand", "_expand_conv", "_bn0"),
                ("depthwise", "_depthwise_conv", "_bn1"),
                ("project", "_project_conv", "_bn2"),
            ):
                if part != "expand" or stage.expansion > 1:
                    there = f"_blocks.{block}"
                    names[f"stages.{number}.{index}.{part}"] = (
                        f"{there}.{convolution}",
                        f"{there}.{norm}",
                    )
            block += 1
    return names | {f"stages.{len(STAGES) + 1}.convolution": ("_conv_head", "_bn1")}


def folded(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of an `Eye` from those of EfficientNet-Lite, each norm in its convolution.

    Raises:
        KeyError: a tensor is missing.
    """
    weights = {}
    for name, (convolution, norm) in original_names().items():
        gain, shift, mean, variance = (
            stored[f"{norm}.{part}"].double()
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factor = gain / (variance + NORM_EPSILON).sqrt()
        kernel = stored[f"{convolution}.weight"].double() * factor[:, None, None, None]
        weights[f"{name}.weight"] = kernel.float()
        weights[f"{name}.bias"] = (shift - mean * factor).float()
    return weights
