"""Which words mattered for what was written, asked of the model itself: by slopes, and by trying.

    gradient x input   x_j . dL_t / dx_j, with L_t the log-probability of the token that step t
                       wrote, and x_j the vector of a word that was read; signed
    gradient           | dL_t / dx_j |
    blank-out          L_t - L_t without word j: zeros in the place of its vector; its place stays

All three ask of the source and of what was written before alike. The first two are slopes where
the word is; the third is what happens when it goes. Of a picture a word is a cell of the grid, and
its vector what the convolutions made of it. Such a vector has seen beyond its own pixels, so there
is a fourth, which asks of the pixels themselves:

    patch              L_t - L_t of the picture whose cell has been painted over with its most
                       usual colour (the median): of a drawing its ground

Source: gradient x input: Denil et al. 2014, Extraction of salient sentences from labelled
documents; blank-out: Li et al. 2016, Understanding neural networks through representation erasure
(Abnar and Zuidema 2020 put UNK in the word's place; a tokenizer of pieces has no UNK that was
ever trained); patch: Zeiler and Fergus 2014, Visualizing and understanding convolutional networks,
section 4.2 (a grey square there, which in a drawing would be one thing more).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from jumok.inspection.intervene import edited_words, words_of
from jumok.layers.embedding import Editable, StateEdit
from jumok.models.captioner import CaptionerModel, GridWriter
from jumok.models.decoder import TransformerDecoder
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, States, Tensor, UInt8

ROWS = 32
"""So many rows go through the model at once: a row for each token, or for each word blanked."""


@dataclass(frozen=True)
class ForcedTarget:
    """A text that was written, as something that can be written again.

    Attributes:
        words: by axis ("source", "target") what turns tokens into vectors there, or what reads
            the vectors of a picture's cells ("picture").
        lengths: by axis how many tokens, or cells, there are.
        own: the axis of what was written. Its token t has been read when step t writes.
        count: how many tokens were written.
        score: their log-probabilities, in so many equal rows of a batch.
    """

    words: Mapping[str, Editable]
    lengths: Mapping[str, int]
    own: str
    count: int
    score: Callable[[int], Float[Tensor, "rows written"]]


def written_from(
    model: SequenceToSequence,
    source: Int[Tensor, "1 source"],
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
) -> ForcedTarget:
    """What an encoder and a decoder wrote.

    Args:
        target: START and pieces. written: the pieces and END.
    """
    # Tensors made in inference mode cannot be differentiated through.
    with torch.inference_mode(False):
        source, target, written = source.clone(), target.clone(), written.clone()
    encoder, decoder = words_of(model).values()

    def score(rows: int) -> Float[Tensor, "rows written"]:
        return _log_probabilities(model, model.encode(source.expand(rows, -1)), target, written)

    lengths = {"source": source.shape[1], "target": target.shape[1]}
    words = {"source": encoder, "target": decoder}
    return ForcedTarget(words, lengths, "target", len(written), score)


def written_alone(
    decoder: TransformerDecoder,
    hidden: Callable[[Int[Tensor, "rows text"]], Float[Tensor, "rows text dim"]],
    tokens: Sequence[int],
) -> ForcedTarget:
    """What a language model wrote, reading nothing but that.

    Args:
        hidden: the states after every prefix.
        tokens: START and all tokens; the model has an opinion on each but the first.
    """
    with torch.inference_mode(False):
        text = torch.tensor([tokens], device=decoder.embedding.table.device)

    def score(rows: int) -> Float[Tensor, "rows written"]:
        repeated = text.expand(rows, -1)
        logits = decoder.logits(hidden(repeated))[:, :-1]
        return logits.float().log_softmax(dim=-1).gather(2, repeated[:, 1:, None])[..., 0]

    return ForcedTarget(
        {"text": decoder.embedding}, {"text": len(tokens)}, "text", len(tokens) - 1, score
    )


def written_over(
    model: CaptionerModel,
    picture: Tensor,
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
) -> ForcedTarget:
    """What was written about a picture, of whose grid the decoder reads every cell.

    Args:
        picture: pixels or features, a batch of one.
        target: START and pieces. written: the pieces and END.
    """
    assert isinstance(model.writer, GridWriter)
    with torch.inference_mode(False), torch.no_grad():
        target, written = target.clone(), written.clone()
        cells = model.see(picture.clone())  # once: whatever is asked of a cell comes after

    def score(rows: int) -> Float[Tensor, "rows written"]:
        return _log_probabilities(model, model.write(cells.expand(rows, -1, -1)), target, written)

    words: dict[str, Editable] = {"picture": model.writer, "target": model.decoder.embedding}
    lengths = {"picture": cells.shape[1], "target": target.shape[1]}
    return ForcedTarget(words, lengths, "target", len(written), score)


def _log_probabilities(
    model: SequenceToSequence,
    memory: Memory,
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
) -> Float[Tensor, "rows written"]:
    """Of what was written, for each row of the Memory."""
    rows = len(memory.states)
    logits = model.decoder(memory, target.expand(rows, -1)).float()
    return logits.log_softmax(dim=-1).gather(2, written.expand(rows, -1)[..., None])[..., 0]


@dataclass(frozen=True)
class Gradients:
    """Of one axis: gradient x input, and the gradient's length; for each token that was written."""

    product: Float[Tensor, "written length"]
    length: Float[Tensor, "written length"]


