"""Commands whose writes are refused, or which are killed at one of them."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import attacks
from benchmarks.broken import COMMANDS, FAULTS, Breaker, broken, compiled
from benchmarks.campaign import Campaign


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    library = compiled(tmp_path_factory.mktemp("shim"))
    return library or pytest.skip("the shim needs Linux and a C compiler")


@pytest.mark.parametrize("name", ["translate --json --stream", "translate a document"])
def test_no_part_of_an_output_stands_for_the_whole(name, library, tiny_bundle, tmp_path):
    told = dict(broken(library, tmp_path, tiny_bundle, COMMANDS[name], 0.0, 1))
    assert len(told) == len(FAULTS)
    assert [f"{fault}: {wrong}" for fault, wrong in told.items() if wrong] == []


def run_too_long(*command: object, **_: object) -> None:
    raise subprocess.TimeoutExpired(str(command), 120)


@pytest.mark.parametrize("attack", [attacks.attack_broken, attacks.attack_full])
def test_a_command_that_takes_too_long_is_a_hang(attack, tmp_path, monkeypatch):
    monkeypatch.setattr(attacks, "compiled", lambda folder: folder / "faults.so")
    monkeypatch.setattr(attacks, "missing_compiler", lambda: None)
    monkeypatch.setattr(subprocess, "run", run_too_long)
    areas = list(attack(Campaign(tmp_path, tmp_path, 0.0, 1)))
    assert sum(area.cases for area in areas) >= len(COMMANDS)
    assert [(area.hangs, area.crashes) for area in areas] == [(area.cases, 0) for area in areas]


def test_a_fault_after_which_a_command_takes_too_long_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(Breaker, "calls", lambda breaker: 1)
    monkeypatch.setattr(Breaker, "output", lambda breaker: {})
    monkeypatch.setattr(subprocess, "run", run_too_long)
    told = dict(broken(tmp_path, tmp_path, tmp_path, COMMANDS["look"], 0.0, 1))
    assert len(told) == len(FAULTS)
    assert all("timed out after 120 seconds" in wrong for (wrong,) in told.values())
