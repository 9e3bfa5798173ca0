"""What has to be true on a GPU before its speed counts."""

from collections.abc import Iterator

import torch

from jumok.attention.core import attend, attend_with_weights
from jumok.config import TrainingConfig, TransformerConfig
from jumok.data.pairs.batches import collate
from jumok.kernels.cross_entropy import smoothed_cross_entropy, smoothed_cross_entropy_plainly
from jumok.kernels.linear import linear
from jumok.kernels.noise import DropoutMask
from jumok.kernels.residual import add_norm, add_norm_plainly
from jumok.models.encoder_decoder import Transformer
from jumok.training.learner import Learner
from jumok.training.objectives import translation

CLOSE = 1e-5


def checks(device: torch.device) -> Iterator[tuple[str, str | None]]:
    """What is checked, and the fault; None: there is none."""
    yield "twins agree in float32 to 1e-5", apart(device)
    yield "two runs have the same bits", repeats(device)


def apart(device: torch.device) -> str | None:
    """The first fast path that is not like its twin, on equal numbers."""
    torch.manual_seed(1)
    # With gradients, because training has kernels of its own.
    query, key, value = torch.randn(3, 2, 4, 33, 64, device=device, requires_grad=True)
    layer = torch.nn.Linear(64, 48, device=device)
    hidden, table = torch.randn(700, 64, device=device), torch.randn(301, 64, device=device) / 8
    targets = torch.arange(700, device=device) % 301
    mask = DropoutMask(0.3, 0xF1234567)
    stream, update = torch.randn(2, 3, 100, 64, device=device)
    norm = torch.nn.LayerNorm(64, device=device)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 1.5)
    pairs = {
        "dropout": (mask.apply(hidden), mask.apply_plainly(hidden)),
        "attention": (
            attend(query, key, value, drop=mask),
            attend_with_weights(query, key, value, drop=mask)[0],
        ),
        "linear layer": (linear(hidden, layer.weight, layer.bias), layer(hidden)),
        "loss": (
            smoothed_cross_entropy(hidden, table, targets, 0.1) / 700,
            smoothed_cross_entropy_plainly(hidden, table, targets, 0.1) / 700,
        ),
        "norm": (
            add_norm(stream, update, norm, mask)[1],
            add_norm_plainly(stream, update, norm, mask)[1],
        ),
    }
    for name, (fast, slow) in pairs.items():
        worst = float((fast - slow).detach().abs().max())
        if not worst <= CLOSE:
            return f"{name} differs by {worst:.1e}"
    return None


def repeats(device: torch.device) -> str | None:
    """Three updates of a small Transformer with dropout, twice."""
    ends = []
    for _ in range(2):
        torch.manual_seed(1)
        sizes = TransformerConfig(
            dim=64, heads=4, encoder_layers=1, decoder_layers=1, feedforward=64,
            dropout=0.2, attention_dropout=0.1,
        )  # fmt: skip
        model = Transformer(sizes, 101).to(device)
        learner = Learner(model, translation, TrainingConfig(), 1, torch.bfloat16)
        ids = [[4 + (row * 7 + place) % 97 for place in range(5 + row % 3)] for row in range(40)]
        for step in (1, 2, 3):
            learner.update([collate(ids, ids[::-1])], step, 1e-3)
        ends.append({name: each.clone() for name, each in learner.state().items()})
    first, second = ends
    strange = [name for name, each in first.items() if not torch.equal(each, second[name])]
    return f"different: {', '.join(strange)}" if strange else None
