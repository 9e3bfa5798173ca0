"""Runs labs with two disjoint sets of seeds, and says whose verdict is another with the other set.

    python -m benchmarks.labs
    python -m benchmarks.labs scale positions --seeds 3 --out lab/verdicts

Each lab runs with seeds 1 to N and with seeds N+1 to 2N; the runs are kept in the folder of --out,
and what is there already is not run again. The output is a Markdown table: the outcome of each set,
the state of every condition, and which of them differ.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from jumok.lab.catalog import LABS, find
from jumok.lab.findings import Setting
from jumok.lab.report import markdown_table, record
from jumok.lab.workers import LabWorkers
from jumok.systems.device import cores

Facts = dict[str, Any]


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("labs", nargs="*", help="names of labs (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds in each of the two sets")
    parser.add_argument("--threads", type=int, default=cores(), help="processes that train")
    parser.add_argument("--out", type=Path, default=Path("lab/verdicts"), help="folder of the runs")
    given = parser.parse_args()
    names = given.labs or [lab.name for lab in LABS]
    sets = [tuple(range(1 + n, 1 + n + given.seeds)) for n in (0, given.seeds)]
    rows = []
    with LabWorkers(given.threads) as workers:
        for name in names:
            facts = [_facts(name, seeds, given.out, workers) for seeds in sets]
            rows.append(row(name, *facts))
            print(" | ".join(rows[-1]), flush=True)
    print("\n".join(table(sets, rows)))


def _facts(name: str, seeds: tuple[int, ...], out: Path, workers: LabWorkers) -> Facts:
    """What the JSON of this lab holds with these seeds."""
    file = out / f"{name}-{seeds[0]}-{seeds[-1]}.json"
    if not file.is_file():
        data = os.environ.get("JUMOK_DATA")
        setting = Setting(
            seeds, False, out / ".cache", Path(data) if data else None, workers=workers
        )
        lab = find(name)
        made = record(lab, lab.run(setting), setting)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    facts: Facts = json.loads(file.read_text("utf-8"))
    return facts


def row(name: str, first: Facts, second: Facts) -> list[str]:
    """The lab, its two outcomes, the states of the conditions in both, and what differs."""
    states = [[each["state"] for each in facts["conditions"]] for facts in (first, second)]
    differ = [
        each["name"]
        for each, one, other in zip(first["conditions"], *states, strict=True)
        if one != other
    ]
    outcomes = [facts["outcome"] or "no claim" for facts in (first, second)]
    flips = "yes" if outcomes[0] != outcomes[1] else "no"
    return [name, *outcomes, flips, ", ".join(states[0]), "; ".join(differ) or "none"]


def table(sets: list[tuple[int, ...]], rows: list[list[str]]) -> list[str]:
    """The Markdown table of all labs."""
    seeds = [f"seeds {one[0]} to {one[-1]}" for one in sets]
    columns = ["lab", *seeds, "flips", "conditions, first set", "conditions that differ"]
    return markdown_table(columns, rows)


if __name__ == "__main__":
    main()
