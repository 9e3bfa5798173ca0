"""Tries every case on a real GPU, and prints what was found as JSON, a line for each.

python -m tests.gpu.on_card
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from jumok.kernels.card.dropout import dropout_on_card
from jumok.kernels.noise import DropoutMask
from jumok.training.learner import Learner
from tests.gpu.cases import DECODED, Case, learner_of, model_of, training
from tests.gpu.tried import RATE, found_by, report

CARD = torch.device("cuda")
UPDATES = 6


def main() -> None:
    torch.backends.cudnn.allow_tf32 = False
    report("dropout", masks)
    for name, case in training():
        report(f"update: {name}", lambda case=case: update(case))
        report(f"recorded: {name}", lambda case=case: recorded(case))
        if name in DECODED:
            report(f"decode: {name}", lambda case=case: decode(case))


def masks() -> dict[str, object]:
    """Whether the kernel draws the masks of its twin, by a number and by one on the card."""
    states = torch.randn(3, 1001, 7, device=CARD)
    alike = []
    for seed in (5, 0xF1234567):
        twin = DropoutMask(0.3, seed).apply_plainly(states)
        for given in (seed, torch.tensor(seed, device=CARD)):
            alike.append(torch.equal(dropout_on_card(states, DropoutMask(0.3, given)), twin))
    return {"alike": alike}


def update(case: Case) -> dict[str, object]:
    """Two updates on the card, and on the processor; the waits are those of the second."""
    here = learner_of(case, model_of(case))
    there = learner_of(case, model_of(case).to(CARD))
    losses, waits = [], 0
    for step in (1, 2):
        batches = case.batches(case.section)
        with waits_counted() as said:
            on_card = there.update(batches, step, RATE).loss
        losses.append([here.update(batches, step, RATE).loss, on_card])
        waits = len(said)
    return {"losses": losses, "waits": waits, "apart": apart(here, there)}


def recorded(case: Case) -> dict[str, object]:
    """Updates whose passes are recorded, and the same ones without that."""
    learners = [
        learner_of(case, model_of(case).to(CARD), cuda_graphs=graphs) for graphs in (True, False)
    ]
    losses = []
    for step in range(1, UPDATES + 1):
        batches = case.batches(case.section)[: 1 + step % 2]
        losses.append([each.update(batches, step, RATE).loss for each in learners])
    assert learners[0].recorded is not None
    shapes = len(learners[0].recorded)
    return {"losses": losses, "shapes": shapes, "apart": apart(*learners)}


def apart(one: Learner, other: Learner) -> float:
    """The largest difference of two weights."""
    # The gradient of a key's bias is nothing but rounding, which AdamW makes as large as any other.
    weights = {name: each.cpu() for name, each in other.weights().items()}
    return max(
        float((each.cpu() - weights[name]).abs().max())
        for name, each in one.weights().items()
        if not name.endswith("key.bias")
    )


def decode(case: Case) -> dict[str, object]:
    """Greedy and beam search on both devices."""
    model = model_of(case).eval()
    here = found_by(model, case, torch.device("cpu"))
    return {"texts": [here, found_by(model.to(CARD), case, CARD)]}


@contextmanager
def waits_counted() -> Iterator[list[warnings.WarningMessage]]:
    """What torch says of waits for the card."""
    found: list[warnings.WarningMessage] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
            found += [each for each in said if "synchronizing" in str(each.message)]


if __name__ == "__main__":
    sys.exit(main())
