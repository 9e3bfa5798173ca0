"""Recorders of a model's work while other code runs it: attentions, tokens read, and searches.

Nothing is computed while the model works: its tensors are kept as they are, and made into traces
when the block ends (`tracing/recorded.py`).
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import torch

from jumok.attention.events import any_listeners
from jumok.attention.observe import Attention
from jumok.attention.overrides import changes_here
from jumok.data.tokenizer import END, PAD
from jumok.decoding import Hypothesis
from jumok.inspection.sites import AttentionCall, numpy_of
from jumok.inspection.trace import STEP_CHOICES, Array, Level
from jumok.shapes import Float, Int, Tensor

Fact = Literal["weights", "bias", "scores", "query", "key", "value"]
"""The parts of an attention call."""


@dataclass
class Activations:
    """The records of one input: a source, an image, or tokens of a target.

    Attributes:
        attention: for each site its calls in order: an RNN attends step by step.
        streams: the residual streams, by stack and layer.
        gates: on the context vectors, (rows 1) for each step.
        logits: (rows new choices), of a classifier (rows labels); None: not computed.
        grids: rows and columns of the feature maps, by site.
    """

    attention: dict[str, list[AttentionCall]] = field(default_factory=dict)
    streams: dict[str, dict[int, Tensor]] = field(default_factory=dict)
    gates: list[Tensor] = field(default_factory=list)
    logits: Tensor | None = None
    grids: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: Int[Tensor, "rows new"] | None = None

    def streams_of(self, row: int, length: int) -> dict[str, Array]:
        """The vectors of one row, (layers + 1, length, dim) by stack."""
        return {
            stack: numpy_of(torch.stack([layers[layer][row, :length] for layer in sorted(layers)]))
            for stack, layers in self.streams.items()
        }

    @cached_property
    def log_probabilities(self) -> Array:
        assert self.logits is not None
        return numpy_of(self.logits.float().log_softmax(dim=-1))

    @cached_property
    def best(self) -> tuple[list[list[list[float]]], list[list[list[int]]]]:
        """The largest of them and their ids, row by row and token by token."""
        choices = self.log_probabilities.shape[-1]
        largest = torch.from_numpy(self.log_probabilities).topk(min(STEP_CHOICES, choices), dim=-1)
        return largest.values.numpy().tolist(), largest.indices.numpy().tolist()  # torch's is slow


class TokenPosition(NamedTuple):
    """Where a token was read; `line` counts all tokens read in a pass, over all rows."""

    call: int
    row: int
    column: int
    line: int


@dataclass
class TokenTree:
    """Every target token that was read for one sentence.

    Attributes:
        tokens: START first.
        parents: the number of the token before; -1 at START.
        places: where each was read.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    places: list[TokenPosition] = field(default_factory=list)

    def add(self, parent: int, token: int, place: TokenPosition) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        self.places.append(place)
        return len(self.tokens) - 1

    def path(self, node: int) -> list[int]:
        """The numbers of the tokens from START to this one."""
        numbers = []
        while node >= 0:
            numbers.append(node)
            node = self.parents[node]
        return numbers[::-1]

    @property
    def leaves(self) -> list[int]:
        """The tokens without a successor."""
        inner = set(self.parents)
        return [node for node in range(len(self.tokens)) if node not in inner]

    def holds(self, tokens: Sequence[int]) -> bool:
        """Whether all of these tokens (without START) were read one after another."""
        return [self.tokens[node] for node in self.path(self.find(tokens))[1:]] == list(tokens)

    def find(self, tokens: Sequence[int]) -> int:
        """The last of these tokens (without START), or the last of them that was read."""
        node = 0
        for token in tokens:
            for child, parent in enumerate(self.parents):
                if parent == node and self.tokens[child] == token:
                    node = child
                    break
            else:
                return node
        return node


@dataclass(frozen=True)
class InputNumber:
    """The index of an input among all inputs, which of its segments it is, and how many it has."""

    index: int
    segment: int = 0
    segments: int = 1


