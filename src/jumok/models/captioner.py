"""The captioner: from an image to a sentence.

    pixels -> convolutions -> a grid of cells [-> blocks: cells attend to cells] -> Memory
    pixels -> convolutions -> (all cells -> MLP -> one vector) -> Memory of length one
    START and words -> decoder, which attends to the Memory -> logits

The decoders are those of translation, whose Memory is of a sentence there and of an image here.

Source: Vinyals et al. 2015 (one vector); Xu et al. 2015 (a grid); Carion et al. 2020, "End-to-End
Object Detection with Transformers" (blocks over a grid of convolutions); lecture 004.
"""

from torch import nn
from torch.nn import functional as F

from jumok.attention.events import observable
from jumok.attention.masks import mask_of_keys
from jumok.attention.overrides import ContextAttribute
from jumok.config.captioner import (
    CaptionerConfig,
    CnnConfig,
    GivenConfig,
    ReaderConfig,
    RnnDecoderConfig,
)
from jumok.config.eye import EyeConfig
from jumok.config.vit import VitConfig
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.layers.convolution import ConvolutionStack, scale_pixels
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Editable, StateEdit, embedding_table
from jumok.models.builder import BlockBuilder
from jumok.models.decoder import TransformerDecoder
from jumok.models.eye import Eye
from jumok.models.memory import Memory, SequenceToSequence
from jumok.models.recurrent import RecurrentParts
from jumok.models.vit import VisionTransformer
from jumok.positions.sinusoidal import GridPositions
from jumok.shapes import Allowed, Float, Tensor, UInt8

CELL_SHARE = 4  # the one-vector memory keeps dim / 4 numbers of every cell


