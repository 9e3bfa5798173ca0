"""How the native engine scales with threads: `python -m benchmarks.threads MODEL FILE`.

Translates the lines of FILE with one thread and with several, in turns, and prints the medians and
their ratio. The ratio only holds on cores that nothing else uses: the last column is the share of
the cores that this process got while all threads worked.
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from jumok.decoding import DecodingOptions
from jumok.systems.translation.translator import Translator


@dataclass(frozen=True)
class TimedPass:
    """Seconds, and CPU-seconds, of translating all lines once."""

    wall: float
    cpu: float


def timed(translator: Translator, lines: Sequence[str], beam: int) -> TimedPass:
    """Translates the lines once."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in translator.translate_lines(lines, DecodingOptions(beam=beam), alignments=False):
        pass
    return TimedPass(time.perf_counter() - wall, time.process_time() - cpu)


def main() -> None:
    """Prints a row for each number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--lines", type=int, default=2_000, help="the first of FILE")
    parser.add_argument("--rounds", type=int, default=5, help="after one to warm up")
    given = parser.parse_args()
    with given.file.open(encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in islice(stream, given.lines)]
    counts = (1, given.threads)
    translators = {
        count: Translator.load(given.model, engine="native", threads=count) for count in counts
    }
    passes: dict[int, list[TimedPass]] = {count: [] for count in counts}
    for turn in range(given.rounds + 1):  # the first is a warm-up
        for count in counts:
            one = timed(translators[count], lines, given.beam)
            if turn:
                passes[count].append(one)
    print(f"{len(lines):,} lines, beam {given.beam}, load {os.getloadavg()[0]:.1f}")
    print("threads  lines/s  speed-up  cores used")
    pairs = zip(*(passes[count] for count in counts), strict=True)
    ratio = median(alone.wall / together.wall for alone, together in pairs)
    for count, speed_up in zip(counts, (1.0, ratio), strict=True):
        rate = len(lines) / median(one.wall for one in passes[count])
        used = median(one.cpu / one.wall for one in passes[count])
        print(f"{count:7}  {rate:7.0f}  {speed_up:8.2f}  {used:10.2f}")


if __name__ == "__main__":
    main()
