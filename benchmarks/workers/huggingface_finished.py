"""Train MarianMTModel for a number of steps by the best loop we know, or translate with it.

python huggingface_finished.py train|translate SETTINGS.json: the keys of huggingface_training.py,
and steps, warmup, seed, average (the decay of the averaged weights), weights (their file), test
(ids) and output. The learning rate rises for the warm-up, then falls along a cosine to zero.
"""

import json
import math
import random
import sys
from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import torch
from huggingface_training import (
    END,
    PAD,
    START,
    Pair,
    batches_of,
    loss_of,
    new_model,
    padded,
    read_ids,
    tensors_of,
)
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import MarianMTModel

BEAM = 5
TOGETHER = 50


def main() -> None:
    """Train and keep the averaged weights, or translate with them."""
    settings = json.loads(Path(sys.argv[2]).read_text())
    torch.manual_seed(settings["seed"])
    random.seed(settings["seed"])
    model = new_model(settings)
    if sys.argv[1] == "train":
        torch.save(_trained(model, settings).state_dict(), settings["weights"])
        return
    model.load_state_dict(torch.load(settings["weights"]))
    lines = _translated(model.eval(), read_ids(settings["test"]))
    Path(settings["output"]).write_text("".join(f"{line}\n" for line in lines))


def _trained(model: MarianMTModel, settings: dict[str, Any]) -> nn.Module:
    """The averaged model."""
    steps, warmup = settings["steps"], settings["warmup"]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings["learning_rate"], betas=(0.9, 0.98), weight_decay=0.0
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(
            (step + 1) / warmup, 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
        ),
    )
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(settings["average"]))
    pairs = list(zip(read_ids(settings["source"]), read_ids(settings["target"]), strict=True))
    model.train()
    for step, batch in enumerate(islice(_endless(pairs, settings), steps), 1):
        source, decoder_input, labels = tensors_of(batch)
        loss = loss_of(model, source, decoder_input, labels, settings)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        averaged.update_parameters(model)
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    return averaged.module


def _endless(pairs: list[Pair], settings: dict[str, Any]) -> Iterator[list[Pair]]:
    for epoch in repeat(pairs):
        yield from batches_of(epoch, settings["sentences"], settings["batching"])


@torch.no_grad()
def _translated(model: MarianMTModel, sources: list[list[int]]) -> list[str]:
    """The ids of each translation, separated by spaces; sentences of similar length together."""
    lines = [""] * len(sources)
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    for start in range(0, len(order), TOGETHER):
        places = order[start : start + TOGETHER]
        ids = padded([[*sources[place], END] for place in places], PAD)
        outputs = model.generate(  # type: ignore[misc]  # typed for a protocol that no model meets
            ids, attention_mask=ids != PAD, num_beams=BEAM, max_length=128
        )
        assert isinstance(outputs, torch.Tensor)
        for place, row in zip(places, outputs.tolist(), strict=True):
            lines[place] = " ".join(str(id_) for id_ in row if id_ not in (PAD, START, END))
    return lines


if __name__ == "__main__":
    main()
