"""Damaged bundles on the native engine: translated, or refused before C reads anything.

`make sanitize` and tests/kernels/test_sanitized.py run it with every memory access checked.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import read_bundle
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.systems.translation.translator import Translator
from tests.fuzz.mutating import budgets, run
from tests.fuzz.test_bundles import damage
from tests.systems.test_ordinary_module import transformer

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

BEAM = DecodingOptions(beam=2, maximum_length=5)
GREEDY = replace(BEAM, beam=1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("whole")
    bundles = [
        transformer(folder / "sinusoidal"),
        transformer(folder / "learned", positions="learned", max_length=300, tied="none"),
    ]
    exact = read_bundle(bundles[0])
    return [*bundles, write_quantised(folder / "int8", exact, "int8", exact.card)]


def use(folder: Path) -> None:
    translator = Translator.load(folder, engine="native", threads=1)
    translator.translate(["the cat saw a dog", "", "dog"], BEAM)
    translator.translate(["cat " * 40], GREEDY)


@budgets(45)
def test_damaged_bundles_never_reach_the_engine(
    whole: list[Path], tmp_path: Path, cases: int
) -> None:
    for folder in whole:
        use(folder)
    copy = tmp_path / "model"

    def case(random: Random) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(random.choice(whole), copy)
        damage(copy, random)
        use(copy)

    counts = run("engine", cases, case)
    assert counts["error"] > 0, "some damage has to be noticed"
    assert counts["result"] > 0, "some damage has to reach the engine"
