"""The graphs of Transformers: our own modules, with tensors alone as inputs and outputs.

A decoder reads the keys and values of what it has read before, and gives those of all. At the first
step they have no positions. So one graph serves all steps: it projects the positions of the Memory
that have no keys yet, which are all at the first step, and none later.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from jumok.attention.masks import AttentionMask, mask_of_keys
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention, observe, sites_of
from jumok.attention.variants.ssru import RecurrenceState, SimpleRecurrence
from jumok.export.onnx.preparing import GrownPast, Places
from jumok.export.onnx.recurrent_graphs import first_outputs, first_states
from jumok.export.onnx.tracing import BATCH, READ, ROWS, SOURCE, Graph, GraphInput, tokens
from jumok.layers.block import Block, BlockState
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.decoder import TransformerDecoder
from jumok.models.encoder_decoder import Transformer, TransformerEncoder
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.recurrent_decoder import RecurrentDecoder

TARGET = "decoder_sequence_length"
PAST, TOTAL = "past_decoder_sequence_length", "total_sequence_length"
PAST_SOURCE = "past_encoder_sequence_length"
NEW, OLD, PROJECTED = 3, 5, 4
"""Sizes of the examples: new tokens, past, positions of the Memory with keys."""
FEATURES = 3
"""Axes of features that were computed before: batch, cells, width."""


class EncoderGraph(nn.Module):
    """Token ids and which of them are real, to one vector for each."""

    def __init__(self, encoder: TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, *given: Tensor) -> Tensor:
        ids, real = given[0], given[1] != 0
        places = torch.arange(ids.shape[1])[None].expand_as(ids)
        lengths = real.sum(dim=1)
        encoder = self.encoder
        stream = encoder.embedding(ids, lengths=lengths, documents=Places(places, lengths))
        states: Tensor = encoder.blocks(stream, encoder.first_norm(stream), mask_of_keys(real))
        return states


class ReaderGraph(EncoderGraph):
    """The same, and what a model that only reads makes of the vectors."""

    def __init__(self, model: MaskedLanguageModel | TextClassifier) -> None:
        super().__init__(model.encoder)
        self.model = model

    def forward(self, *given: Tensor) -> Tensor:
        states, model = super().forward(*given), self.model
        if isinstance(model, TextClassifier):
            return model.logits(states, given[1] != 0)
        return states if isinstance(model.head, MissingHead) else model.head(states)


class PictureGraph(nn.Module):
    """Pixels in bytes, or features of cells: to the logits of labels, or to the Memory's states."""

    def __init__(self, model: ImageClassifier | CaptionerModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        model = self.model
        if isinstance(model, ImageClassifier):
            return (model(given[0]),)
        memory = model.encode(given[0])
        if isinstance(model.decoder, RecurrentDecoder):
            return memory.states, *first_states(model.decoder, memory)
        return (memory.states,)


class BlockPast:
    """The past of one block, among the inputs and outputs of a graph."""

    def __init__(self, block: Block) -> None:
        self.block = block
        attention = block.self_attention
        if isinstance(attention, SimpleRecurrence):
            self.shapes: dict[str, tuple[int, int]] = {"key": (1, attention.input.out_features)}
        else:
            self.shapes = keys_values_of(attention)

    def state(self, given: Sequence[Tensor], memory: tuple[Tensor, Tensor] | None) -> BlockState:
        """From the inputs, those of the self-attention first."""
        if not isinstance(self.block.self_attention, SimpleRecurrence):
            return BlockState(GrownPast(given[0], given[1]), memory)
        past = RecurrenceState()
        cells = given[0][:, 0]
        first = cells.new_zeros(cells.shape[0], 1, cells.shape[2])
        past.cell = torch.cat((first, cells), dim=1)[:, -1]
        return BlockState(past, memory)

    def outputs(self, state: BlockState, given: Sequence[Tensor]) -> list[Tensor]:
        """The past with the new positions."""
        past = state.past
        if isinstance(past, GrownPast):
            return [past.key, past.value]
        assert isinstance(past, RecurrenceState)
        assert past.cell is not None
        return [torch.cat((given[0], past.cell[:, None, None]), dim=2)]


def keys_values_of(attention: MultiHeadAttention) -> dict[str, tuple[int, int]]:
    """Heads and width of the keys and values of an attention."""
    states = torch.zeros(1, 1, attention.output.out_features)
    both = attention.keys_values(states)
    return {
        name: (each.shape[1], each.shape[3])
        for name, each in zip(("key", "value"), both, strict=True)
    }


class DecoderGraph(nn.Module):
    """One or more tokens after a past: their logits, the longer past, and where they looked.

    Args:
        padded: an input says which positions of the Memory are real; otherwise all are.
    """

    def __init__(self, decoder: TransformerDecoder, *, padded: bool) -> None:
        super().__init__()
        self.decoder, self.cross, self.padded = decoder, sites_of(decoder, "cross"), padded
        self.pasts = [BlockPast(block) for block in decoder.blocks]

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        ids, memory, *pasts = given
        real = pasts.pop(0) != 0 if self.padded else None
        states, parts = [], []
        for past in self.pasts:
            count = len(past.shapes)
            own, (keys, values), pasts = pasts[:count], pasts[count : count + 2], pasts[count + 2 :]
            attention = past.block.cross_attention
            assert attention is not None
            key, value = attention.keys_values(memory[:, keys.shape[2] :])
            both = torch.cat((keys, key), dim=2), torch.cat((values, value), dim=2)
            states.append(past.state(own, both))
            parts.append(own)
        weights: dict[str, Tensor] = {}

        def hear(site: str, attention: Attention) -> None:
            weights[site] = attention.weights

        with observe(self.decoder, hear, self.cross.__contains__):
            before = parts[0][0].shape[2]
            places = torch.arange(before, before + ids.shape[1])[None].expand_as(ids)
            masks = AttentionMask(causal=True), mask_of_keys(real)
            logits = read(self.decoder, ids, Places(places), masks, states)
        outputs = [logits]
        for past, state, own in zip(self.pasts, states, parts, strict=True):
            assert state.memory is not None
            outputs += [*past.outputs(state, own), *state.memory]
        return (*outputs, *(weights[site] for site in self.cross))


class CausalGraph(nn.Module):
    """The same without a Memory; texts may begin later in their rows than others."""

    def __init__(self, decoder: TransformerDecoder) -> None:
        super().__init__()
        self.decoder = decoder
        self.pasts = [BlockPast(block) for block in decoder.blocks]

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        ids, mask, *pasts = given
        parts = [pasts[at : at + 2] for at in range(0, len(pasts), 2)]
        states = [past.state(own, None) for past, own in zip(self.pasts, parts, strict=True)]
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, pasts[0].shape[2] :]
        masks = AttentionMask(causal=True, real=mask != 0), None
        outputs = [read(self.decoder, ids, Places(places), masks, states)]
        for past, state, own in zip(self.pasts, states, parts, strict=True):
            outputs += past.outputs(state, own)
        return tuple(outputs)


