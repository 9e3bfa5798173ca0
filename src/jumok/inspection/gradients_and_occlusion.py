"""Attribution of each output token to input words, by gradients and by occlusion.

    gradient x input   x_j . dL_t / dx_j, with L_t the log-probability of the token that step t
                       wrote, and x_j the vector of a word that was read; signed
    gradient           | dL_t / dx_j |
    occlusion          L_t - L_t without word j: its vector is set to 0, its position stays

All three apply to the source and to the prefix. The gradients describe a small change of the word's
vector; occlusion removes the vector. For an image, a word is a cell of the grid, and its vector the
output of the convolutions there, or of a Vision Transformer's patch.
Such a vector also depends on pixels outside the cell, so there is
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

import numpy as np
import torch
import torch.nn.functional as F

from jumok.inspection.findings import Numbers
from jumok.inspection.hooks.intervene import edited_words, embeddings_of
from jumok.layers.embedding import Editable
from jumok.models.captioner import CaptionerModel
from jumok.models.classifier import TextClassifier
from jumok.models.decoder import TransformerDecoder
from jumok.models.image_classifier import ImageClassifier
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, States, Tensor, UInt8

OCCLUDED_ROWS = 32
"""Rows in one forward pass: a row for each token, or for each occluded word."""

LOGIT_STATES = 256
"""States whose logits are held at a time: the processor's cache has room for these."""


@dataclass(frozen=True)
class ForcedTarget:
    """An output together with functions that compute its log-probabilities again.

    Attributes:
        words: by axis ("source", "target") the embedding of its tokens, or the module that reads
            the vectors of an image's cells ("picture"); none where these cannot be changed.
        lengths: by axis the number of tokens or cells.
        own: the axis of the output. Its token t has been read when step t writes. "": a label,
            which is not read.
        written: the tokens that were written, or the label.
        states: (rows, steps, same) -> the states from which the first steps predict, in equal rows;
            `same`: what was read is the same in all rows, and is read once.
        logits: from states to logits.
        summary: (written, positions), the share of each of the encoder's states in the vector that
            a label is read from; None: a decoder reads them.
    """

    words: Mapping[str, Editable]
    lengths: Mapping[str, int]
    own: str
    written: Int[Tensor, " written"]
    states: Callable[[int, int, bool], Float[Tensor, "rows steps dim"]]
    logits: Callable[[Float[Tensor, "*axes dim"]], Float[Tensor, "*axes vocabulary"]]
    summary: Numbers | None = None

    @property
    def count(self) -> int:
        """The number of tokens written."""
        return len(self.written)

    def score(self, rows: int, first: int = 0, same: bool = False) -> Float[Tensor, "rows written"]:
        """The log-probabilities of the tokens from `first` on, in a batch of equal rows.

        Args:
            same: nothing is edited but what was written.
        """
        states = self.states(rows, self.count, same)[:, first:]
        written = self.written[first:].expand(rows, -1)
        return self._chosen(states.flatten(0, 1), written.flatten()).view(rows, -1)

    def score_own(self, first: int, rows: int) -> Float[Tensor, " rows"]:
        """The log-probability of one token in each row: `first` in row 0, the next one in row 1.

        No step after these is computed.
        """
        states = self.states(rows, first + rows, False)
        own = torch.arange(rows, device=states.device)
        return self._chosen(states[own, first + own], self.written[first : first + rows])

    def _chosen(
        self, states: Float[Tensor, "steps dim"], written: Int[Tensor, " steps"]
    ) -> Float[Tensor, " steps"]:
        pairs = zip(states.split(LOGIT_STATES), written.split(LOGIT_STATES), strict=True)
        chosen = [
            self.logits(some).float().log_softmax(dim=-1).gather(1, tokens[:, None])[:, 0]
            for some, tokens in pairs
        ]
        return torch.cat(chosen)


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
    encoder, decoder = embeddings_of(model).values()

    def states(rows: int, steps: int, same: bool) -> Float[Tensor, "rows steps dim"]:
        memory = model.encode(source if same else source.expand(rows, -1))
        return model.decoder.hidden(_repeated(memory, rows), target[:, :steps].expand(rows, -1))

    lengths = {"source": source.shape[1], "target": target.shape[1]}
    words = {"source": encoder, "target": decoder}
    return ForcedTarget(words, lengths, "target", written, states, model.decoder.output)


