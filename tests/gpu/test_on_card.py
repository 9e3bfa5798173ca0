"""On a real GPU: what the processor computes, the same bits by recorded passes, one wait an update.

Skipped where there is none. Without pytest: python -m tests.gpu.on_card
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.gpu.cases import DECODED, training

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU with CUDA")
ROOT = Path(__file__).parents[2]
CASES = dict(training())
MADE_BY_THE_HOST = ("positions index", "positions fraction", "positions binary", "fractions")
"""Positions that are copied to the GPU in each pass, which cannot be recorded."""


@pytest.fixture(scope="module")
def found() -> Mapping[str, dict[str, Any]]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-m", "tests.gpu.on_card"],
        env=os.environ | {"PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {each["name"]: each for each in map(json.loads, run.stdout.splitlines())}


def test_dropout_draws_the_masks_of_its_twin(found):
    assert found["dropout"]["alike"] == [True] * 4


@pytest.mark.parametrize("name", CASES)
def test_an_update_is_that_of_the_processor(found, name):
    update = found[f"update: {name}"]
    assert not update["error"], update["error"]
    for here, there in update["losses"]:
        assert there == pytest.approx(here, rel=1e-5)
    assert update["apart"] < 4e-4  # of a step of 1e-3, which rounding may turn where v is tiny
    assert update["waits"] == 1


@pytest.mark.parametrize("name", CASES)
def test_recorded_passes_have_the_bits_of_others(found, name):
    recorded = found[f"recorded: {name}"]
    assert not recorded["error"], recorded["error"]
    assert all(one == other for one, other in recorded["losses"])
    assert recorded["apart"] == 0
    assert (recorded["shapes"] > 0) != name.endswith(MADE_BY_THE_HOST)


@pytest.mark.parametrize("name", DECODED)
def test_searches_find_what_the_processor_finds(found, name):
    here, there = found[f"decode: {name}"]["texts"]
    assert here == there
    assert any(here)
