"""Tries every case on the stand-in, and prints what was found as JSON, a line for each."""

import sys
from collections.abc import Callable

import torch

from tests.gpu import planted
from tests.gpu.cases import DECODED, Case, learner_of, model_of, training
from tests.gpu.stand_in import card, to_card
from tests.gpu.tried import RATE, found_by, report


def main() -> None:
    torch.set_num_threads(1)
    for name, case in training():
        report(f"update: {name}", lambda case=case: update(case))
        if name in DECODED:
            report(f"decode: {name}", lambda case=case: decode(case))
    for name, fault in planted.FAULTS.items():
        report(f"planted: {name}", lambda fault=fault: fault_found(fault))


def update(case: Case) -> dict[str, object]:
    """Two updates on the stand-in, and on the processor; the waits are those of the second.

    The first one copies what is kept on the card.
    """
    here = learner_of(case, model_of(case))
    losses = [here.update(case.batches(case.section), step, RATE).loss for step in (1, 2)]
    with card() as meter:
        there = learner_of(case, to_card(model_of(case)))
        other = [there.update(case.batches(case.section), 1, RATE).loss]
        meter.waits.clear()
        other.append(there.update(case.batches(case.section), 2, RATE).loss)
        waits = list(map(str, meter.waits))
        weights = {name: each.cpu() for name, each in there.weights().items()}
    # The gradient of a key's bias is nothing but rounding, which AdamW makes as large as any other.
    apart = max(
        float((each - weights[name]).abs().max())
        for name, each in here.weights().items()
        if not name.endswith("key.bias")
    )
    return {"waits": waits, "losses": [losses, other], "apart": apart}


def decode(case: Case) -> dict[str, object]:
    """Greedy and beam search on both devices; the waits are those of the second time."""
    model = model_of(case).eval()
    here = found_by(model, case, torch.device("cpu"))
    with card() as meter:
        found_by(to_card(model), case, torch.device("gpu"))
        meter.waits.clear()
        there = found_by(model, case, torch.device("gpu"))
    return {"waits": list(map(str, meter.waits)), "texts": [here, there]}


def fault_found(fault: Callable[[torch.Tensor], object]) -> dict[str, object]:
    """What the meter says of a fault that is known."""
    states = torch.ones(2, 3)
    with card() as meter:
        there = states.to("gpu")
        meter.waits.clear()
        try:
            fault(there)
        except RuntimeError as error:
            return {"error": str(error), "waits": []}
    return {"waits": list(map(str, meter.waits))}


if __name__ == "__main__":
    sys.exit(main())