@dataclass
class RecordedPass:
    """A batch from its source to its outputs.

    Attributes:
        source: tokens (batch length), or images; None: nothing was encoded.
        allowed: which positions of the source are real; None: all.
        encoder: the records of the encoder, or of the whole model if it writes nothing.
        trees: one for each row of the source.
        decoder: the records of each call.
        hypotheses: of a search, for each row, best first.
        texts: what each row says and its outputs (`jumok.systems.base.RowTexts`); empty: what its
            tokens say.
        copied: the text of a segment that no model read; None: there is a source.
    """

    source: Tensor | None = None
    allowed: Tensor | None = None
    encoder: Activations = field(default_factory=Activations)
    trees: list[TokenTree] = field(default_factory=list)
    decoder: list[Activations] = field(default_factory=list)
    hypotheses: Sequence[Sequence[Hypothesis]] = ()
    texts: Sequence[tuple[str, Sequence[str]]] = ()
    numbers: Sequence[InputNumber] = ()
    copied: str | None = None
    changes: tuple[str, ...] = field(default_factory=changes_here)
    _lines: dict[tuple[str, Fact], Array] = field(default_factory=dict)

    def read_by(self, stack: str) -> Int[Tensor, "rows positions"]:
        """The tokens that the encoder read, or the decoder in one parallel pass."""
        tokens = self.decoder[0].tokens if stack == "decoder" else self.source
        assert tokens is not None
        return tokens

    def lines(self, site: str, fact: Fact) -> Array:
        """The attention weights of every token, (lines heads width), padded with zeros at the end.

        Sentences select their own tokens' lines (`TokenPosition.line`) from the result.
        """
        if (site, fact) not in self._lines:
            self._lines[site, fact] = _one_below_another(
                [_token_lines(call.attention[site], fact) for call in self.decoder]
            )
        return self._lines[site, fact]


def _token_lines(calls: Sequence[AttentionCall], fact: Fact) -> Array:
    """The rows of one reading, joined over its calls: an RNN attends once a token."""
    of_tokens = torch.cat([_of_tokens(call, fact) for call in calls], dim=2)
    return numpy_of(of_tokens.transpose(1, 2).flatten(0, 1))  # -> (rows new) heads width


def _of_tokens(call: AttentionCall, fact: Fact) -> Float[Tensor, "rows heads new width"]:
    """The rows of the query tokens; for keys and values those at the queries' positions."""
    if fact == "weights":
        return call.weights
    if fact == "bias":
        return call.full_bias
    if fact == "scores":
        assert call.scores is not None
        return call.scores
    assert call.vectors is not None
    query, key, value = call.vectors
    new = call.weights.shape[2]
    return {"query": query, "key": key[:, :, -new:], "value": value[:, :, -new:]}[fact]


def _one_below_another(parts: Sequence[Array]) -> Array:
    widest = max(part.shape[2] for part in parts)
    stacked = np.zeros((sum(map(len, parts)), parts[0].shape[1], widest), dtype=np.float32)
    first = 0
    for part in parts:
        stacked[first : first + len(part), :, : part.shape[2]] = part
        first += len(part)
    return stacked


class Shared:
    """The state that the recorders of all threads share.

    Args:
        finish: receives each pass when the next one begins, or by `close`.
    """

    def __init__(self, finish: Callable[[RecordedPass], None]) -> None:
        self.finish = finish
        self.open: list[list[RecordedPass]] = []
        self._next = 0
        self._lock = threading.Lock()

    def close(self) -> None:
        for begun in self.open:
            while begun:
                self.finish(begun.pop())

    def take(self, count: int) -> range:
        with self._lock:
            first, self._next = self._next, self._next + count
        return range(first, first + count)


