"""Weights and arguments of the attention modules of Hugging Face."""

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention


@torch.no_grad()
def copy_projections(ours: MultiHeadAttention, theirs: nn.Module) -> None:
    """Copies what has the same layout in both; biases where there are some."""
    pairs = zip(
        (ours.query, ours.key, ours.value, ours.output),
        (theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.o_proj),
        strict=True,
    )
    for mine, other in pairs:
        mine.load_state_dict(other.state_dict())


def at_no_position(
    states: torch.Tensor, head_dim: int, allowed: torch.Tensor
) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Position embeddings that turn nothing, and the mask as they add it to the scores."""
    turns = torch.ones(1, states.shape[1], head_dim), torch.zeros(1, states.shape[1], head_dim)
    return turns, torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
