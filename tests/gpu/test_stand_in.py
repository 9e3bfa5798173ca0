"""Training and decoding on a card that is stood in for: no mixed devices, one wait an update.

The card computes, so its losses, weights and texts are compared with those of the processor.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from inspect import getsourcelines
from pathlib import Path
from typing import Any

import pytest

from jumok.attention import core
from jumok.config.models import SECTIONS
from tests.gpu import planted
from tests.gpu.cases import DECODED, training

SECONDS = 300
ROOT = Path(__file__).parents[2]
CASES = dict(training())
READ = "src/jumok/training/learner.py"
SEARCHES = (
    "src/jumok/decoding/",
    "src/jumok/models/decoder.py",
    "src/jumok/models/recurrent_decode",
)


@pytest.fixture(scope="module")
def found() -> Mapping[str, dict[str, Any]]:
    """What was found in each case, by a process of its own: a device is registered for all."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-m", "tests.gpu.drive"],
        env=os.environ | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {each["name"]: each for each in map(json.loads, run.stdout.splitlines())}


def test_every_kind_of_model_is_tried():
    assert {case.section.kind for case in CASES.values()} == set(SECTIONS)


@pytest.mark.parametrize("name", CASES)
def test_an_update_waits_once_and_learns_what_the_processor_learns(found, name):
    update = found[f"update: {name}"]
    assert not update["error"], update["error"]
    [wait] = update["waits"]
    assert READ in wait
    here, there = update["losses"]
    assert there == pytest.approx(here, rel=1e-5)
    assert update["apart"] < 3e-4  # of a step of 1e-3, which rounding may turn where v is tiny


@pytest.mark.parametrize("name", DECODED)
def test_searches_on_a_card_find_what_the_processor_finds(found, name):
    searched = found[f"decode: {name}"]
    assert not searched["error"], searched["error"]
    here, there = searched["texts"]
    assert here == there
    assert any(here)
    # The searches read what they have found; the models themselves never wait.
    strange = [wait for wait in searched["waits"] if not any(each in wait for each in SEARCHES)]
    assert strange == []


def last_line(function: object) -> str:
    lines, first = getsourcelines(function)
    return f"tests/gpu/planted.py:{first + len(lines) - 1}"


@pytest.mark.parametrize(
    "name", ["number_read", "truth_asked", "boolean_index", "blocking_copy", "list_of_numbers"]
)
def test_a_planted_wait_is_named_by_file_and_line(found, name):
    fault = found[f"planted: {name}"]
    assert not fault["error"]
    [wait] = fault["waits"]
    assert wait.endswith(last_line(planted.FAULTS[name]))


def test_a_planted_mix_of_devices_is_named_by_file_and_line(found):
    assert found["planted: table_of_the_host"]["error"].endswith(
        last_line(planted.table_of_the_host)
    )
    lines, first = getsourcelines(core.softmax_of_allowed)
    [hides] = [number for number, line in enumerate(lines) if "-math.inf" in line]
    assert found["planted: mask_of_the_host"]["error"].endswith(
        f"src/jumok/attention/core.py:{first + hides}"
    )


def test_what_a_card_permits_is_no_fault(found):
    assert (found["planted: no_fault"]["error"], found["planted: no_fault"]["waits"]) == ("", [])
