"""How a case is tried on a device, and what is said of it."""

import json
import traceback
from collections.abc import Callable

import torch

from jumok.data.captions.batches import CaptionBatch
from jumok.data.pairs.batches import Batch, on_device
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import Memory, SequenceToSequence
from jumok.training.task import MicroBatch
from tests.decoding.searches import beam_search, greedy
from tests.gpu.cases import Case

RATE = 1e-3
LIMITS = Limits(maximum_length=5, maximum_ratio=1.0)


def report(name: str, tried: Callable[[], dict[str, object]]) -> None:
    try:
        found = tried()
    except Exception:
        found = {"error": traceback.format_exc()}
    print(json.dumps({"name": name, "error": "", **found}), flush=True)


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
