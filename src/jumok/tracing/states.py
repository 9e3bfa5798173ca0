"""`jumok.states_of`: the vectors of every token of many texts, for probes and statistics."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.attention.events import listening_to
from jumok.data.tokenizer import START
from jumok.errors import ModelError
from jumok.inspection.hooks.listening import listening
from jumok.inspection.hooks.recording import InputNumber, RecordedPass, Recorder, Shared
from jumok.inspection.sites import numpy_of
from jumok.inspection.trace import Array, Axis
from jumok.layers.block import Stack
from jumok.systems.base import System
from jumok.tracing.adapters import ModelAdapter, text_axis
from jumok.tracing.record import recordable, system_events

Int64Array = npt.NDArray[np.int64]


@runtime_checkable
class ReadsTexts(Protocol):
    """A system that can read texts without writing any; the states are those that it then has."""

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads each text once, `batch_size` together."""
        ...


class TokenStates(NamedTuple):
    """The states of many texts, one row a token; START and END are tokens, too.

    Attributes:
        vectors: (tokens dim).
        position: of each token in its text, from 0; a text that is read in segments begins again
            in each.
        word: the index of each token's word; -1: in no word (START, END).
    """

    vectors: Array
    tokens: list[str]
    text: Int64Array
    position: Int64Array
    word: Int64Array


def states_of(
    system: System, texts: Sequence[str], layer: int, *, batch_size: int = 32
) -> TokenStates:
    """The residual stream after a layer, at every token of every text.

        states = jumok.states_of(model, texts, layer=2)
        probe, *_ = np.linalg.lstsq(states.vectors, states.position)

    The stream is that of the encoder, or of the decoder of a language model: in a post-norm model
    after the last norm of the layer, in a pre-norm model before any norm. The texts stay in their
    order; a text longer than the context of the model is read in segments, and by a language model
    in windows that overlap by half. Memory: tokens x dim x 4 bytes, plus the memory of one batch.

    Args:
        system: a translator, a masked model, a text classifier, a language model, or a kind of your
            own with `read_texts`.
        layer: 0 is the embedding, i the stream after layer i.
        batch_size: in texts.

    Raises:
        ModelError: another kind of model, a model without Transformer blocks or without this layer.
    """
    if not isinstance(system, ReadsTexts):
        raise ModelError(
            "this kind of model has no states of texts.",
            expected="a translator, a language model, a masked model or a text classifier",
            got=type(system).__name__,
        )
    adapter = recordable(system, "model")
    stack = "decoder" if adapter.target == "text" else "encoder"
    _check_layer(adapter, stack, layer)
    states: list[tuple[InputNumber, Axis, Array]] = []

    def keep(recorded: RecordedPass) -> None:
        states.extend(_of_pass(adapter, recorded, stack, layer))

    shared = Shared(keep)
    recorder = Recorder("full", shared)
    with listening(adapter.model, recorder), listening_to(system, system_events(recorder)):
        system.read_texts(texts, batch_size)
    shared.close()
    # A system may read an empty text of its own, to learn the width of its vectors.
    kept = [one for one in states if one[0].index < len(texts)]
    return _together(sorted(kept, key=lambda one: (one[0].index, one[0].segment)))


def _check_layer(adapter: ModelAdapter, stack: str, layer: int) -> None:
    modules = dict(adapter.model.named_modules())
    blocks = modules.get(f"{stack}.blocks")
    if not isinstance(blocks, Stack):
        raise ModelError(
            "this model has no residual stream.",
            expected="a Transformer",
            got=type(adapter.model).__name__,
        )
    if not 0 <= layer <= len(blocks):
        raise ModelError(
            "the model has no such layer.",
            expected=f"0 (the embedding) to {len(blocks)}",
            got=str(layer),
        )


def _of_pass(
    adapter: ModelAdapter, recorded: RecordedPass, stack: str, layer: int
) -> Iterator[tuple[InputNumber, Axis, Array]]:
    """For each segment of a batch its number, its tokens, and their vectors."""
    if stack == "encoder":
        rows = 0 if recorded.source is None else len(recorded.source)
        for row in range(rows):
            (axis,) = adapter.source(recorded, row).values()
            states = recorded.encoder.streams[stack][layer][row, : len(axis.tokens)]
            yield recorded.numbers[row], axis, numpy_of(states)
        return
    for row, tree in enumerate(recorded.trees):
        before = tree.tokens[: int(tree.tokens[:1] == [START])]  # later windows have no START
        axis = text_axis(adapter.names, tree.tokens[len(before) :], before=before)
        vectors = [
            recorded.decoder[place.call].streams[stack][layer][place.row, place.column]
            for place in tree.places
        ]
        yield recorded.numbers[row], axis, np.stack(list(map(numpy_of, vectors)))


def _together(states: Sequence[tuple[InputNumber, Axis, Array]]) -> TokenStates:
    def column(of_text: Callable[[int, Axis], Sequence[int]]) -> Int64Array:
        values = [each for number, axis, _ in states for each in of_text(number.index, axis)]
        return np.array(values, dtype=np.int64)

    vectors = [vectors for _, _, vectors in states]
    return TokenStates(
        np.concatenate(vectors) if vectors else np.zeros((0, 0), np.float32),
        [token for _, axis, _ in states for token in axis.tokens],
        column(lambda number, axis: [number] * len(axis.tokens)),
        column(lambda _, axis: range(len(axis.tokens))),
        column(lambda _, axis: [-1 if word is None else word for word in axis.words]),
    )