def read(
    decoder: TransformerDecoder,
    ids: Tensor,
    places: Places,
    masks: tuple[AttentionMask, AttentionMask | None],
    states: list[BlockState],
) -> Tensor:
    """The logits after each token; `states` grow."""
    stream = decoder.embedding(ids, documents=places)
    own, of_memory = masks
    hidden = decoder.blocks(stream, decoder.first_norm(stream), own, None, of_memory, states)
    return decoder.logits(hidden)


def encoder_graph(model: Transformer) -> Graph:
    """The graph of a translator's encoder."""
    axes = {0: BATCH, 1: SOURCE}
    inputs = (
        GraphInput("input_ids", tokens(ROWS, READ), axes),
        GraphInput("attention_mask", torch.ones(ROWS, READ, dtype=torch.int64), axes),
    )
    return Graph(
        "encoder_model", EncoderGraph(model.encoder), inputs, [("last_hidden_state", axes)]
    )


def reader_graph(model: MaskedLanguageModel | TextClassifier) -> Graph:
    """The graph of a model that only reads."""
    axes = {0: BATCH, 1: "sequence_length"}
    inputs = (
        GraphInput("input_ids", tokens(ROWS, READ), axes),
        GraphInput("attention_mask", torch.ones(ROWS, READ, dtype=torch.int64), axes),
    )
    pooled = isinstance(model, TextClassifier)
    headless = isinstance(model, MaskedLanguageModel) and isinstance(model.head, MissingHead)
    output = "last_hidden_state" if headless else "logits"
    return Graph("model", ReaderGraph(model), inputs, [(output, {0: BATCH} if pooled else axes)])


