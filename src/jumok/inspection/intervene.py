"""Switching heads off, and what that changes.

One mechanism serves all: `gate[head]` multiplies what a head found before the heads are mixed
(`attention/observe.py`). A gate of 0 is a head that does not exist.

Source: Michel et al. 2019, Are sixteen heads really better than one?, section 2.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from jumok.attention.observe import Observable
from jumok.errors import ModelError
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Int, Tensor

Heads = Mapping[str, Sequence[int]]
"""For each site, by its path in the model, the heads meant; from 0."""


def sites(model: nn.Module) -> dict[str, Observable]:
    """Every attention module by its path in the model."""
    return {name: each for name, each in model.named_modules() if isinstance(each, Observable)}


@contextmanager
def switched_off(model: nn.Module, heads: Heads, count: Mapping[str, int]) -> Iterator[None]:
    """The model without these heads, inside the block.

    Args:
        count: how many heads each site has.

    Raises:
        ModelError: a site or a head that the model does not have.
    """
    known = sites(model)
    parameter = next(model.parameters())
    chosen = [(name, numbers) for name, numbers in heads.items() if numbers]
    for name, numbers in chosen:
        if name not in known or not all(0 <= head < count[name] for head in numbers):
            raise ModelError(
                "the model has no such head.",
                expected="; ".join(f"{site}: 0 to {count[site] - 1}" for site in count),
                got=f"{name}: {', '.join(map(str, numbers))}",
            )
    try:
        for name, numbers in chosen:
            gate = torch.ones(count[name], dtype=parameter.dtype, device=parameter.device)
            gate[list(numbers)] = 0.0
            known[name].gate = gate
        yield
    finally:
        for name, _ in chosen:
            known[name].gate = None


@torch.inference_mode()
def without_each_head(
    model: SequenceToSequence,
    source: Int[Tensor, "1 source"],
    target: Int[Tensor, "1 target"],
    written: Int[Tensor, " target"],
    count: Mapping[str, int],
) -> dict[str, Float[Tensor, "heads target"]]:
    """For each head the change of every written token's log-probability when it alone is off.

    Args:
        target: START and pieces.
        written: what follows each of them: the pieces and END.
    """

    def log_probabilities() -> Float[Tensor, " target"]:
        logits = model.decoder(model.encode(source), target)[0]
        return logits.float().log_softmax(dim=-1).gather(1, written[:, None])[:, 0]

    whole = log_probabilities()
    changes = {}
    for site, heads in count.items():
        of_site = []
        for head in range(heads):
            with switched_off(model, {site: [head]}, count):
                of_site.append(log_probabilities() - whole)
        changes[site] = torch.stack(of_site)
    return changes
