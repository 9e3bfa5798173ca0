"""python -m benchmarks [train|decode|start|prepare|report] [--only NAME] [--seconds N] [--core N]

Without a part: all of them, then the report. Results go to benchmarks/results.json and, as tables,
to the terminal and docs/benchmarks.md. A run with --only prints its table and keeps nothing, since
ratios hold within one run alone.
"""

import argparse
import os
import sys

from benchmarks import decode, machine, report, results, train
from benchmarks.errors import BenchmarkError

PARTS = {"train": train.run, "decode": decode.run}


def main() -> int:
    """Run the parts asked for; 1 when something failed."""
    arguments = _arguments()
    try:
        parts = list(PARTS) if arguments.part is None else [arguments.part]
        for part in parts:
            if part != "report":
                _run(part, arguments)
        if arguments.only is None:
            report.write_document()
    except BenchmarkError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


def _run(part: str, arguments: argparse.Namespace) -> None:
    rows = PARTS[part](arguments.core, arguments.seconds, arguments.only)
    described = machine.describe(arguments.core)
    if arguments.only is None:
        results.save(part, described, rows)
    print(f"\n## {part}\n\n{report.markdown(part, {'machine': described, 'rows': rows})}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*PARTS, "report"], help="default: every part")
    parser.add_argument("--only", metavar="NAME", help="only what has a name that begins so")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="CPU-seconds measured a run, default 30"
    )
    parser.add_argument(
        "--core",
        type=int,
        default=max(os.sched_getaffinity(0)),
        help="the core that measured programs are held to, default the last one",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
