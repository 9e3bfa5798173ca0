"""Prints what went wrong on round trips, and a table."""

import argparse
import sys
import time
from collections import Counter

from benchmarks.trips.checks import faults
from benchmarks.trips.writing import trips


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trips", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    given = parser.parse_args()
    begin, done, failed = time.perf_counter(), Counter[str](), Counter[str]()
    for trip in trips(given.count, given.seed):
        if given.only and given.only not in trip.name:
            continue
        found = faults(trip)
        done[trip.format] += 1
        failed[trip.format] += bool(found)
        for fault in found:
            print(f"{trip.name} ({trip.charset}): {fault}")
    print("\n| format | documents | damaged |\n|---|--:|--:|")
    for format, count in sorted(done.items()):
        print(f"| {format} | {count} | {failed[format]} |")
    print(f"{done.total()} documents, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return int(bool(failed.total()))


if __name__ == "__main__":
    sys.exit(main())
