"""Runs labs with disjoint sets of seeds, and says whose verdict is another with another set.

    python -m benchmarks.labs
    python -m benchmarks.labs scale positions --again positions --seeds 3 --out lab/verdicts

Each lab runs with seeds 1 to N and with seeds N+1 to 2N, each set in a folder of its own in that of
--out (1-3, 4-6); what is there already is not run again. Labs that were changed after somebody had
seen both are named by --again, and run with the next N seeds, too. The output is a Markdown table:
the outcome of each set, and the conditions whose state differs. further.json in the folder of the
first set has the same, and keeps what it had of other labs; the page that `jumok lab --folder ...
--page` writes of that folder ends with it. In the first set's JSON a condition whose state differs
becomes undecided.
"""

import argparse
import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from jumok.environment import LANGUAGES
from jumok.systems.device import cores
from jumok_lectures.catalog import LABS, find
from jumok_lectures.findings import Setting, outcome_of
from jumok_lectures.judging import Condition, State
from jumok_lectures.report import (
    FURTHER,
    ConditionRecord,
    FurtherSeeds,
    LabBySeeds,
    LabRecord,
    further_table,
    run,
    settled,
)
from jumok_lectures.text import same
from jumok_lectures.workers import LabWorkers


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("labs", nargs="*", help="names of labs (default: all)")
    parser.add_argument("--again", nargs="*", default=[], help="labs with a third set of seeds")
    parser.add_argument("--seeds", type=int, default=3, help="seeds in each set")
    parser.add_argument("--threads", type=int, default=cores(), help="processes that train")
    parser.add_argument("--out", type=Path, default=Path("lab/verdicts"), help="folder of the runs")
    given = parser.parse_args()
    names = given.labs or [lab.name for lab in LABS]
    sets = [
        tuple(range(1 + number * given.seeds, 1 + (number + 1) * given.seeds))
        for number in range(3 if given.again else 2)
    ]
    folders = [given.out / f"{seeds[0]}-{seeds[-1]}" for seeds in sets]
    further: FurtherSeeds = {"seeds": [list(seeds) for seeds in sets], "labs": []}
    kept = _kept(folders[0] / FURTHER, further, names)
    with LabWorkers(given.threads) as workers:
        for name in names:
            own = zip(sets, folders, strict=True)
            facts = [
                _facts(name, seeds, folder, workers)
                for seeds, folder in islice(own, 3 if name in given.again else 2)
            ]
            further["labs"].append(by_seeds(name, *facts))
            write_json(folders[0] / f"{name}.json", settled(facts[0], further["labs"][-1]))
            print(further["labs"][-1], flush=True)
    print("\n".join(further_table(further, "en")))
    write_json(folders[0] / FURTHER, merged(kept, further))


def _kept(file: Path, further: FurtherSeeds, names: Sequence[str]) -> FurtherSeeds:
    """What the file has of other labs; an error where these ran with other sets of seeds."""
    if not file.is_file():
        return {"seeds": [], "labs": []}
    kept: FurtherSeeds = json.loads(file.read_text("utf-8"))
    kept["labs"] = [each for each in kept["labs"] if each["lab"] not in names]
    pairs = zip(kept["seeds"], further["seeds"], strict=False)
    if kept["labs"] and any(one != other for one, other in pairs):
        raise SystemExit(f"{file} has labs with other sets of seeds: {kept['seeds']}")
    return kept


def merged(kept: FurtherSeeds, further: FurtherSeeds) -> FurtherSeeds:
    """Both, in the order of the labs, with as many sets as any of them has."""
    by_name = {each["lab"]: each for each in (*kept["labs"], *further["labs"])}
    labs = [by_name[lab.name] for lab in LABS if lab.name in by_name]
    sets = max(len(each["outcomes"]) for each in labs)
    return {"seeds": max(kept["seeds"], further["seeds"], key=len)[:sets], "labs": labs}


def _facts(name: str, seeds: tuple[int, ...], folder: Path, workers: LabWorkers) -> LabRecord:
    """What the JSON of this lab holds with these seeds."""
    file = folder / f"{name}.json"
    if not file.is_file():
        data = os.environ.get("JUMOK_DATA")
        cache = folder.parent / ".cache"
        setting = Setting(seeds, False, cache, Path(data) if data else None, workers=workers)
        run(find(name), setting, folder, "en")
    facts: LabRecord = json.loads(file.read_text("utf-8"))
    return facts


def write_json(file: Path, made: object) -> None:
    """Writes it as the labs' other files."""
    text = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
    file.write_text(text, encoding="utf-8")


def by_seeds(name: str, *sets: LabRecord) -> LabBySeeds:
    """The lab's outcome with each set of seeds, and the conditions whose state differs."""
    first = sets[0]
    states = [[state_of(each) for each in facts["conditions"]] for facts in sets]
    return {
        "lab": name,
        "outcomes": [outcome_of(each) for each in states],
        "conditions": len(first["conditions"]),
        "differ": [
            {
                "name": {
                    language: first["text"][language]["conditions"][1][place][0]
                    for language in LANGUAGES
                },
                "states": list(own),
            }
            for place, own in enumerate(zip(*states, strict=True))
            if len(set(own)) > 1
        ],
    }


def state_of(each: ConditionRecord) -> State:
    """What the seeds of this set make of the condition."""
    return Condition(same(each["name"]), each["values"], each["bound"], each["above"]).state


if __name__ == "__main__":
    main()
