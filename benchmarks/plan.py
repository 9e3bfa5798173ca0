"""The memory and the time of epoch plans: of whole corpora at once, and in blocks.

    python -m benchmarks.plan --pairs 10000000 100000000 1000000000

The lengths are synthetic, eight bytes a side and pair, in files that are removed at the end (16 GB
for 10^9 pairs). Every plan is made in a process of its own. Memory is the peak of what the process
allocated, apart from mapped files, which the system can drop; time is processor time. A plan of a
whole corpus is what jumok made before it had blocks; it is left out where memory would not suffice.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

import numpy as np

from benchmarks.process import own_memory_peak
from jumok.data.pairs.blocks import BLOCK_PAIRS, StoredLengths
from jumok.data.pairs.sampler import CorpusCursor, CorpusOrder, by_length, by_length_for_shares
from jumok.data.store import Ragged

CHUNK = 10_000_000
MICRO_TOKENS, UPDATE_TOKENS, SHARES, SEED = 1024, 4096, 4, 1
WHOLE_BYTES = 40  # of a pair in a plan of a whole corpus, as measured


class PlanCosts(TypedDict):
    """What `plan` prints: the seconds of each plan, the micro-batches of the last, all blocks."""

    seconds: list[float]
    micros: int
    blocks: int


def write_lengths(folder: Path, pairs: int) -> None:
    """Lengths as of a corpus of sentences, 20 tokens in the middle, the same ones again and again.

    Source and target differ by a fifth in most pairs.
    """
    random = np.random.default_rng(SEED)
    source = np.exp(random.normal(np.log(20), 0.6, min(pairs, CHUNK))).clip(1, 128)
    target = (source * np.exp(random.normal(0.0, 0.2, len(source)))).clip(1, 128)
    for name, lengths in (("source", source), ("target", target)):
        ends, before = np.cumsum(lengths.astype(np.int64)), 0
        with (folder / name).open("wb") as file:
            file.write(np.zeros(1, np.int64).tobytes())
            for first in range(0, pairs, CHUNK):
                file.write((before + ends[: pairs - first]).tobytes())
                before += int(ends[-1])


def plan(folder: Path, whole: bool, blocks: int) -> None:
    """Makes the first plans of an epoch, and prints the processor seconds of each as JSON."""
    source, target = (
        Ragged(np.zeros(0, np.uint16), np.memmap(folder / name, np.int64, "r"))
        for name in ("source", "target")
    )
    start = time.process_time()
    lengths = StoredLengths(source, target)
    size = len(source) if whole else BLOCK_PAIRS
    planner = (
        by_length(MICRO_TOKENS)
        if whole
        else by_length_for_shares(MICRO_TOKENS, UPDATE_TOKENS, SHARES)
    )
    order = CorpusOrder(lengths, planner, SEED, 0, size)
    seconds, micros = [], 0
    for block in range(min(blocks, len(order.blocks))):
        order.restore(CorpusCursor(epoch=0, block=block, micro=0, tokens=0))
        order.draw()
        micros = len(order.plan)
        seconds.append(time.process_time() - start)
        start = time.process_time()
    costs = PlanCosts(seconds=seconds, micros=micros, blocks=len(order.blocks))
    print(json.dumps(costs))


def measured(folder: Path, whole: bool, blocks: int) -> tuple[PlanCosts, float]:
    """What `plan` prints in a process of its own, and the peak of its own memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.plan", "--child", str(folder), str(blocks)]
    command += ["--whole"] if whole else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak = own_memory_peak(process)
        assert process.stdout is not None
        output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"benchmarks.plan: the plan ended with {process.returncode}")
    return json.loads(output), peak


def available() -> int:
    """Bytes of memory that are free or can be freed."""
    rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024 * int(rows["MemAvailable"].split()[0])


def compare(pairs: int, blocks: int, folder: Path) -> None:
    """Prints the rows of the table for corpora of this size."""
    write_lengths(folder, pairs)
    costs, peak = measured(folder, False, blocks)
    seconds = np.mean(costs["seconds"])
    each = pairs / costs["blocks"]
    ours = f"{peak / 1e9:.2f}", f"{seconds / each * 1e7:.2f}"
    if pairs * WHOLE_BYTES > 0.9 * available():
        needs = f"does not fit, about {pairs * WHOLE_BYTES / 1e9:.0f}"
        print(
            f"| {pairs:,} | {costs['blocks']} | {ours[0]} | {needs} | | {ours[1]} | | |", flush=True
        )
        return
    other, whole_peak = measured(folder, True, 1)
    whole = np.mean(other["seconds"]) / pairs * 1e7
    print(
        f"| {pairs:,} | {costs['blocks']} | {ours[0]} | {whole_peak / 1e9:.2f} | "
        f"{whole_peak / peak:.1f} | {ours[1]} | {whole:.2f} | {whole / float(ours[1]):.2f} |",
        flush=True,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan", description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--blocks", type=int, default=10, help="planned of each corpus, at most")
    parser.add_argument(
        "--folder", type=Path, help="for the lengths; the default is a temporary one"
    )
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--whole", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        plan(Path(options.child[0]), options.whole, int(options.child[1]))
        return
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print(
        "| pairs | blocks | GB in blocks | GB as a whole | whole / blocks | "
        "CPU s a 10 M, in blocks | as a whole | whole / blocks |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for pairs in options.pairs:
        folder = Path(tempfile.mkdtemp(dir=options.folder))
        try:
            compare(pairs, options.blocks, folder)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