def picture_graph(model: ImageClassifier | CaptionerModel, example: Tensor) -> Graph:
    """Of images like these: bytes (batch colours height width), or features (batch cells width)."""
    axes = {0: BATCH}
    inputs = (GraphInput("pixels" if example.ndim > FEATURES else "features", example, axes),)
    if isinstance(model, ImageClassifier):
        return Graph("model", PictureGraph(model), inputs, [("logits", axes)])
    outputs: list[tuple[str, Mapping[int, str]]] = [("last_hidden_state", axes)]
    if isinstance(model.decoder, RecurrentDecoder):
        outputs += first_outputs(model.decoder, axes)
    return Graph("encoder_model", PictureGraph(model), inputs, outputs)


def decoder_graph(decoder: TransformerDecoder, *, padded: bool) -> Graph:
    """Inputs in the order that `DecoderGraph` reads them; `padded` is its argument."""
    module = DecoderGraph(decoder, padded=padded)
    new = NEW if all(len(past.shapes) == 2 for past in module.pasts) else 1
    dim = decoder.embedding.table.shape[1]
    source, target = {0: BATCH, 1: SOURCE}, {0: BATCH} | ({1: TARGET} if new > 1 else {})
    inputs = [
        GraphInput("input_ids", tokens(ROWS, new), target),
        GraphInput("encoder_hidden_states", torch.randn(ROWS, READ, dim), source),
    ]
    if padded:
        real = torch.ones(ROWS, READ, dtype=torch.int64)
        inputs.append(GraphInput("encoder_attention_mask", real, source))
    outputs: list[tuple[str, Mapping[int, str]]] = [("logits", target)]
    for number, past in enumerate(module.pasts):
        attention = past.block.cross_attention
        assert attention is not None
        for part, shapes, length, axis in (
            ("decoder", past.shapes, OLD, PAST),
            ("encoder", keys_values_of(attention), PROJECTED, PAST_SOURCE),
        ):
            given, made = _cache(f"{number}.{part}", shapes, length, axis)
            inputs += given
            outputs += made
    attended = {0: BATCH, 3: SOURCE} | ({2: TARGET} if new > 1 else {})
    outputs += [(f"cross_attentions.{number}", attended) for number in range(len(module.cross))]
    return Graph("decoder_model_merged", module, inputs, outputs)


def causal_graph(model: CausalLanguageModel) -> Graph:
    """The graph of a language model."""
    module = CausalGraph(model.decoder)
    read = {0: BATCH, 1: "sequence_length"}
    whole = torch.ones(ROWS, OLD + NEW, dtype=torch.int64)
    inputs = [
        GraphInput("input_ids", tokens(ROWS, NEW), read),
        GraphInput("attention_mask", whole, {0: BATCH, 1: TOTAL}),
    ]
    outputs: list[tuple[str, Mapping[int, str]]] = [("logits", read)]
    for number, past in enumerate(module.pasts):
        given, made = _cache(str(number), past.shapes, OLD, "past_sequence_length")
        inputs += given
        outputs += made
    return Graph("model", module, inputs, outputs)


def _cache(
    part: str, shapes: Mapping[str, tuple[int, int]], length: int, axis: str
) -> tuple[list[GraphInput], list[tuple[str, Mapping[int, str]]]]:
    """The inputs and outputs of one past."""
    grown = axis.removeprefix("past_") if "encoder" in axis else TOTAL
    inputs = [
        GraphInput(
            f"past_key_values.{part}.{name}",
            torch.randn(ROWS, heads, length, width),
            {0: BATCH, 2: axis},
        )
        for name, (heads, width) in shapes.items()
    ]
    return inputs, [(f"present.{part}.{name}", {0: BATCH, 2: grown}) for name in shapes]
