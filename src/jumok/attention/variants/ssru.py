"""The simpler simple recurrent unit (SSRU), a recurrence in the place of self-attention.

    f_t = sigmoid(W_f x_t + b_f);  c_t = f_t c_(t-1) + (1 - f_t) W x_t;  output_t = relu(c_t)

No gate reads the state, so all of them, and the inputs, are computed at once; what remains is a
running weighted sum for each dimension. Unrolled it is attention with weights of its own for each
dimension,

    c_t = sum_j w_tj W x_j,  w_tj = (1 - f_j) f_(j+1) ... f_t,

whose sum is at most 1: the rest is that of the empty state. Observers receive the mean of the
weights over the dimensions: how much of each word is still in the state.

Source: Kim et al. 2019, "From research to production and back: ludicrously fast neural machine
translation", section 3.1; Lei et al. 2018 (SRU).
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from jumok.attention.cache import KeyValueCache, LinearState
from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.observe import Attention, Observable
from jumok.attention.role import Role
from jumok.attention.variants.value_residual import FirstValues
from jumok.errors import ModelError
from jumok.kernels.linear import Linear, linears
from jumok.kernels.noise import Noise
from jumok.shapes import Float, States, Tensor
from jumok.specs import AttentionSizes


class RecurrenceState:
    """The state between steps.

    Attributes:
        kept: of each word what lets it in, its input, and its weights in the state, as long as
            every position is observed; otherwise None.
    """

    def __init__(self) -> None:
        self.length = 0
        self.cell: Float[Tensor, "batch dim"] | None = None
        self.kept: tuple[States, States, States] | None = None

    def reorder(self, rows: Tensor) -> None:
        """Replaces row i by the old row rows[i]."""
        if self.cell is not None:
            self.cell = self.cell.index_select(0, rows)
        if self.kept is not None:
            opened, inputs, weights = (each.index_select(0, rows) for each in self.kept)
            self.kept = opened, inputs, weights


class SimpleRecurrence(Observable):
    """Reads from left to right; it has the place and the interface of a self-attention."""

    def __init__(self, dim: int, bias: bool, noise: Noise, role: Role) -> None:
        super().__init__()
        self.role, self.noise = role, noise
        self.forget = Linear(dim, dim, bias)
        self.input = Linear(dim, dim, bias=False)

    @classmethod
    def of(
        cls, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> "SimpleRecurrence":
        """For a block of these sizes; it has no heads, and no weights that could be dropped."""
        del parts, dropout
        return cls(sizes.dim, sizes.bias, noise, role)

    def new_past(self) -> RecurrenceState:
        """The state before the first step of decoding."""
        return RecurrenceState()

    def forward(
        self,
        queries: States,
        memory: States,
        allowed: AttentionMask | None = None,
        position: int = 0,
        past: KeyValueCache | LinearState | RecurrenceState | None = None,
        first: FirstValues | None = None,
    ) -> States:
        """The output at each position.

        Args:
            queries, memory: the same states.
            allowed: of it, documents that share a row; the order says the rest.
            past: the state before these positions, which is changed to that after them.

        Raises:
            ModelError: an observer or an edit came after the first position.
        """
        del memory, position, first
        assert past is None or isinstance(past, RecurrenceState)
        forget, given = linears(queries, (self.forget, self.input))
        gates, given = torch.sigmoid(forget.float()), given.float()
        carried = gates
        if allowed is not None and allowed.documents is not None:
            begins = allowed.documents.indexes() == 0
            carried = gates.masked_fill(begins[..., None], 0.0)
        cells = self._cells(carried, (1.0 - gates) * given, past)
        if self.observers or self.edit is not None:
            cells = self._watched(gates, carried, given, cells, past)
        if past is not None:
            past.cell, past.length = cells[:, -1], past.length + queries.shape[1]
        outputs = F.relu(cells).to(queries.dtype)
        return self.gated(outputs[:, None])[:, 0]

    @staticmethod
    def _cells(carried: States, added: States, past: RecurrenceState | None) -> States:
        """c_t = carried_t c_(t-1) + added_t of all positions, in log2(length) rounds.

        Source: Hillis and Steele 1986.
        """
        if past is not None and past.cell is not None:
            before = carried[:, :1] * past.cell[:, None]
            added = torch.cat([added[:, :1] + before, added[:, 1:]], dim=1)
        length, reach = added.shape[1], 1
        while reach < length:
            earlier = (0, 0, reach, 0)
            added = added + carried * F.pad(added[:, :-reach], earlier)
            carried = carried * F.pad(carried[:, :-reach], earlier)
            reach *= 2
        return added

    def _watched(
        self,
        gates: States,
        carried: States,
        given: States,
        cells: States,
        past: RecurrenceState | None,
    ) -> States:
        """The same by weights, of all words so far; calls the observers, and makes edits."""
        opened, inputs, before = 1.0 - gates, given, gates.new_zeros(len(gates), 0, gates.shape[2])
        if past is not None and past.length:
            if past.kept is None or past.kept[0].shape[1] != past.length:
                raise ModelError(
                    "a recurrence keeps no words, so weights of past positions cannot be computed.",
                    expected="an observer from the first position on",
                    got=f"one from position {past.length + 1} on",
                    do="begin to observe or record before the text is begun",
                )
            opened, inputs = (
                torch.cat(both, dim=1) for both in zip(past.kept[:2], (opened, inputs), strict=True)
            )
            before = past.kept[2]
        means, last = [], before
        for last in _weights(gates, carried, before):
            means.append(F.pad(last.mean(dim=2), (0, inputs.shape[1] - last.shape[1])))
        if past is not None:
            past.kept = opened, inputs, last
        mean = torch.stack(means, dim=1)[:, None]
        edited = self.edited(mean, before.shape[1])
        for observer in self.observers:
            vectors = gates[:, None], opened[:, None], inputs[:, None]
            observer(Attention(*vectors, edited, kind="ssru", scale=None))
        if edited is mean:
            return cells
        factors = (edited / mean.masked_fill(mean == 0.0, 1.0))[:, 0, ..., None]
        sums = [
            (weights * factors[:, at, : weights.shape[1]] * inputs[:, : weights.shape[1]]).sum(1)
            for at, weights in enumerate(_weights(gates, carried, before))
        ]
        return torch.stack(sums, dim=1)


def _weights(
    gates: States, carried: States, before: Float[Tensor, "batch past dim"]
) -> Iterator[Float[Tensor, "batch past dim"]]:
    """After each position the weights of all words so far."""
    for gate, kept in zip(gates.unbind(1), carried.unbind(1), strict=True):
        before = torch.cat([before * kept[:, None], 1.0 - gate[:, None]], dim=1)
        yield before