class CaptionerModel(SequenceToSequence):
    """An encoder of images, and a decoder that writes sentences about them.

    Attributes:
        grid: rows and columns of the cells that the decoder attends to; (1, 1) for one vector.
        before: the names of the states of the Memory before those of the cells.
        doubly_stochastic: weight of the term that rewards attending to every cell; 0 for none.
    """

    def __init__(self, config: CaptionerConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.noise = Noise()
        self.doubly_stochastic = config.doubly_stochastic
        self.one_vector = config.memory == "one"
        self.grid = (1, 1) if self.one_vector else config.encoder.grid
        dim, width = config.decoder.dim, config.encoder.width
        self.cells = _encoder(config.encoder, self.noise)
        self.writer: nn.Module
        self.before: tuple[str, ...] = ()
        if isinstance(config.encoder, VitConfig):  # its states know their positions
            self.writer = nn.Identity() if width == dim else Linear(width, dim)
            self.reader = None
            self.before = config.encoder.names_before
        else:
            writer = VectorWriter if self.one_vector else GridWriter
            self.writer = writer(width, dim, config.encoder.grid)
            self.reader = GridReader(config.reader, dim, self.noise)
        if isinstance(config.decoder, RnnDecoderConfig):
            table = embedding_table(vocabulary_size, config.decoder.embedding)
            recurrent = config.decoder.recurrent(looks=config.memory == "grid")
            self.decoder = RecurrentParts(recurrent, self.noise).decoder(table, table)
        else:
            table = embedding_table(vocabulary_size, dim)
            parts = BlockBuilder(config.decoder, self.noise)
            self.decoder = TransformerDecoder(
                parts,
                config.decoder.layers,
                table,
                table,
                cap=config.decoder.logit_cap,
                packs=not config.decoder.knows_row,
                bias=config.decoder.output_bias,
            )

    @observable
    def encode(self, pictures: Tensor, allowed: Allowed | None = None) -> Memory:
        """Reads every image once.

        Args:
            pictures: pixels (batch 3 height width) in bytes, or features (batch cells width), or
                those of the frozen stages of a pretrained encoder.
            allowed: True where a cell may be attended to; None where all may.
        """
        return self.write(self.see(pictures), allowed)

    @property
    def editable(self) -> Editable | None:
        """Where vectors of cells or patches can be changed, before any attends to another; None:
        the image is read as one vector."""
        for module in (self.cells, self.writer):
            if isinstance(module, VisionTransformer | GridWriter):
                return module
        return None

    def read_once(self, pictures: Tensor) -> Tensor:
        """What is the same in passes whose heads, cells or patches are changed: the cells, or the
        pixels where patches attend to patches."""
        return pictures if isinstance(self.cells, VisionTransformer) else self.see(pictures)

    def read_on(self, read: Tensor) -> Memory:
        """The Memory of what `read_once` returned."""
        return self.encode(read) if isinstance(self.cells, VisionTransformer) else self.write(read)

    def see(self, pictures: Tensor) -> Float[Tensor, "batch cells width"]:
        """The output of the image's encoder for each cell, row by row; features as they are."""
        cells: Tensor = self.cells(pictures, self.decoder.output.weight)
        return cells

    def write(
        self, cells: Float[Tensor, "batch cells width"], allowed: Allowed | None = None
    ) -> Memory:
        """The Memory of the cells that `see` returned."""
        written = self.writer(cells)
        return Memory(written if self.reader is None else self.reader(written, allowed), allowed)


def _encoder(config: CnnConfig | GivenConfig | EyeConfig | VitConfig, noise: Noise) -> nn.Module:
    match config:
        case VitConfig():
            return VisionTransformer(config, noise)
        case CnnConfig():
            return PixelEncoder(config, noise)
        case EyeConfig():
            return Eye(config)
        case GivenConfig():
            return Features()


class PixelEncoder(nn.Module):
    """Pixels to cells, by convolutions."""

    def __init__(self, config: CnnConfig, noise: Noise) -> None:
        super().__init__()
        dropout = Dropout(config.dropout, noise)
        self.convolutions = ConvolutionStack(config.channels, config.blocks, dropout, config.patch)

    def forward(
        self, pictures: UInt8[Tensor, "batch 3 height width"], like: Tensor
    ) -> Float[Tensor, "batch cells channels"]:
        grid = self.convolutions(scale_pixels(pictures, like))
        return grid.flatten(2).transpose(1, 2)  # batch channels cells -> batch cells channels


class Features(nn.Module):
    """Precomputed features, which are cells already."""

    def forward(
        self, pictures: Float[Tensor, "batch cells width"], like: Tensor
    ) -> Float[Tensor, "batch cells width"]:
        """The same in the number format of `like`."""
        return pictures.to(like.dtype)


class GridWriter(nn.Module):
    """Each cell becomes a state of the Memory: W x + b + its position.

    Attributes:
        edit: changes the cells' vectors before they are used; None: no change.
    """

    edit: ContextAttribute[StateEdit | None] = ContextAttribute()

    def __init__(self, width: int, dim: int, grid: tuple[int, int]) -> None:
        super().__init__()
        self.project = Linear(width, dim)
        self.positions = GridPositions(dim, *grid)

    def forward(
        self, cells: Float[Tensor, "batch cells width"]
    ) -> Float[Tensor, "batch cells dim"]:
        edit = self.edit
        if edit is not None:
            cells = edit(cells, 0)
        return self.project(cells) + self.positions(cells)


class GridReader(nn.Module):
    """Blocks of self-attention between the cells; without a block, only a norm.

    Counts and spatial relations depend on several cells.
    """

    def __init__(self, config: ReaderConfig, dim: int, noise: Noise) -> None:
        super().__init__()
        self.first_norm = nn.LayerNorm(dim)
        self.blocks = BlockBuilder(config.stack(dim), noise).stack("image", config.layers)

    def forward(
        self, cells: Float[Tensor, "batch cells dim"], allowed: Allowed | None = None
    ) -> Float[Tensor, "batch cells dim"]:
        return self.blocks(cells, self.first_norm(cells), mask_of_keys(allowed))


class VectorWriter(nn.Module):
    """All cells become one state, h_0 = f_W(z): each is projected down, and an MLP reads them all.

    The cells are concatenated, so the vector can represent positions, within its width.
    """

    def __init__(self, width: int, dim: int, grid: tuple[int, int]) -> None:
        super().__init__()
        share = max(1, dim // CELL_SHARE)
        self.squeeze = Linear(width, share)
        self.inner = Linear(share * grid[0] * grid[1], 2 * dim)
        self.outer = Linear(2 * dim, dim)

    def forward(self, cells: Float[Tensor, "batch cells width"]) -> Float[Tensor, "batch 1 dim"]:
        beside = F.relu(self.squeeze(cells)).flatten(1)
        return self.outer(F.relu(self.inner(beside)))[:, None]