def written_alone(
    decoder: TransformerDecoder,
    hidden: Callable[[Int[Tensor, "rows text"]], Float[Tensor, "rows text dim"]],
    tokens: Sequence[int],
) -> ForcedTarget:
    """A text of a language model.

    Args:
        tokens: START and all tokens; the model scores each but the first.
    """
    with torch.inference_mode(False):
        text = torch.tensor([tokens], device=decoder.embedding.table.device)

    def states(rows: int, steps: int, _: bool) -> Float[Tensor, "rows steps dim"]:
        return hidden(text[:, :steps].expand(rows, -1))

    words, lengths = {"text": decoder.embedding}, {"text": len(tokens)}
    return ForcedTarget(words, lengths, "text", text[0, 1:], states, decoder.logits)


def written_over(
    model: CaptionerModel,
    picture: Tensor,
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
) -> ForcedTarget:
    """A caption, whose decoder reads every cell of the image's grid.

    Args:
        target: START and the tokens. written: the tokens and END.
    """
    editable = model.editable
    assert editable is not None
    with torch.inference_mode(False), torch.no_grad():
        target, written = target.clone(), written.clone()
        seen = model.read_once(picture.clone())
        length = model.read_on(seen).states.shape[1]

    def states(rows: int, steps: int, same: bool) -> Float[Tensor, "rows steps dim"]:
        read = seen if same else seen.expand(rows, *seen.shape[1:])
        memory = model.read_on(read)
        return model.decoder.hidden(_repeated(memory, rows), target[:, :steps].expand(rows, -1))

    words: dict[str, Editable] = {"picture": editable, "target": model.decoder.embedding}
    lengths = {"picture": length, "target": target.shape[1]}
    return ForcedTarget(words, lengths, "target", written, states, model.decoder.output)


def labelled(
    model: ImageClassifier, picture: Tensor, label: int, axis: str, length: int
) -> ForcedTarget:
    """The label of an image.

    Args:
        axis: that of its patches and the states before them, or of its cells: so many.
    """
    with torch.inference_mode(False):
        seen, written = picture.clone(), torch.tensor([label], device=picture.device)

    def states(rows: int, _: int, same: bool) -> Float[Tensor, "rows 1 dim"]:
        return model.summary(seen if same else seen.expand(rows, *seen.shape[1:]))[:, None]

    summary = np.full((1, length), 1 / length)
    words: dict[str, Editable] = {}
    if model.editable is not None:
        words, summary = {axis: model.editable}, np.eye(1, length)
    return ForcedTarget(words, {axis: length}, "", written, states, model.output, summary)


def labelled_text(model: TextClassifier, tokens: Int[Tensor, "1 text"], label: int) -> ForcedTarget:
    """The label of a text.

    Args:
        tokens: START, the tokens and END.
    """
    with torch.inference_mode(False):
        text, written = tokens.clone(), torch.tensor([label], device=tokens.device)
    length = text.shape[1]

    def states(rows: int, _: int, same: bool) -> Float[Tensor, "rows 1 dim"]:
        return model.vectors(text if same else text.expand(rows, -1))[:, None]

    words: dict[str, Editable] = {"text": model.encoder.embedding}
    # The share of each state in the vector: what pooling makes of their numbers.
    summary = model.pool(torch.eye(length)[None], None).double().numpy()
    return ForcedTarget(words, {"text": length}, "", written, states, model.output, summary)


def written_log_probabilities(
    model: CaptionerModel,
    memory: Memory,
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
) -> Float[Tensor, "rows target"]:
    """Those of the written tokens, for each row of the Memory."""
    rows = len(memory.states)
    logits = model.decoder(memory, target.expand(rows, -1)).float()
    return logits.log_softmax(dim=-1).gather(2, written.expand(rows, -1)[..., None])[..., 0]


def _repeated(memory: Memory, rows: int) -> Memory:
    """A Memory of one row as one of so many."""
    if len(memory.states) == rows:
        return memory
    return memory.select(torch.zeros(rows, dtype=torch.long, device=memory.states.device))


@dataclass(frozen=True)
class Gradients:
    """Gradient x input and the gradient's length on one axis, for each token that was written."""

    product: Float[Tensor, "written length"]
    length: Float[Tensor, "written length"]


