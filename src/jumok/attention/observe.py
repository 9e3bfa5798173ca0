"""Observers of attention, and changes to it: modules call observers without knowing them.

Observers, gates and edits belong to a context: a thread sees only its own. An attention module
without an observer takes the fast path. With one, it takes the readable path, which gives the same
outputs, and reports what it did; a single step of a decoder's block is reported from its fast path,
too (`layers/block_step.py`). Gates and edits take the readable path.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

from torch import nn

from jumok.attention.here import Here, having_any
from jumok.shapes import Bool, Float, Tensor

Weights = Float[Tensor, "batch heads query key"]
WeightEdit = Callable[[Weights, int], Weights]
"""Replaces the weights, given the number of the first query."""


@dataclass(frozen=True)
class Attention:
    """One call of an attention module.

    Attributes:
        weights: before dropout; each row sums to 1, or to 0 where nothing was allowed.
        kind: the score function, by its name in `attention/scores.py`; "convolution": of pixels.
        scale: the factor of the products of queries and keys, or of v . tanh(q + k); None: the
            score is neither, and cannot be recomputed from the vectors.
        energy: the vector v of an additive score; None for other scores.
        bias: added to the scores before the softmax; None: nothing.
        allowed: True where a query may attend to a key; None: everywhere.
    """

    query: Float[Tensor, "batch heads query dim"]
    key: Float[Tensor, "batch heads key dim"]
    value: Float[Tensor, "batch heads key value_dim"]
    weights: Float[Tensor, "batch heads query key"]
    kind: str = "scaled-dot"
    scale: float | None = 1.0
    energy: Float[Tensor, " hidden"] | None = None
    bias: Float[Tensor, "#batch #heads query key"] | None = None
    allowed: Bool[Tensor, "#batch #heads #query key"] | None = None


Observer = Callable[[Attention], None]

_OBSERVERS: ContextVar[Mapping[int, tuple[Observer, ...]]] = ContextVar("jumok_observers")
"""By the id of each attention module, its observers in this context."""


class Observable(nn.Module):
    """A module whose attention can be observed and edited, and whose heads can be ablated.

    Attributes:
        heads: the number of heads.
        gate: (heads), or (batch heads) with one for each sentence: the factor of each head's output
            before the heads are mixed; None: no factor. It is the only way to intervene in a head:
            after the output projection the heads are mixed, and no part of the result belongs to
            one.
        edit: replaces the module's weights, in the readable path; None: they are not replaced.
    """

    heads: int = 1
    gate: Here[Float[Tensor, "*batch heads"] | None] = Here()
    edit: Here[WeightEdit | None] = Here()

    @property
    def observers(self) -> tuple[Observer, ...]:
        """The observers of this module in this context: other threads have their own."""
        watched = _OBSERVERS.get(None)
        return () if watched is None else watched.get(id(self), ())

    @property
    def unchanged(self) -> bool:
        """Whether there is no gate and no edit; checked at every step of decoding."""
        if having_any():
            return self.gate is None and self.edit is None
        own = self.__dict__
        return own.get("_gate") is None and own.get("_edit") is None

    def gated(
        self, found: Float[Tensor, "batch heads query value_dim"]
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The heads' outputs, multiplied by their gates."""
        gate = self.gate
        return found if gate is None else found * gate[..., None, None]

    def edited(self, weights: Weights, position: int = 0) -> Weights:
        """The weights, replaced if there is an edit; `position` is that of the first query."""
        edit = self.edit
        return weights if edit is None else edit(weights, position)


@contextmanager
def observe(
    model: nn.Module,
    observer: Callable[[str, Attention], None],
    wanted: Callable[[str], bool] | None = None,
) -> Iterator[None]:
    """Calls `observer(site, attention)` for every wanted attention call inside the block.

    Calls that other threads make meanwhile are not reported, and take their fast paths.

    Args:
        wanted: chooses sites by name, which is the module's path in the model, for instance
            "decoder.blocks.2.cross_attention"; None observes all.
    """
    watched = dict(_OBSERVERS.get({}))
    for site, module in model.named_modules():
        if isinstance(module, Observable) and (wanted is None or wanted(site)):
            told = watched.get(id(module), ())
            watched[id(module)] = (*told, partial(observer, site))
    token = _OBSERVERS.set(watched)
    try:
        yield
    finally:
        _OBSERVERS.reset(token)
