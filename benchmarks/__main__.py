"""Benchmarks against other toolkits; see docs/benchmarks.md.

Without a part: all of them. Results go to benchmarks/results.json and, as tables, to the terminal
and docs/benchmarks.md; `report` rewrites the tables. A run with --only prints its table and
stores nothing, because ratios are only valid within one run.
"""

import argparse
import os
import sys
from subprocess import CalledProcessError

from benchmarks import decode, machine, prepare, report, results, start, train
from benchmarks.errors import BenchmarkError
from benchmarks.options import Options

PARTS = {"train": train.run, "decode": decode.run, "start": start.run, "prepare": prepare.run}


def main() -> int:
    """Runs the requested parts; returns 1 if one of them failed, without stopping the others."""
    arguments = _arguments()
    options = Options(
        arguments.core, arguments.seconds, arguments.pairs, arguments.only, arguments.rounds
    )
    failed = 0
    for part in PARTS:
        if arguments.part in (part, None):
            try:
                _run(part, options)
            except (BenchmarkError, CalledProcessError) as error:
                print(f"benchmarks: {part}: {error}", file=sys.stderr)
                failed = 1
    if options.only is None:
        report.write_document()
    return failed


def _run(part: str, options: Options) -> None:
    described = machine.describe(options.core)
    rows = PARTS[part](options)
    if options.only is None:
        results.save(part, described, rows)
    print(f"\n## {part}\n\n{report.markdown(part, {'machine': described, 'rows': rows})}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*PARTS, "report"])
    parser.add_argument("--only", metavar="NAME", help="run only rows whose name begins with NAME")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="CPU-seconds to measure in each training run"
    )
    parser.add_argument("--pairs", type=int, default=300_000, help="smallworld pairs in prepare")
    parser.add_argument("--rounds", type=int, help="of decode (default: 5) and start (default: 9)")
    parser.add_argument(
        "--core",
        type=int,
        default=max(os.sched_getaffinity(0)),
        help="the core that measured programs are held to",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
