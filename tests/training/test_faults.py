"""Writes that fail, tear or are lost, at every system call of a run: it ends as an unbroken one.

`tests/faults.c` is loaded before the C library and stands between a run and its disk;
`fault_driver.py` makes the runs.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import jumok
from benchmarks.broken import compiled

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    library = compiled(tmp_path_factory.mktemp("shim"))
    return library or pytest.skip("the shim needs Linux and a C compiler")


def results(shim: Path, folder: Path, share: float) -> tuple[int, list[dict]]:
    """How many calls a run makes, and what came of the faults at `share` of them."""
    paths = [str(Path(jumok.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "LD_PRELOAD": str(shim),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    driver = [sys.executable, str(HERE / "fault_driver.py"), str(shim), str(folder), str(share)]
    done = subprocess.run(driver, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *faults = map(json.loads, done.stdout.splitlines())
    return first["calls"], faults


def assert_all_is_as_unbroken(shim: Path, folder: Path, share: float) -> Counter:
    calls, faults = results(shim, folder, share)
    assert calls > 100
    assert len(faults) == max(1, round(share * 5 * calls))
    wrong = [each for each in faults if each["then"] != "ended" or each["differs"]]
    assert wrong == []
    return Counter((each["fault"], each["first"]) for each in faults)


def test_a_fault_at_some_writes_changes_nothing_of_how_the_run_ends(shim, tmp_path):
    ends = assert_all_is_as_unbroken(shim, tmp_path, 0.03)
    assert {first for _, first in ends} >= {"killed", "said"}


@pytest.mark.nightly
def test_a_fault_at_any_write_changes_nothing_of_how_the_run_ends(shim, tmp_path):
    ends = assert_all_is_as_unbroken(shim, tmp_path, 1.0)
    assert ends["kill", "killed"] == ends.total() // 5


def test_the_shim_fails_what_it_is_told_to_fail(shim, tmp_path):
    """The test of the test: the second write of three is the one that does not come through."""
    code = """
import ctypes, os, sys
shim, folder = ctypes.CDLL(sys.argv[1]), sys.argv[2]
shim.fault_arm(folder.encode(), 3, int(sys.argv[3]))  # open, write, write
file = os.open(folder + "/a", os.O_WRONLY | os.O_CREAT)
for part in (b"one.", b"two.", b"three."):
    try:
        os.write(file, part)
    except OSError as error:
        print(error.errno)
"""
    told = []
    for mode in map(str, range(1, 6)):
        folder = tmp_path / mode
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, str(shim), str(folder), mode],
            env=os.environ | {"LD_PRELOAD": str(shim)},
            capture_output=True,
            text=True,
            check=False,
        )
        told.append((done.returncode, done.stdout.strip(), (folder / "a").read_text()))
    assert told == [
        (-9, "", "one."),
        (-9, "", "one.tw"),
        (0, "28", "one.three."),
        (0, "5", "one.three."),
        (0, "122", "one.two."),  # only writes are counted
    ]
