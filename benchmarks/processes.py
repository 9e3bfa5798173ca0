"""Training in two processes beside one, and what they wait for: `python -m benchmarks.processes`.

The recipe multi30k-en-de is trained for some steps with one thread, with two, in two processes, and
twice at the same time with one thread each, which shows what the two cores can do if nobody waits.
Of the steps after the first 8: target tokens a second, processor seconds of all, and for a process
the seconds that it computes gradients, that it waits for those of the others, and that it sums and
exchanges them. The cases take turns, for some rounds. Runs on Linux only.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.corpus import WORK, data_folder
from benchmarks.errors import BenchmarkError
from benchmarks.process import one_thread_environment

WORKER = Path(__file__).parent / "workers" / "timed_training.py"
SKIPPED = 8
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
CASES: dict[str, tuple[tuple[str, ...], int, int]] = {
    "one thread": ((), 1, 1),
    "two threads": ((), 2, 1),
    "two processes": (TORCHRUN, 1, 1),
    "two runs at the same time": ((), 1, 2),
}
"""Each: how Python is started, its threads, and the number of runs."""


def main() -> None:
    """Prints a row for each case and round."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--precision", choices=["auto", "bf16", "fp32"], default="auto")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    given = parser.parse_args()
    print("| | tokens a second | processor seconds | computes | waits | sums and exchanges |")
    print("|---|---|---|---|---|---|")
    for _ in range(given.rounds):
        for case in given.only:
            found = measured(case, given.steps, given.precision)
            print(row(case, found), flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def measured(case: str, steps: int, precision: str) -> list[dict[str, float]]:
    """What each process of a case has measured."""
    starter, threads, runs = CASES[case]
    folder = WORK / "processes"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = []
    for number in range(runs):
        command = [
            *(sys.executable, *starter, WORKER, folder / f"run{number}", str(SKIPPED)),
            *("train", "multi30k-en-de", "--runs", folder / f"runs{number}"),
            *("--set", f"training.steps={steps}", "--set", f"training.threads={threads}"),
            *("--set", f"training.precision={precision}", "--set", "validation.decode_pairs=1"),
        ]
        environment = one_thread_environment() | {"JUMOK_DATA": str(data_folder())}
        with (folder / f"log{number}.txt").open("wb") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
    codes = [process.wait() for process in started]
    if any(codes):
        raise BenchmarkError(f"a run failed: see {folder}/log*.txt")
    return [json.loads(file.read_text()) for file in sorted(folder.glob("run*.json"))]


def row(case: str, found: list[dict[str, float]]) -> str:
    """A row of the table; all processes of a run count the same tokens, and two runs their own."""
    rates = [each["tokens"] / each["seconds"] for each in found]
    rate = sum(rates) if CASES[case][2] > 1 else rates[0]
    parts = [[each.get(name, 0.0) for each in found] for name in ("compute", "wait", "sum")]
    return (
        f"| {case} | {rate:,.0f} | {sum(each['cpu_seconds'] for each in found):.1f} | "
        + " | ".join(", ".join(f"{seconds:.1f}" for seconds in part) for part in parts)
        + " |"
    )


if __name__ == "__main__":
    main()
