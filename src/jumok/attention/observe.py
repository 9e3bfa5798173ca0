"""Observers of attention, and changes to it: modules call observers without knowing them.

Observers, gates and edits belong to a context: a thread sees only its own. An attention module
without an observer takes the fast path. With one, it takes the readable path, which gives the same
outputs, and reports what it did.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from torch import nn

from jumok.attention.events import Listener, listeners, listening_to_each
from jumok.attention.overrides import ContextAttribute
from jumok.attention.role import Part, Role
from jumok.errors import ModelError
from jumok.shapes import Bool, Float, Tensor

HeadWeights = Float[Tensor, "batch heads query key"]
WeightEdit = Callable[[HeadWeights, int], HeadWeights]
"""Replaces the weights, given the number of the first query."""


@dataclass(frozen=True)
class Attention:
    """One call of an attention module.

    Attributes:
        weights: before dropout; each row sums to 1, or to 0 where nothing was allowed; with a sink,
            the rest is the sink's.
        kind: the score function, by its name in `attention/scores.py`; "convolution": of pixels.
        scale: the factor of the products of queries and keys, or of v . tanh(q + k); None: the
            score is neither, and cannot be recomputed from the vectors.
        scores: without the bias and the mask, where they cannot be recomputed; None: they can, or
            there are none.
        energy: the vector v of v . tanh(q + k); None for other scores.
        bias: added to the scores before the softmax; None: nothing.
        allowed: True where a query may attend to a key; None: everywhere.
        sink: the score of each head's sink; None: there are no sinks.
        factors: of each head's map in the output: 1, or negative for maps that are subtracted
            (differential attention); None: all are 1.
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
    sink: Float[Tensor, " heads"] | None = None
    factors: Float[Tensor, " heads"] | None = None
    scores: Float[Tensor, "batch heads query key"] | None = None


Observer = Callable[[Attention], None]

ATTENTION = "attention"
"""The event that an attention module reports: an `Attention` (`attention/events.py`)."""


class Observable(nn.Module):
    """A module whose attention can be observed and edited, and whose heads can be ablated.

    Attributes:
        role: what attends to what here, and in which layer; set where the model is built. None:
            nothing has set it, and traces and head cards refuse the module (`role_of`).
        window: of a self-attention: a query attends to positions nearer than this, its own counted;
            None: to all.
        gate: (heads), or (batch heads) with one for each sentence: the factor of each head's output
            before the heads are mixed; None: no factor.
        edit: replaces the module's weights, in the readable path; None: they are not replaced.
    """

    role: Role | None = None
    heads: int = 1
    window: int | None = None
    gate: ContextAttribute[Float[Tensor, "*batch heads"] | None] = ContextAttribute()
    edit: ContextAttribute[WeightEdit | None] = ContextAttribute()

    @property
    def observers(self) -> tuple[Observer, ...]:
        """The observers of this module in this context: other threads have their own."""
        return listeners(self, ATTENTION)

    def gated(
        self, outputs: Float[Tensor, "batch heads query value_dim"]
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The heads' outputs, multiplied by their gates."""
        gate = self.gate
        return outputs if gate is None else outputs * gate[..., None, None]

    def edited(self, weights: HeadWeights, position: int = 0) -> HeadWeights:
        """The weights, replaced if there is an edit; `position` is that of the first query."""
        edit = self.edit
        return weights if edit is None else edit(weights, position)


def sites(model: nn.Module) -> dict[str, Observable]:
    """Every attention module by its path in the model, its site."""
    return {name: each for name, each in model.named_modules() if isinstance(each, Observable)}


def heads_of(model: nn.Module) -> dict[str, int]:
    """How many heads each attention module has, by its site."""
    return {site: module.heads for site, module in sites(model).items()}


def role_of(site: str, module: Observable) -> Role:
    """The role of the attention module at this site.

    Raises:
        ModelError: the module has no role.
    """
    if module.role is None:
        raise ModelError(
            "the role of this attention module is not known.",
            expected="encoder, decoder, cross or image, and the number of the layer",
            got=f"{type(module).__name__} at {site!r}" if site else type(module).__name__,
            do='set it where the module is built: module.role = Role("encoder", layer), with Role '
            "from jumok.attention.role",
        )
    return module.role


def roles_of(model: nn.Module) -> dict[str, Role]:
    """The role of every attention module by its site.

    Raises:
        ModelError: a module has no role.
    """
    return {site: role_of(site, module) for site, module in sites(model).items()}


def sites_of(model: nn.Module, part: Part) -> tuple[str, ...]:
    """The sites of one part, the lowest layer's first.

    Raises:
        ModelError: a module has no role.
    """
    of_part = [(role.layer, site) for site, role in roles_of(model).items() if role.part == part]
    return tuple(site for _, site in sorted(of_part, key=lambda each: each[0]))


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
    triples = (
        (module, ATTENTION, Listener(partial(observer, site)))
        for site, module in sites(model).items()
        if wanted is None or wanted(site)
    )
    with listening_to_each(triples):
        yield
