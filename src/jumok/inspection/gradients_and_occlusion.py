"""Attribution of each output token to input words, by gradients and by occlusion.

    gradient x input   x_j . dL_t / dx_j, with L_t the log-probability of the token that step t
                       wrote, and x_j the vector of a word that was read; signed
    gradient           | dL_t / dx_j |
    occlusion          L_t - L_t without word j: its vector is set to 0, its position stays

All three apply to the source and to the prefix. The gradients describe a small change of the word's
vector; occlusion removes the vector. For an image, a word is a cell of the grid, and its vector the
output of the convolutions there. Such a vector also depends on pixels outside the cell, so there is
a fourth measure, on the pixels themselves:

    pixel occlusion    L_t - L_t of the image whose cell is covered with the image's median colour
                       (in a drawing, that of the background)

Source: gradient x input: Denil et al. 2014, Extraction of salient sentences from labelled
documents; occlusion: Li et al. 2016, Understanding neural networks through representation erasure
(Abnar and Zuidema 2020 replace the word by UNK; a subword tokenizer has no UNK that was ever
trained); pixel occlusion: Zeiler and Fergus 2014, Visualizing and understanding convolutional
networks, section 4.2 (with a grey square, which in a drawing would be one object more).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from jumok.inspection.hooks.intervene import edited_words, words_of
from jumok.layers.embedding import Editable, StateEdit
from jumok.models.captioner import CaptionerModel, GridWriter
from jumok.models.decoder import TransformerDecoder
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, States, Tensor, UInt8

ROWS = 32
"""Rows in one forward pass: a row for each token, or for each occluded word."""


@dataclass(frozen=True)
class ForcedTarget:
    """An output together with a function that scores it again.

    Attributes:
        words: by axis ("source", "target") the embedding of its tokens, or the module that reads
            the vectors of an image's cells ("picture").
        lengths: by axis the number of tokens or cells.
        own: the axis of the output. Its token t has been read when step t writes.
        count: the number of tokens written.
        score: their log-probabilities, in a batch of this number of equal rows.
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
    """The output of an encoder-decoder model.

    Args:
        target: START and the tokens. written: the tokens and END.
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
    """A text of a language model.

    Args:
        hidden: the states after every prefix.
        tokens: START and all tokens; the model scores each but the first.
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
    """A caption, whose decoder reads every cell of the image's grid.

    Args:
        picture: pixels or features, a batch of one.
        target: START and the tokens. written: the tokens and END.
    """
    assert isinstance(model.writer, GridWriter)
    with torch.inference_mode(False), torch.no_grad():
        target, written = target.clone(), written.clone()
        cells = model.see(picture.clone())  # once: the cells are changed after this point

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
    """The log-probabilities of the written tokens, for each row of the Memory."""
    rows = len(memory.states)
    logits = model.decoder(memory, target.expand(rows, -1)).float()
    return logits.log_softmax(dim=-1).gather(2, written.expand(rows, -1)[..., None])[..., 0]


@dataclass(frozen=True)
class Gradients:
    """Gradient x input and the gradient's length on one axis, for each token that was written."""

    product: Float[Tensor, "written length"]
    length: Float[Tensor, "written length"]


def gradients(text: ForcedTarget) -> dict[str, Gradients]:
    """Gradient x input and gradient of every written token, by axis.

    A row of the batch is differentiated for each token, so that one backward pass gives them all.
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
    """Replaces the words' vectors by leaf tensors that require gradients."""

    def __init__(self, read: dict[str, Tensor], axis: str) -> None:
        self.read, self.axis = read, axis

    def __call__(self, states: States, _: int) -> States:
        leaf = states.detach().clone().requires_grad_()
        self.read[self.axis] = leaf
        return leaf


Groups = Mapping[str, Sequence[Sequence[int]]]
"""By axis the tokens that are occluded together: each alone, or those of a word."""


@torch.inference_mode()
def occlude_words(text: ForcedTarget, groups: Groups) -> dict[str, Float[Tensor, "written groups"]]:
    """By axis, the drop of each written token's log-probability without each group; in nats.

    Above 0: the words made the token more probable. Tokens after it have exactly 0.
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
    check_cancelled: Callable[[], None],
) -> Float[Tensor, "written cells"]:
    """The drop of each written token's log-probability with each cell's pixels covered; in nats.

    Above 0: the cell made the token more probable.

    Args:
        target: START and the tokens. written: the tokens and END.
        check_cancelled: called before every batch of images; an exception aborts the work.
    """
    rows, columns = model.grid
    height, width = picture.shape[2:]
    ground = picture[0].flatten(1).median(dim=1).values[:, None, None]
    (whole,) = _log_probabilities(model, model.encode(picture), target, written)
    changes = []
    for begin in range(0, rows * columns, ROWS):
        check_cancelled()
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
