"""The Vision Transformer: patches are tokens, and all attend to all.

    pixels -> patches W + b -> [classifier's state ; patches] + positions -> blocks -> states

Source: Dosovitskiy et al. 2021; the second state: Touvron et al. 2021 (DeiT).
"""

import torch
from torch import nn

from jumok.attention.overrides import ContextAttribute
from jumok.config.vit import VitConfig
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import StateEdit
from jumok.models.builder import BlockBuilder
from jumok.shapes import Float, Tensor, UInt8

WHITE = 255.0


class VisionTransformer(nn.Module):
    """From images to states: those of the patches, after those that a classifier reads.

    Attributes:
        edit: changes the vectors of the tokens before their positions are added; None: no change.
    """

    edit: ContextAttribute[StateEdit | None] = ContextAttribute()

    def __init__(self, config: VitConfig, noise: Noise) -> None:
        super().__init__()
        parts, dim = BlockBuilder(config, noise), config.dim
        self.patches = nn.Conv2d(3, dim, config.patch, config.patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.distillation_token = nn.Parameter(torch.zeros(1, 1, dim)) if config.distilled else None
        self.positions = nn.Parameter(torch.empty(1, config.states, dim).normal_(std=0.02))
        self.dropout = Dropout(config.dropout, noise)
        self.first_norm = parts.first_norm()
        self.blocks = parts.stack("image", config.layers)
        self._mean, self._deviation = config.mean, config.deviation

    def forward(
        self, pictures: UInt8[Tensor, "batch 3 height width"], like: Tensor
    ) -> Float[Tensor, "batch states dim"]:
        pixels = pictures.to(like.dtype) / WHITE
        mean, deviation = (
            pixels.new_tensor(each)[:, None, None] for each in (self._mean, self._deviation)
        )
        patches = self.patches((pixels - mean) / deviation).flatten(2).transpose(1, 2)
        first = [each for each in (self.class_token, self.distillation_token) if each is not None]
        tokens = [each.expand(patches.shape[0], -1, -1) for each in first]
        read, edit = torch.cat([*tokens, patches], dim=1), self.edit
        if edit is not None:
            read = edit(read, 0)
        stream = self.dropout(read + self.positions)
        states: Tensor = self.blocks(stream, self.first_norm(stream), None)
        return states
