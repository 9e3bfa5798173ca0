"""Commands whose writes are refused, or which are killed at one of them."""

from pathlib import Path

import pytest

from benchmarks.broken import COMMANDS, FAULTS, broken, compiled


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    library = compiled(tmp_path_factory.mktemp("shim"))
    return library or pytest.skip("the shim needs Linux and a C compiler")


@pytest.mark.parametrize("name", ["translate --json --stream", "translate a document"])
def test_no_part_of_an_output_stands_for_the_whole(name, library, tiny_bundle, tmp_path):
    told = dict(broken(library, tmp_path, tiny_bundle, COMMANDS[name], 0.0, 1))
    assert len(told) == len(FAULTS)
    assert [f"{fault}: {wrong}" for fault, wrong in told.items() if wrong] == []
