"""What processes wait for: the parts of an update are timed in the real command."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.kills import prepare
from benchmarks.processes import SKIPPED, WORKER, row
from jumok.data.files.run_log import number_in, run_log


def test_the_parts_of_all_updates_but_the_first_are_timed(tmp_path: Path) -> None:
    prepare(tmp_path)
    output, steps = tmp_path / "run", SKIPPED + 4
    subprocess.run(
        [
            *(sys.executable, WORKER, output, str(SKIPPED), "train", "tiny.toml", "--runs", "runs"),
            *("--set", f"training.steps={steps}", "--set", "validation.every=12"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    timed = json.loads((tmp_path / "run.0.json").read_text())
    counted = [number_in(each, "tokens") for each in run_log(tmp_path / "runs" / "tiny").steps]
    assert len(counted) == steps
    assert timed["tokens"] == counted[-1] - counted[SKIPPED - 1]
    assert 0 < timed["compute"] + timed["sum"] < timed["seconds"]
    assert timed["cpu_seconds"] > 0
    assert "wait" not in timed  # one process waits for none


def test_a_row_has_each_process() -> None:
    usual = {"seconds": 2.0, "cpu_seconds": 1.25, "tokens": 100, "sum": 0.1}
    processes = [usual | {"compute": 1.0, "wait": 0.5}, usual | {"compute": 1.3, "wait": 0.2}]
    assert row("two processes", processes) == (
        "| two processes | 50 | 2.5 | 1.0, 1.3 | 0.5, 0.2 | 0.1, 0.1 |"
    )
    assert row("two runs at the same time", processes).startswith(
        "| two runs at the same time | 100 |"
    )
