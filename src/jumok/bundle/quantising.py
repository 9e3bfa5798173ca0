"""Writing a bundle's weights with fewer bits."""

import shutil
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from jumok.bundle.card import Card
from jumok.bundle.quantised import SCALE
from jumok.bundle.reading import TOKENIZER, WEIGHTS, Bundle, sha256
from jumok.bundle.weights import load_model
from jumok.bundle.writing import write_bundle
from jumok.engine.quantising import quantised
from jumok.errors import BundleError, Location
from jumok.kernels.linear import Projection
from jumok.layers.embedding import Embedding
from jumok.shapes import Tensor

FewerBits = Literal["int8", "bf16"]


class CopiedTokenizer:
    """A bundle's tokenizer of any kind, written again as it is."""

    def __init__(self, file: Path) -> None:
        self._file, self.hash = file, sha256(file)

    def save(self, path: Path) -> None:
        shutil.copyfile(self._file, path)


def write_quantised(
    folder: Path, bundle: Bundle, to: FewerBits, card: Card, *, in_groups: bool = False
) -> Path:
    """Writes the bundle again, with the matrices of linear layers and embeddings in fewer bits.

    Norms, biases, convolutions and learned positions become float32, whatever they were.

    Args:
        in_groups: in int8 32 inputs of an output share a scale; the model can be grouped.

    Raises:
        BundleError: the weights are damaged, hold NaN or infinity, or cannot be written.
    """
    tokenizer = (
        CopiedTokenizer(bundle.folder / TOKENIZER) if bundle.config.vocabulary_size else None
    )
    return write_bundle(folder, fewer_bits(bundle, to, in_groups), bundle.config, tokenizer, card)


def fewer_bits(bundle: Bundle, to: FewerBits, in_groups: bool = False) -> dict[str, Tensor]:
    """The weights by the names that they are stored under, and the scales of int8 ones."""
    model = load_model(bundle)
    own, matrices = model.state_dict(), matrices_of(model)
    weights: dict[str, Tensor] = {}
    for name in bundle.tensors:
        tensor = own[name]
        if not tensor.isfinite().all():
            raise BundleError(
                "a weight is NaN or infinite, which int8 cannot hold.",
                got=f"{int((~tensor.isfinite()).sum()):,} such numbers in {name}",
                do="quantize a model whose training did not diverge",
                place=Location(bundle.folder / WEIGHTS),
            )
        if tensor.data_ptr() not in matrices:
            weights[name] = tensor
        elif to == "bf16":
            weights[name] = tensor.bfloat16()
        else:
            matrix = quantised(tensor.numpy(), grouped=in_groups)
            weights[name] = torch.from_numpy(matrix.integers)
            weights[f"{name}{SCALE}"] = torch.from_numpy(matrix.scales)
    return weights


def matrices_of(model: nn.Module) -> set[int]:
    """The addresses of the matrices of linear layers and of the tables of embeddings."""
    addresses = set()
    for module in model.modules():
        if isinstance(module, nn.Linear | Projection):
            addresses.add(module.weight.data_ptr())
        elif isinstance(module, Embedding):
            addresses.add(module.table.data_ptr())
    return addresses
