"""Damaged traces: read, shown and explained, or refused."""

import json
import zipfile
from pathlib import Path
from random import Random

from jumok.inspection.explain import explain
from jumok.inspection.page.document import page
from jumok.inspection.trace import HEAD, trace_digest
from jumok.inspection.trace_file import load_trace
from tests.fuzz.mutating import budgets, changed, mutated, run
from tests.inspection.traces import trace


@budgets(100)
def test_damaged_traces(tmp_path: Path, cases: int) -> None:
    whole = tmp_path / "whole.npz"
    trace().save(whole)
    with zipfile.ZipFile(whole) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts.pop(HEAD))
    del head["digest"]
    file = tmp_path / "t.npz"

    def case(random: Random) -> None:
        if random.random() < 0.2:
            file.write_bytes(mutated(whole.read_bytes(), random))
        else:
            write(random)
        loaded = load_trace(file)
        page(loaded)
        explain(loaded, loaded.sites[0], 0)

    def write(random: Random) -> None:
        """With the digest that it should have: a head or an array that lies."""
        ours, arrays = json.loads(json.dumps(head)), dict(parts)
        if random.random() < 0.7:
            ours = changed(ours, random)
        else:
            name = random.choice(list(arrays))
            arrays[name] = mutated(arrays[name], random)
        ours["digest"] = trace_digest(ours, arrays)
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(HEAD, json.dumps(ours))
            for name, part in arrays.items():
                archive.writestr(name, part)

    assert run("trace", cases, case)["error"] > 0, "some damage has to be noticed"
