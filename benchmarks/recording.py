"""The cost of recording during translation.

    python -m benchmarks.recording MODEL FILE           # the first 32 lines of FILE

Translates the same sentences without observers, with `jumok.record` at each level, and with the
observers alone (without building the trace at the end); one thread, processor time,
the best of some rounds.
"""

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import torch

import jumok
from jumok.inspection.hooks.listening import listening
from jumok.inspection.hooks.recording import Recorder, Shared
from jumok.systems.translation.segments import MODEL_ALONE


def ways(model: Any) -> Iterator[tuple[str, AbstractContextManager[Any]]]:
    """Each way of recording, by its name; a new one for every round."""
    yield "nothing", nullcontext()
    recorder = Recorder("weights", Shared(lambda _: None))
    yield "method calls, no trace", listening(model.models[0], recorder)
    yield "record, weights", jumok.record(model, level="weights")
    yield "record, qk", jumok.record(model, level="qk")


def seconds(model: Any, texts: list[str], beam: int, rounds: int) -> dict[str, float]:
    """Processor time of each way, the best of some rounds."""
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, watching in ways(model):
            start = process_time()
            with watching:
                model.translate(texts, beam=beam, alignments=False, **MODEL_ALONE)
            best[name] = min(best.get(name, float("inf")), process_time() - start)
    return best


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model = jumok.load(asked.model, device="cpu")
    with asked.file.open(encoding="utf-8") as lines:
        texts = [line.strip() for line in islice(lines, asked.sentences)]
    print("| what is recorded | greedy | beam 5 |\n|---|---|---|")
    greedy, beam = (seconds(model, texts, width, asked.rounds) for width in (1, 5))
    for name in greedy:
        cells = (f"{each[name]:.2f} s, {each[name] / next(iter(each.values())):.2f}x"
                 for each in (greedy, beam))  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