def gradients(text: ForcedTarget) -> dict[str, Gradients]:
    """Gradient x input and gradient of every written token, by axis.

    A row of the batch is differentiated for each token, so that one pass back gives them all.
    """
    found: dict[str, list[tuple[Tensor, Tensor]]] = {axis: [] for axis in text.words}
    for first in range(0, text.count, ROWS):
        rows = min(ROWS, text.count - first)
        read: dict[str, Tensor] = {}
        edits = {word: _Leaf(read, axis) for axis, word in text.words.items()}
        with torch.inference_mode(False), torch.enable_grad(), edited_words(edits):
            own = text.score(rows)[:, first : first + rows].diagonal()
            gradients = torch.autograd.grad(own.sum(), list(read.values()))
        for (axis, vectors), gradient in zip(read.items(), gradients, strict=True):
            slope = gradient.float()
            product = (vectors.detach().float() * slope).sum(dim=-1)
            found[axis].append((product, slope.norm(dim=-1)))
    return {
        axis: Gradients(*(torch.cat(parts) for parts in zip(*pairs, strict=True)))
        for axis, pairs in found.items()
    }


class _Leaf:
    """Puts the words' vectors where a slope can be had of them."""

    def __init__(self, read: dict[str, Tensor], axis: str) -> None:
        self.read, self.axis = read, axis

    def __call__(self, states: States, _: int) -> States:
        leaf = states.detach().clone().requires_grad_()
        self.read[self.axis] = leaf
        return leaf


Groups = Mapping[str, Sequence[Sequence[int]]]
"""By axis the tokens that are blanked together: each alone, or those of a word."""


@torch.inference_mode()
def occlude_words(text: ForcedTarget, groups: Groups) -> dict[str, Float[Tensor, "written groups"]]:
    """By axis, how much less probable each written token is without each group; in nats.

    Above 0: the words helped. What comes after a token cannot matter for it: exactly 0.
    """
    asked = [(axis, tuple(group)) for axis, of_axis in groups.items() for group in of_axis]
    (whole,) = text.score(1)
    changes = []
    for begin in range(0, len(asked), ROWS):
        some = asked[begin : begin + ROWS]
        edits: dict[Editable, StateEdit] = {}
        for axis, words in text.words.items():
            kept = torch.ones(len(some), text.lengths[axis], 1, device=whole.device)
            for row, (where, group) in enumerate(some):
                if where == axis:
                    kept[row, list(group)] = 0.0
            edits[words] = _Kept(kept)
        with edited_words(edits):
            changes.append(whole - text.score(len(some)))
    together = torch.cat(changes).T  # (groups written) -> (written groups)
    steps = torch.arange(len(whole), device=whole.device)
    found, at = {}, 0
    for axis, of_axis in groups.items():
        change = together[:, at : at + len(of_axis)]
        if axis == text.own:
            begins = torch.tensor([min(group) for group in of_axis], device=whole.device)
            change = change.masked_fill(begins > steps[:, None], 0.0)
        found[axis] = change
        at += len(of_axis)
    return found


@torch.inference_mode()
def occlude_patches(
    model: CaptionerModel,
    picture: UInt8[Tensor, "1 3 height width"],
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
    heed: Callable[[], None],
) -> Float[Tensor, "written cells"]:
    """How much less probable each written token is with each cell's pixels painted over; in nats.

    Above 0: what is seen there helped.

    Args:
        target: START and pieces. written: the pieces and END.
        heed: is called before every batch of pictures; what it raises ends the work.
    """
    rows, columns = model.grid
    height, width = picture.shape[2:]
    ground = picture[0].flatten(1).median(dim=1).values[:, None, None]
    (whole,) = _log_probabilities(model, model.encode(picture), target, written)
    changes = []
    for begin in range(0, rows * columns, ROWS):
        heed()
        cells = range(begin, min(begin + ROWS, rows * columns))
        painted = picture.repeat(len(cells), 1, 1, 1)
        for number, cell in enumerate(cells):
            row, column = divmod(cell, columns)
            down = slice(row * height // rows, (row + 1) * height // rows)
            across = slice(column * width // columns, (column + 1) * width // columns)
            painted[number, :, down, across] = ground
        changes.append(whole - _log_probabilities(model, model.encode(painted), target, written))
    return torch.cat(changes).T  # (cells written) -> (written cells)


class _Kept:
    """Multiplies each row's words by 1 or 0."""

    def __init__(self, kept: Float[Tensor, "rows length 1"]) -> None:
        self.kept = kept

    def __call__(self, states: States, first: int) -> States:
        end = first + states.shape[1]
        return states * self.kept[:, first:end].to(states.dtype)