def gradients(text: ForcedTarget) -> dict[str, Gradients]:
    """Gradient x input and gradient of every written token, by axis.

    A row of the batch is differentiated for each token, so that one backward pass gives them all.
    """
    pairs_by_axis: dict[str, list[tuple[Tensor, Tensor]]] = {axis: [] for axis in text.words}
    for first in range(0, text.count, OCCLUDED_ROWS):
        rows = min(OCCLUDED_ROWS, text.count - first)
        read: dict[str, Tensor] = {}
        edits = {word: _Leaf(read, axis) for axis, word in text.words.items()}
        with torch.inference_mode(False), torch.enable_grad(), edited_words(edits):
            own = text.score_own(first, rows)
            gradients = torch.autograd.grad(own.sum(), list(read.values()))
        for (axis, vectors), gradient in zip(read.items(), gradients, strict=True):
            slope = gradient.float()
            product = (vectors.detach().float() * slope).sum(dim=-1)
            unread = 0, text.lengths[axis] - slope.shape[1]  # what comes later has gradient 0
            pairs_by_axis[axis].append((F.pad(product, unread), F.pad(slope.norm(dim=-1), unread)))
    return {
        axis: Gradients(*(torch.cat(parts) for parts in zip(*pairs, strict=True)))
        for axis, pairs in pairs_by_axis.items()
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
    (whole,) = text.score(1)
    steps = torch.arange(len(whole), device=whole.device)
    drops = {}
    for axis, of_axis in groups.items():
        own = axis == text.own
        begins = [min(group) if own else 0 for group in of_axis]
        order = sorted(range(len(of_axis)), key=begins.__getitem__)
        columns = whole.new_zeros(len(of_axis), len(whole))
        for at in range(0, len(order), OCCLUDED_ROWS):
            some = order[at : at + OCCLUDED_ROWS]
            first = min(begins[some[0]], len(whole))  # no step before reads any of them
            edits = {
                text.words[axis]: _Kept(_kept_tokens(text, axis, [of_axis[each] for each in some]))
            }
            with edited_words(edits):
                without = text.score(len(some), first, own)
            columns[some, first:] = whole[first:] - without
        unread = torch.tensor(begins, device=whole.device)[:, None] > steps
        drops[axis] = columns.masked_fill(unread, 0.0).T  # (groups written) -> (written groups)
    return drops


def _kept_tokens(
    text: ForcedTarget, axis: str, groups: Sequence[Sequence[int]]
) -> Float[Tensor, "groups length 1"]:
    """For each group a row with 0 at its tokens."""
    kept = torch.ones(len(groups), text.lengths[axis], 1, device=text.written.device)
    for row, group in enumerate(groups):
        kept[row, list(group)] = 0.0
    return kept


@torch.inference_mode()
def occlude_patches(
    score: Callable[[UInt8[Tensor, "rows colours height width"]], Float[Tensor, "rows written"]],
    picture: UInt8[Tensor, "1 colours height width"],
    grid: tuple[int, int],
    check_cancelled: Callable[[], None],
) -> Float[Tensor, "written cells"]:
    """The drop of each log-probability with each cell's pixels covered; in nats.

    Above 0: the cell made the token or the label more probable.

    Args:
        score: from images to the log-probabilities of what was written.
        grid: rows and columns of the cells.
        check_cancelled: called before every batch of images; an exception aborts the work.
    """
    rows, columns = grid
    height, width = picture.shape[2:]
    ground = picture[0].flatten(1).median(dim=1).values[:, None, None]
    (whole,) = score(picture)
    changes = []
    for begin in range(0, rows * columns, OCCLUDED_ROWS):
        check_cancelled()
        cells = range(begin, min(begin + OCCLUDED_ROWS, rows * columns))
        painted = picture.repeat(len(cells), 1, 1, 1)
        for number, cell in enumerate(cells):
            row, column = divmod(cell, columns)
            down = slice(row * height // rows, (row + 1) * height // rows)
            across = slice(column * width // columns, (column + 1) * width // columns)
            painted[number, :, down, across] = ground
        changes.append(whole - score(painted))
    return torch.cat(changes).T  # (cells written) -> (written cells)


class _Kept:
    """Multiplies each row's words by 1 or 0."""

    def __init__(self, kept: Float[Tensor, "rows length 1"]) -> None:
        self.kept = kept

    def __call__(self, states: States, first: int) -> States:
        end = first + states.shape[1]
        return states * self.kept[:, first:end].to(states.dtype)
