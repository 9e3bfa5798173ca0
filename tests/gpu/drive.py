"""Tries every case on the stand-in, and prints what was found as JSON, a line for each."""

import json
import sys
import traceback
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch._dynamo.utils import counters

from jumok.data.captions.batches import CaptionBatch
from jumok.data.pairs.batches import Batch, on_device
from jumok.decoding.beam import beam_search
from jumok.decoding.greedy import greedy
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits
from jumok.kernels import native
from jumok.kernels.card.compiling import TensorCompiler
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import Memory, SequenceToSequence
from jumok.training import learner
from jumok.training.task import MicroBatch
from tests.gpu import planted
from tests.gpu.cases import DECODED, Case, learner_of, model_of, training
from tests.gpu.stand_in import card, to_card

RATE = 1e-3
LIMITS = Limits(maximum_length=5, maximum_ratio=1.0)


def main() -> None:
    torch.set_num_threads(1)
    for name, case in training():
        report(f"update: {name}", lambda case=case: update(case))
        if name in DECODED:
            report(f"decode: {name}", lambda case=case: decode(case))
    report("compiled", compiled)
    for name, fault in planted.FAULTS.items():
        report(f"planted: {name}", lambda fault=fault: fault_found(fault))


def report(name: str, tried: Callable[[], dict[str, object]]) -> None:
    try:
        found = tried()
    except Exception:
        found = {"error": traceback.format_exc()}
    print(json.dumps({"name": name, "error": "", **found}), flush=True)


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


def compiled() -> dict[str, object]:
    """Updates with compiled functions and without them, by the functions that a GPU uses.

    The compiler captures them as graphs and executes these unchanged.
    """
    case = dict(training())["transformer"]
    losses = []
    with patch.object(native, "serves", lambda *_: False):
        for options in ({}, {"compile": True}):
            with patch.object(learner, "TensorCompiler", lambda: TensorCompiler("aot_eager")):
                trained = learner_of(case, model_of(case), **options)
            batches = case.batches(case.section)
            losses.append([trained.update(batches, step, RATE).loss for step in (1, 2)])
    return {"losses": losses, "graphs": dict(counters["stats"])}


def decode(case: Case) -> dict[str, object]:
    """Greedy and beam search on both devices; the waits are those of the second time."""
    model = model_of(case).eval()
    here = found_by(model, case, torch.device("cpu"))
    with card() as meter:
        found_by(to_card(model), case, torch.device("gpu"))
        meter.waits.clear()
        there = found_by(model, case, torch.device("gpu"))
    return {"waits": list(map(str, meter.waits)), "texts": [here, there]}


def found_by(model: torch.nn.Module, case: Case, device: torch.device) -> list[list[int]]:
    """The tokens of both searches."""
    batch = case.batches(case.section)[-1]
    if isinstance(model, CausalLanguageModel):
        memory = model.nothing(2)
        searched = [greedy(model.decoder, memory, Limits(maximum_length=5), prefixes=[[4, 5], [6]])]
        best = beam_search(
            model.decoder, memory, 3, Limits(maximum_length=5), prefixes=[[4, 5], [6]]
        )
    else:
        assert isinstance(model, SequenceToSequence)
        memory = memory_of(model, batch, device)
        searched = [greedy(model.decoder, memory, LIMITS)]
        best = beam_search(model.decoder, memory, 3, LIMITS)
    everything: list[Hypothesis] = [*searched[0], *(one for row in best for one in row)]
    return [list(one.tokens) for one in everything]


@torch.inference_mode()
def memory_of(model: SequenceToSequence, batch: MicroBatch, device: torch.device) -> Memory:
    there = on_device(batch, device)
    if isinstance(there, CaptionBatch):
        return model.encode(there.pictures)
    assert isinstance(there, Batch)
    return model.encode(there.source, there.source_allowed)


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
