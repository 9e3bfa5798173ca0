"""A mixture of experts: several feed-forward layers, of which each position uses the best few.

    p = softmax(W_r x),  y = sum over the k largest p_e of (p_e / their sum) expert_e(x)

No position is dropped, however many want the same expert, so an output does not depend on what
else is in the batch. A further term of the loss keeps the router from sending everything to a few
experts (`balance_of`).

Source: Shazeer et al. 2017; Jiang et al. 2024 (Mixtral), section 2.1; the term: Fedus et al. 2022
(Switch Transformers), section 2.2.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import nn

from jumok.attention.events import Listener, emit, listening_to_each
from jumok.kernels.linear import Linear
from jumok.layers.interfaces import FeedForward
from jumok.shapes import Float, Int, States, Tensor

ROUTED = "routed"
"""The event that a mixture reports: a `Routing`."""


@dataclass(frozen=True)
class Routing:
    """Where the positions of one call went.

    Attributes:
        chosen: the experts of each position, the most probable first.
    """

    probabilities: Float[Tensor, "positions experts"]
    chosen: Int[Tensor, "positions used"]

    @property
    def shares(self) -> Float[Tensor, " experts"]:
        """The share of each expert in all choices; their sum is 1."""
        experts = self.probabilities.shape[1]
        counts = torch.bincount(self.chosen.flatten(), minlength=experts)
        return counts / self.chosen.numel()


def balance_of(routing: Routing) -> Float[Tensor, ""]:
    """experts x sum over them of (share of the choices) x (mean probability): 1 if all are equal,
    and up to the number of experts if one gets everything. The gradient is that of the mean
    probabilities, because choices have none.
    """
    shares, means = routing.shares, routing.probabilities.mean(dim=0)
    return len(shares) * (shares * means).sum()


@dataclass
class Balance:
    """What the mixtures of a model reported in one pass.

    Attributes:
        calls: of each call the factor of its term, and its balance.
    """

    calls: list[tuple[float, Tensor]] = field(default_factory=list)

    @property
    def mean(self) -> Float[Tensor, ""] | None:
        """The mean balance of the layers; None: the model has no mixture."""
        return torch.stack([each for _, each in self.calls]).mean() if self.calls else None

    @property
    def term(self) -> Float[Tensor, ""] | None:
        """What is added to the loss of one target: the mean over the layers, times the factor."""
        weighed = [factor * each for factor, each in self.calls]
        return torch.stack(weighed).mean() if weighed else None


@contextmanager
def record_balance(model: nn.Module) -> Iterator[Balance]:
    """The balance of the passes that the model makes inside the block."""
    balance = Balance()

    def hear(mixture: MixtureOfExperts, routing: Routing) -> None:
        balance.calls.append((mixture.balance, balance_of(routing)))

    mixtures = (each for each in model.modules() if isinstance(each, MixtureOfExperts))
    with listening_to_each((each, ROUTED, Listener(partial(hear, each))) for each in mixtures):
        yield balance


class MixtureOfExperts(nn.Module):
    """Feed-forward layers of any kind, and a router.

    Args:
        count, used: the number of experts, and of those that a position uses.
        balance: the factor of the balancing term in the loss.
    """

    def __init__(
        self,
        dim: int,
        expert: Callable[[], FeedForward],
        count: int,
        used: int,
        balance: float,
    ) -> None:
        super().__init__()
        self.router = Linear(dim, count, bias=False)
        self.experts = nn.ModuleList(
            each for each in (expert() for _ in range(count)) if isinstance(each, nn.Module)
        )
        assert len(self.experts) == count, "an expert is a module"
        self.used = used
        self.balance = balance

    def forward(self, states: States) -> States:
        """The experts' outputs for each state, weighted."""
        rows = states.flatten(0, 1)
        probabilities = self.router(rows).float().softmax(dim=-1)
        best, chosen = probabilities.topk(self.used, dim=-1)
        emit(self, ROUTED, Routing(probabilities, chosen))
        weights = (best / best.sum(dim=-1, keepdim=True)).to(rows.dtype)
        made = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            places, which = (chosen == number).nonzero(as_tuple=True)
            if len(places):
                output = expert(rows[places][None])[0]
                made = made.index_add(0, places, output * weights[places, which][:, None])
        return made.view(states.shape)