class Recorder(threading.local):
    """Records what a model does, sorted by passes; each thread has passes of its own.

    Only the first pass of the decoder over a source is kept: a translator extracts alignments in a
    second pass, which repeats the search's attention.
    """

    def __init__(self, level: Level, shared: Shared) -> None:  # runs again in each thread
        self.level, self._shared = level, shared
        self._begun: list[RecordedPass] = []  # the current pass
        shared.open.append(self._begun)
        self._given: Sequence[int] = ()  # the numbers of the current call's inputs
        self._next: Sequence[InputNumber] | None = None  # of the rows that are read next
        self._now: Activations | None = None
        self._rows: list[tuple[int, int] | None] = []  # (sentence, token) of each row
        self._tokens = 0  # the number of tokens that this pass has read, over all rows
        self._records = True

    def on_attention(self, site: str, attention: Attention) -> None:
        if self._now is not None:
            call = AttentionCall.of(attention, self.level)
            self._now.attention.setdefault(site, []).append(call)

    def on_residual(self, stack: str, layer: int, stream: Tensor) -> None:
        # A module's hook calls this within `unheard`, too.
        if self._now is not None and any_listeners():
            self._now.streams.setdefault(stack, {})[layer] = stream.detach()

    def on_grid(self, site: str, features: Tensor) -> None:
        """Records the size of the feature map (batch channels height width) that is read."""
        if self._now is not None:
            self._now.grids[site] = features.shape[2], features.shape[3]

    def on_gate(self, raw: Tensor) -> None:
        if self._now is not None:
            self._now.gates.append(torch.sigmoid(raw.detach()))

    def on_inputs(self, count: int) -> None:
        """Begins a call with this number of texts or images."""
        self._given = self._shared.take(count)

    def on_rows(
        self, places: Sequence[int], segments: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """Sets which of these inputs, and which segments of them, the next rows are."""
        segments = [(0, 1)] * len(places) if segments is None else segments
        self._next = [
            InputNumber(self._given[place], *segment)
            for place, segment in zip(places, segments, strict=True)
        ]

    def on_copied(self, place: int, segment: tuple[int, int], text: str) -> None:
        """Records a segment that is its own output."""
        number = InputNumber(self._given[place], *segment)
        self._shared.finish(RecordedPass(numbers=[number], copied=text))

    @property
    def _pass(self) -> RecordedPass | None:
        return self._begun[0] if self._begun else None

    def _begin(self, rows: int, source: Tensor | None, allowed: Tensor | None) -> RecordedPass:
        self._now = None
        while self._begun:
            self._shared.finish(self._begun.pop())
        numbers, self._next = self._next, None
        if numbers is None or len(numbers) != rows:  # not given: they are in the order of reading
            numbers = list(map(InputNumber, self._shared.take(rows)))
        self._begun.append(RecordedPass(source, allowed, numbers=numbers))
        return self._begun[0]

    def on_source(
        self, source: Tensor, allowed: Tensor | None = None, documents: object = None
    ) -> None:
        """Begins a pass with a source or an image; sources in one row are not separated."""
        del documents
        self._now = self._begin(len(source), source, allowed).encoder

    def on_start(self, rows: int) -> None:
        """Records that a decoder begins, at START in this number of rows."""
        last = self._pass
        self._records = last is None or not last.decoder or last.source is None
        if not self._records:
            self._now = None
            return
        if last is None or last.decoder:
            last = self._begin(rows, None, None)
        last.trees = [TokenTree() for _ in range(rows)]
        self._rows, self._tokens = [(row, -1) for row in range(rows)], 0

    def on_tokens(self, tokens: Int[Tensor, "rows new"]) -> None:
        """Records the tokens that a decoder reads in each of its rows, from left to right."""
        if not self._records:
            return
        here = self._pass
        assert here is not None
        here.decoder.append(Activations(tokens=tokens))
        self._now = here.decoder[-1]
        rows, new = tokens.shape
        first, self._tokens = self._tokens, self._tokens + rows * new
        for row, of_row in enumerate(tokens.tolist()):
            for column, token in enumerate(of_row):
                known = self._rows[row]
                if known is None:
                    break
                sentence, parent = known
                if token in (END, PAD):  # a row that has ended waits for the others
                    self._rows[row] = None
                    break
                place = TokenPosition(
                    len(here.decoder) - 1, row, column, first + row * new + column
                )
                self._rows[row] = sentence, here.trees[sentence].add(parent, token, place)

    def on_logits(self, logits: Tensor) -> None:
        """Records the logits after the tokens that were read last: (rows new choices)."""
        if self._now is not None:
            self._now.logits = logits.detach()

    def on_reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Records that row i of the decoder continues its row rows[i]."""
        if self._records:
            self._rows = [self._rows[row] for row in rows.tolist()]

    def on_finish(
        self,
        hypotheses: Sequence[Sequence[Hypothesis]],
        texts: Sequence[tuple[str, Sequence[str]]] = (),
    ) -> list[int]:
        """Records what a search ended with.

        Returns:
            If there are texts, the rows with an output that the recorded search did not consider:
            another one had constraints, something was inserted, or the native engine has searched.
            They are forgotten, and the outputs of each are expected to be read next.
        """
        here, numbers = self._pass, self._next
        if numbers is None and here is not None:
            here.hypotheses, here.texts, numbers = hypotheses, texts, here.numbers
        if not texts or numbers is None:
            return []
        searched = [] if self._next is not None or here is None else here.trees
        others = [
            row
            for row, outputs in enumerate(hypotheses)
            if not (searched and all(searched[row].holds(each.tokens) for each in outputs))
        ]
        for row in others if searched else ():
            searched[row] = TokenTree()
        self._next = [numbers[row] for row in others for _ in hypotheses[row]] or None
        return others
