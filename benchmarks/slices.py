"""The memory of each process, by their number: `python -m benchmarks.slices [--optimizer muon]`, or
`--sharding full` for weights in rows of every parameter.

For 1, 2 and 4 processes (--processes) a model with random weights makes two updates, in as many
processes, which exchange gradients and weights over gloo as `jumok train --processes` does. The
table has the bytes of one process: the state (master weights, moments, averages), its gradients and
its copy of the weights (in rows of every parameter it has none but its state, and brings together a
block at a time), the largest of all processes; and by how much its resident memory has grown at its
peak.
"""

import argparse
import multiprocessing
import os
import resource
import sys
from contextlib import nullcontext
from typing import Literal, get_args

import torch

from benchmarks.larger import CONFIGS, VOCABULARIES, model_of
from jumok.cli.training.processes import free_port
from jumok.config import AverageConfig, TrainingConfig
from jumok.data.pairs.batches import collate
from jumok.training.learner import Learner
from jumok.training.objectives import translation
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.ranks import SINGLE_PROCESS
from jumok.training.torch_ranks import process_group

Optimizer = Literal["adamw", "muon"]
Sharding = Literal["slices", "full"]

SHARES = 4


def measured(
    rank: int, count: int, port: int, name: str, optimizer: Optimizer, sharding: Sharding
) -> list[float]:
    """The megabytes of one process: state, gradients, weights, growth of the resident memory."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    names = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    variables = {key: str(value) for key, value in names.items()}
    with nullcontext(SINGLE_PROCESS) if count == 1 else process_group(variables) as ranks:
        model = model_of(CONFIGS[name], VOCABULARIES[name])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        config = TrainingConfig(
            average=AverageConfig(kind="ema"), optimizer=optimizer, sharding=sharding
        )
        size = FlatParameters(model).size
        learner = Learner(model, translation, config, 1, torch.bfloat16, SHARES, 1, ranks)
        batch = collate([[5, 6, 7]] * 4, [[8, 9]] * 4)
        for step in (1, 2):
            learner.update([batch] * SHARES, step, 1e-4)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        state = sum(tensor.nbytes for tensor in learner.state().values())
        own = learner.state()["master"].nbytes
    if count > 1 and sharding == "full":
        weights, gradients = 0, own
    else:
        weights, gradients = 2 * size, own + 2 * size * SHARES // count
    return [each / 1e6 for each in (state, gradients, weights, grown)]


def main() -> int:
    """Prints a row for each number of processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slices", description=__doc__)
    parser.add_argument("--optimizer", choices=get_args(Optimizer), default="adamw")
    parser.add_argument("--sharding", choices=get_args(Sharding), default="slices")
    parser.add_argument("--model", choices=("base", "recurrent"), default="base")
    parser.add_argument("--processes", type=int, nargs="+", choices=(1, 2, 4), default=[1, 2, 4])
    given = parser.parse_args()
    run = f"{given.model}, {given.optimizer}, {given.sharding}, bfloat16, {SHARES} shares"
    print(f"{run}; MB of a process")
    print("| processes | state | gradients | weights | peak growth of resident memory |")
    print("|---|---|---|---|---|")
    for count in given.processes:
        port = free_port()
        chosen = given.model, given.optimizer, given.sharding
        tasks = [(rank, count, port, *chosen) for rank in range(count)]
        with multiprocessing.get_context("spawn").Pool(count) as pool:
            rows = pool.starmap(measured, tasks, chunksize=1)
        largest = [max(column) for column in zip(*rows, strict=True)]
        print(f"| {count} | " + " | ".join(f"{each:,.0f}" for each in largest) + " |", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
