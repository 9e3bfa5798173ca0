"""How well the gradient of a head's gate predicts the effect of ablating the head.

    python -m benchmarks.gates MODEL --source val.en --target val.de    # the first 100 pairs

Every head is ablated alone, and the mean absolute change of a pair's loss is compared in rank with
the size of the gradient, E | dL / dgate | (Michel et al. 2019).
"""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
import torch

import jumok
from jumok.attention.observe import heads_of
from jumok.data.pairs.batches import Batch
from jumok.inspection.heads.measures import Importance, translation_losses
from jumok.inspection.heads.ranks import spearman
from jumok.inspection.hooks.intervene import switched_off
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.pairs import encode_pairs

Head = tuple[str, int]


def by_gradient(model: SequenceToSequence, batches: Sequence[Batch]) -> dict[Head, float]:
    """One forward and one backward pass for all heads."""
    importance = Importance(model)
    for batch in batches:
        importance.take(len(batch.source), partial(translation_losses, model, batch))
    sizes = importance.raw()
    return {(site, head): float(size) for site in sizes for head, size in enumerate(sizes[site])}


@torch.no_grad()
def by_switching(model: SequenceToSequence, batches: Sequence[Batch]) -> dict[Head, float]:
    """A forward pass for each head: the mean size of the loss's change, in nats per token."""
    count = heads_of(model)
    whole = torch.cat([translation_losses(model, batch) for batch in batches])
    moved = {}
    for site, heads in count.items():
        for head in range(heads):
            with switched_off(model, {site: [head]}, count):
                without = torch.cat([translation_losses(model, batch) for batch in batches])
            moved[site, head] = float((without - whole).abs().mean())
    return moved


def main() -> None:
    """Prints both times and the rank correlation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gates", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    translator = jumok.load(arguments.model, kind=jumok.Translator, device="cpu")
    (model,) = translator.models
    sides = []
    for path in (arguments.source, arguments.target):
        with path.open(encoding="utf-8") as lines:
            sides.append([line.rstrip("\n") for line in islice(lines, arguments.pairs)])
    batches = [batch for _, batch in encode_pairs(translator, *sides).collated(50)]
    begun = process_time()
    gradient = by_gradient(model, batches)
    between = process_time()
    switching = by_switching(model, batches)
    ended = process_time()
    correlation = spearman(
        np.array([gradient[head] for head in switching]), np.array(list(switching.values()))
    )
    print(f"{len(switching)} heads, {len(sides[0])} pairs")
    print(f"by gradient {between - begun:.1f} CPU-s, one by one {ended - between:.1f} CPU-s")
    print(f"Spearman's rank correlation {correlation:.2f}")


if __name__ == "__main__":
    main()
