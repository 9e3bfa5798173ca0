"""A Transformer's block and an attention by hand: matrices, sums and exponentials in torch."""

from typing import Any

import torch

from jumok.attention.multihead import MultiHeadAttention

Facts = dict[str, torch.Tensor]


def normed(states: torch.Tensor, module: Any) -> torch.Tensor:
    """Layer normalization from its formula."""
    middle = states - states.mean(dim=-1, keepdim=True)
    sized = middle / (middle.square().mean(dim=-1, keepdim=True) + module.eps).sqrt()
    return sized * module.weight + module.bias


def times(states: torch.Tensor, layer: Any) -> torch.Tensor:
    """x W^T + b."""
    product = states @ layer.weight.flatten(1).T
    return product if layer.bias is None else product + layer.bias


def heads(states: torch.Tensor, count: int) -> torch.Tensor:
    """(length heads*dim) -> (heads length dim)."""
    return states.unflatten(1, (count, -1)).transpose(0, 1)


def attend(
    module: Any, asking: torch.Tensor, asked: torch.Tensor, hidden: torch.Tensor | None = None
) -> Facts:
    """Scaled dot products of all heads; `hidden`: True where a query may not attend."""
    query, key, value = (
        heads(times(states, layer), module.heads)
        for layer, states in ((module.query, asking), (module.key, asked), (module.value, asked))
    )
    for process in module.process_queries if isinstance(module, MultiHeadAttention) else ():
        query = process(query[None], 0)[0]  # rotation by the position, which has tests of its own
    for process in module.process_keys if isinstance(module, MultiHeadAttention) else ():
        key = process(key[None], 0)[0]
    products = query @ key.transpose(1, 2)
    scores = products / query.shape[2] ** 0.5
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    powers = (scores - scores.max(dim=2, keepdim=True).values).exp()
    weights = powers / powers.sum(dim=2, keepdim=True)
    z = weights @ value
    mixed = z.transpose(0, 1).flatten(1)
    return {
        "input": asking,
        "query": query,
        "key": key,
        "value": value,
        "products": products,
        "scores": scores,
        "powers": powers,
        "weights": weights,
        "z": z,
        "mixed": mixed,
        "output": times(mixed, module.output),
    }


def block(
    layer: Any,
    state: torch.Tensor,
    read: torch.Tensor,
    memory: torch.Tensor | None = None,
    causal: bool = False,
    bent: Any = torch.relu,
) -> tuple[dict[str, Facts], torch.Tensor, torch.Tensor]:
    """A block, of pre-norm or of post-norm: what each attention shows, the stream, and its norm."""
    found: dict[str, Facts] = {}
    length = len(state)
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1) if causal else None
    parts = [("self", layer.self_attention, layer.after_self, None)]
    if memory is not None:
        parts.append(("cross", layer.cross_attention, layer.after_cross, memory))
    for name, attention, after, asked in parts:
        facts = attend(
            attention, read, read if asked is None else asked, hidden if asked is None else None
        )
        total = state + facts["output"]
        norm = normed(total, after.norm)
        found[name] = facts | {"state": state, "sum": total, "norm": norm}
        state, read = (norm if type(after).__name__ == "PostNorm" else total), norm
    inner = bent(times(read, layer.feedforward.inner))
    fed = times(inner, layer.feedforward.outer)
    total, after = state + fed, layer.after_feedforward
    norm = normed(total, after.norm)
    found[name] |= {"hidden": inner, "fed": fed, "fedSum": total, "fedNormed": norm}
    return found, (norm if type(after).__name__ == "PostNorm" else total), norm
