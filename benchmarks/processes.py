"""Training in two processes beside one, and what they wait for: `python -m benchmarks.processes`.

The recipe multi30k-en-de is trained for some steps with one thread, with two, in two processes, and
twice at the same time with one thread each, which shows what the two cores can do if nobody waits.
Of the steps after the first 8: target tokens a second, processor seconds of all, and for a process
the seconds that it computes gradients, that it waits for those of the others, and that it sums and
exchanges them. The cases take turns, for some rounds. Runs on Linux only.

`--balance` trains nothing: it says how evenly the work of a step (`work_of`) is
divided among 2 and 4 processes, if its micro-batches are planned for 4 shares and if they are not.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.corpus import SOURCE, TARGET, WORK, data_folder, joint_corpus
from benchmarks.errors import BenchmarkError
from benchmarks.process import one_thread_environment
from jumok.data.pairs.batches import work_of
from jumok.data.pairs.blocks import StoredLengths
from jumok.data.pairs.sampler import PairSampler
from jumok.data.store import Ragged
from jumok.training.learner import balance_micro_batches

WORKER = Path(__file__).parent / "workers" / "timed_training.py"
SKIPPED = 8
SHARES = 4
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@dataclass(frozen=True)
class Case:
    """One way of training.

    Attributes:
        threads: of a process.
        starter: what Python runs, before the worker.
        runs: at the same time, which have nothing to do with each other.
    """

    threads: int
    starter: tuple[str, ...] = ()
    runs: int = 1


CASES = {
    "one thread": Case(1),
    "two threads": Case(2),
    "two processes": Case(1, TORCHRUN),
    "two runs at the same time": Case(1, runs=2),
}


def main() -> None:
    """Prints a row for each case and round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--precision", choices=["auto", "bf16", "fp32"], default="auto")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--balance", action="store_true")
    given = parser.parse_args()
    if given.balance:
        for planned in (1, SHARES):
            print(balance(planned))
        return
    print("| | tokens a second | processor seconds | computes | waits | sums and exchanges |")
    print("|---|---|---|---|---|---|")
    for _ in range(given.rounds):
        for case in given.only:
            processes = measured(CASES[case], given.steps, given.precision)
            print(row(case, processes), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def measured(case: Case, steps: int, precision: str) -> list[dict[str, float]]:
    """What each process of a case has measured."""
    folder = WORK / "processes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = []
    for number in range(case.runs):
        command: list[str | Path] = [
            *(sys.executable, *case.starter),
            *(WORKER, folder / f"run{number}", str(SKIPPED)),
            *("train", "multi30k-en-de", "--runs", folder / f"runs{number}"),
            *("--set", f"training.steps={steps}", "--set", f"training.threads={case.threads}"),
            *("--set", f"training.precision={precision}", "--set", "validation.decode_pairs=1"),
        ]
        environment = one_thread_environment() | {"JUMOK_DATA": str(data_folder())}
        with (folder / f"log{number}.txt").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
    codes = [process.wait() for process in started]
    if any(codes):
        raise BenchmarkError(f"a run failed: see {folder}/log*.txt")
    return [json.loads(file.read_text()) for file in sorted(folder.glob("run*.json"))]


def row(case: str, processes: list[dict[str, float]]) -> str:
    """A row of the table; all processes of a run count the same tokens, and two runs their own."""
    rates = [each["tokens"] / each["seconds"] for each in processes]
    rate = sum(rates) if CASES[case].runs > 1 else rates[0]
    parts = [[each.get(name, 0.0) for each in processes] for name in ("compute", "wait", "sum")]
    return (
        f"| {case} | {rate:,.0f} | {sum(each['cpu_seconds'] for each in processes):.1f} | "
        + " | ".join(", ".join(f"{seconds:.1f}" for seconds in part) for part in parts)
        + " |"
    )


def balance(planned: int, steps: int = 300, batch: int = 4096, micro: int = 1024) -> str:
    """The work of a process as a share of that of the slowest one, over all steps.

    Args:
        planned: the number of shares that the micro-batches are planned for.
    """
    ids = [joint_corpus().ids("train", language) for language in (SOURCE, TARGET)]
    source, target = (
        np.array([len(line.split()) for line in file.read_text().splitlines()], np.int32)
        for file in ids
    )
    offsets = [np.append(0, np.cumsum(side, dtype=np.int64)) for side in (source, target)]
    none = np.zeros(0, np.uint16)
    lengths = StoredLengths(*(Ragged(none, each) for each in offsets))
    sampler = PairSampler([lengths], None, batch, micro, seed=1, shares=planned)
    total, slowest, counts = 0, dict.fromkeys((2, 4), 0), dict[int, int]()
    for _ in range(steps):
        update = [rows for _, rows in sampler.next_update()]
        counts[len(update)] = counts.get(len(update), 0) + 1
        works = [
            len(rows) * work_of(int(source[rows].max()) + 1, int(target[rows].max()) + 1)
            for rows in update
        ]
        shares = balance_micro_batches(works, SHARES)
        loads = [sum(works[index] for index in share) for share in shares]
        total += sum(loads)
        for processes in slowest:
            slowest[processes] += max(sum(loads[rank::processes]) for rank in range(processes))
    even = ", ".join(f"{total / n / most:.1%} with {n}" for n, most in slowest.items())
    return f"planned for {planned}: {even} processes; micro-batches in a step: {counts}"


if __name__ == "__main__":
    main()
