"""A worked example of a note: its numbers, the same numbers computed, and a trace of the layer.

A note gives few of its vectors. What it leaves out is chosen here, and the example says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from jumok.attention.observe import Attention, observe, sites
from jumok.attention.role import Part, Role
from jumok.inspection.explain import ExplainedRow, explain
from jumok.inspection.findings import TraceFindings
from jumok.inspection.sites import AttentionCall, Sequences, SiteBuilder, by_part
from jumok.inspection.trace import Axis, Trace
from jumok.shapes import Float, Tensor
from jumok_lectures.entry import Quote
from jumok_lectures.text import Text

SELF, CROSS = "masked-lm", "attention-layer"
"""The task in a trace, which the page's texts depend on. A layer alone writes nothing: its
self-attention is shown like an encoder's, cross-attention like that of an unknown kind of model."""


@dataclass(frozen=True)
class Noted:
    """A number from elsewhere, which the computed one has to meet.

    Attributes:
        written: as it is written there: "88%".
        value: the number that this is: 0.88.
        within: half of its last digit: 0.005.
        where: the note's text, the figure of a publication, PyTorch, or a calculation by hand.
        giver: which figure, which function of PyTorch, or what was calculated.
    """

    written: str
    value: float
    within: float
    where: Literal["note", "figure", "torch", "hand"] = "note"
    giver: str = ""

    def agrees(self, computed: float) -> bool:
        """Whether the computed number is this one, as exactly as it is written."""
        return computed == self.value or abs(computed - self.value) <= self.within


@dataclass(frozen=True)
class WorkedStep:
    """One operation of an example.

    Attributes:
        quote: the note's own words on it.
        said: what is computed, with its numbers.
        computed: the number to compare; None: there is nothing to compare it with.
        noted: the number from elsewhere; None: there is none.
        why: where they differ, why.
    """

    quote: Quote
    said: Text
    computed: float | None = None
    noted: Noted | None = None
    why: Text | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether both numbers are the same; None: there is one alone."""
        if self.noted is None or self.computed is None:
            return None
        return self.noted.agrees(self.computed)


@dataclass(frozen=True)
class WorkedExample:
    """An example of a note.

    Attributes:
        quote: where it begins.
        given: which numbers are the note's, and which were chosen.
        trace: the attention module's computation, for the page; None: there is no attention in it.
        row: the query that the terminal shows, from 0.
    """

    quote: Quote
    title: Text
    given: Text
    steps: tuple[WorkedStep, ...]
    trace: Trace | None = None
    row: int = 0

    @property
    def explained(self) -> ExplainedRow | None:
        """The row, recomputed from the trace's vectors; None: there is no trace."""
        return None if self.trace is None else explained(self.trace, self.row)


def by_torch(function: str, value: float) -> Noted:
    """What a function of PyTorch gives."""
    return Noted(f"{value:.4f}", value, 1e-5, "torch", function)


def by_hand(what: str, written: str) -> Noted:
    """What was calculated by hand, to the last digit."""
    digits = len(written.partition(".")[2])
    return Noted(written, float(written), 0.5 * 10.0**-digits, "hand", what)


class WorkedModel(nn.Module):
    """One attention layer, as a model whose attention can be traced."""

    def __init__(self, layer: nn.Module, part: Part) -> None:
        super().__init__()
        self.layer = layer
        for module in sites(self).values():
            module.role = Role(part)


def explained(trace: Trace, row: int) -> ExplainedRow:
    """A row of the only head, recomputed from its vectors."""
    return explain(trace, trace.sites[0], row, 0)


def vectors(*rows: Sequence[float]) -> Float[Tensor, "1 length dim"]:
    """One batch of these vectors."""
    return torch.tensor([[list(row) for row in rows]])


def set_matrix(layer: nn.Linear, matrix: Sequence[Sequence[float]]) -> None:
    """Makes the layer multiply by `matrix` from the right, as the notes write x W."""
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([list(row) for row in matrix]).T)


def numbers(vector: Tensor, digits: int = 4) -> str:
    """A vector as it is written: [0.8808, 0.1192]."""
    return "[" + ", ".join(f"{value:.{digits}f}" for value in vector.tolist()) + "]"


def traced(
    layer: nn.Module,
    run: Callable[[], Tensor],
    place: str,
    words: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    causal: bool = False,
) -> tuple[Trace, Tensor]:
    """What the layer computes, and its output of the first input.

    Args:
        layer: contains one attention module.
        run: runs it.
        place: the note and its line: the model's name in the trace.
        words: of the queries; without `keys` also of the keys.
        keys: of the keys, if they are others.
        causal: whether no word attends to a later one.
    """
    part: Part = "decoder" if causal else "encoder" if keys is None else "cross"
    own = "text" if keys is None else "target"
    other = own if keys is None else "source"
    model = WorkedModel(layer, part)
    calls: list[AttentionCall] = []

    def keep(_: str, attention: Attention) -> None:
        calls.append(AttentionCall.of(attention, "qk"))

    with torch.inference_mode(), observe(model, keep):
        result = run()
    (name,) = sites(model)
    builder = SiteBuilder(model, by_part({part: Sequences(own, other)}))
    axes = {own: _axis(words)} | ({} if keys is None else {other: _axis(keys)})
    trace = Trace(
        model=f"lecture {place}",
        level="qk",
        text=" ".join(words if keys is None else keys),
        output=" ".join(words),
        axes=axes,
        sites=(builder.whole(name, calls),),
        # A row belongs to its own word: nothing is written here.
        findings=TraceFindings(own_rows=True),
        task=SELF if keys is None else CROSS,
    )
    return trace, result[0]


def _axis(words: Sequence[str]) -> Axis:
    return Axis(tuple(words), tuple(range(len(words))), tuple(words))
