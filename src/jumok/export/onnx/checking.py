"""Exported graphs beside the model: the same numbers, and the same outputs with a cache."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from jumok.data.special_tokens import START
from jumok.errors import BundleError, Location
from jumok.export.comparing import GreedyWriter, Rows, compare_written
from jumok.export.onnx.running import Numbers, Session, SessionPair, padded
from jumok.interop.checking import LARGEST_DIFFERENCE
from jumok.models.causal import CausalLanguageModel
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.shapes import Tensor, UInt8


@dataclass
class Expected:
    """What the model computes for some inputs.

    Attributes:
        read: the rows of token ids, with START or END as the model reads them; or images.
        written: what follows in greedy decoding, without END.
        logits: (tokens, vocabulary) of each row, along what is written.
        size, difference: the largest number, and the largest difference so far.
    """

    read: Rows
    written: list[list[int]]
    logits: list[Numbers]
    size: float = 0.0
    difference: float = 0.0

    def compare_numbers(self, row: int, theirs: Numbers, folder: Path) -> None:
        """Raises BundleError if the logits differ."""
        mine = self.logits[row]
        self.size = max(self.size, float(np.abs(mine).max()))
        difference = float(np.abs(mine - theirs).max())
        bound = LARGEST_DIFFERENCE * max(1.0, self.size)
        if not difference <= bound:
            raise BundleError(
                "the graphs compute other numbers in ONNX Runtime: nothing was written.",
                expected=f"a difference of at most {bound:.1e}",
                got=f"{difference:.1e}, for input {row + 1} of {len(self.read)}",
                do="report it, with the model's config.json",
                place=Location(folder),
            )
        self.difference = max(self.difference, difference)

    def words(self) -> str:
        """What was compared."""
        return (
            f"{len(self.read)} inputs in ONNX Runtime: numbers up to {self.size:.3g} that differ "
            f"by {self.difference:.1e} at most"
        )


@torch.inference_mode()
def expected_of(writer: GreedyWriter, inputs: Rows, read: Rows) -> Expected:
    """What the model computes along what it writes.

    Args:
        inputs: ids of texts, or images.
        read: the same as the model reads them.
    """
    model, written, logits = writer.model, writer.written(inputs), []
    for given, row, tokens in zip(inputs, read, written, strict=True):
        if isinstance(model, CausalLanguageModel):
            along = model.decoder.logits(model.hidden(torch.tensor([[*row, *tokens]])))[0]
        else:
            ((_, memory),) = writer.memories([given])
            along = model.decoder(memory, torch.tensor([[START, *writer.opening, *tokens]]))[0]
        logits.append(along.numpy())
    return Expected(read, written, logits)


@torch.inference_mode()
def numbers_of(model: nn.Module, read: Rows) -> Expected:
    """What a model that only reads makes of these inputs."""
    numbers = []
    for row in read:
        ids = torch.tensor([row])
        if isinstance(model, MaskedLanguageModel) and isinstance(model.head, MissingHead):
            found = model.encoder(ids)
        else:
            found = model(ids)
        numbers.append(found[0].numpy())
    return Expected(read, [], numbers)


def compare_reading(folder: Path, expected: Expected) -> str:
    """Compares a model that only reads: all inputs in one batch.

    Raises:
        BundleError: numbers differ.
    """
    reader = Session(folder / "model.onnx")
    ids, real = padded(expected.read)
    made = reader(input_ids=ids, attention_mask=real)[reader.outputs[0]]
    for row, read in enumerate(expected.read):
        expected.compare_numbers(
            row, made[row, : len(read)] if made.ndim > 2 else made[row], folder
        )
    return expected.words()


def compare_pictures(
    folder: Path, pixels: UInt8[Tensor, "batch colours height width"], expected: Expected
) -> str:
    """Compares a classifier of these images.

    Raises:
        BundleError: numbers differ.
    """
    made = Session(folder / "model.onnx")(pixels=pixels.numpy())["logits"]
    for row in range(len(pixels)):
        expected.compare_numbers(row, made[row], folder)
    return expected.words()


def compare_pair(folder: Path, expected: Expected, writer: GreedyWriter, inputs: Rows) -> str:
    """Compares an encoder and a decoder: each input alone, and all in one batch.

    Raises:
        BundleError: numbers or outputs differ.
    """
    pair = SessionPair(folder)
    begin = [START, *writer.opening]
    for row, tokens in enumerate(expected.written):
        given, past = pair.begin(expected.read[row : row + 1])
        logits = []
        for token in [*begin, *tokens]:
            made = pair.decoder(input_ids=np.array([[token]]), **past, **given)
            past = pair.decoder.later(made)
            logits.append(made["logits"][0, 0])
        expected.compare_numbers(row, np.stack(logits), folder)
    theirs = pair.written(expected.read, begin, writer.longest - len(writer.opening))
    return f"{expected.words()}; {compare_written(writer, inputs, theirs, 'ONNX Runtime')}"


def compare_continuations(
    folder: Path, expected: Expected, writer: GreedyWriter, inputs: Rows
) -> str:
    """The same for a language model, whose inputs are padded on the left.

    Raises:
        BundleError: numbers or outputs differ.
    """
    decoder = Session(folder / "model.onnx")
    for row, (read, tokens) in enumerate(zip(expected.read, expected.written, strict=True)):
        whole = np.array([[*read, *tokens]])
        made = decoder(input_ids=whole, attention_mask=np.ones_like(whole), **decoder.nothing(1))
        expected.compare_numbers(row, made["logits"][0], folder)
    theirs = decoder.continued(expected.read, writer.longest)
    return f"{expected.words()}; {compare_written(writer, inputs, theirs, 'ONNX Runtime')}"
