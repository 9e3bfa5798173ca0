"""Damaged bundles on the native engine: used, or refused before C reads anything.

`make sanitize` and tests/kernels/test_sanitized.py run it with every memory access checked.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from jumok.bundle.quantising import write_quantised
from jumok.bundle.reading import WEIGHTS, read_bundle
from jumok.decoding import DecodingOptions
from jumok.engine.structures import library
from jumok.systems.captioner import Captioner
from jumok.systems.language_model import LanguageModel
from jumok.systems.translation.translator import Translator
from tests.bundle.conftest import sign
from tests.engine.test_captioner import KINDS as CAPTIONERS
from tests.engine.test_recurrent import KINDS as RECURRENT
from tests.fuzz.mutating import budgets, run
from tests.fuzz.test_bundles import damage
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.test_ordinary_module import recurrent, transformer

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

BEAM = DecodingOptions(beam=2, maximum_length=5)
GREEDY = replace(BEAM, beam=1)
SIZES = {"dim", "embedding"}

Use = Callable[[Path], None]


def translate(folder: Path) -> None:
    """With alignments, for which given targets are read."""
    translator = Translator.load(folder, engine="native", threads=1)
    found = translator.translate(["the cat saw a dog", "", "dog"], BEAM)
    translator.translate(["cat " * 40], GREEDY)
    if translator.aligns:
        assert all(each.alignment is not None for each in found)


def caption(folder: Path) -> None:
    captioner = Captioner.load(folder, device="cpu", engine="native")
    shape = captioner.reader.shape
    kind = np.float32 if captioner.reads_features else np.uint8
    captioner.caption([np.ones(shape, kind)] * 3, BEAM)
    captioner.caption([np.zeros(shape, kind)], GREEDY)


def score(folder: Path) -> None:
    """Of a short text, and of one beyond the context; and a text that is continued."""
    model = LanguageModel.load(folder, device="cpu", engine="native")
    model.score(["a cat", "the cat saw a dog"])
    "".join(model.generate("the cat saw", max_tokens=12))


def disturb(folder: Path, random: Random) -> None:
    """Changes some of the weights' values, to any numbers, infinite ones and NaN."""
    file = folder / WEIGHTS
    content = bytearray(file.read_bytes())
    first = 8 + int.from_bytes(content[:8], "little")
    for _ in range(random.choice((1, 8, 64))):
        content[random.randrange(first, len(content))] = random.choice((0, 127, 128, 255))
    file.write_bytes(content)
    sign(folder)


def with_int8(folder: Path, bundles: list[Path]) -> list[Path]:
    """The bundles, and the first as int8."""
    exact = read_bundle(bundles[0])
    return [*bundles, write_quantised(folder / "int8", exact, "int8", exact.card)]


def transformers(folder: Path) -> list[Path]:
    return [
        transformer(folder / "sinusoidal"),
        transformer(folder / "learned", positions="learned", max_length=300, tied="none"),
    ]


def recurrent_models(folder: Path) -> list[Path]:
    """Of every order, score and cell."""
    every = enumerate(
        {name: keys for name, keys in RECURRENT.items() if not SIZES & {*keys}}.values()
    )
    return [recurrent(folder / str(number), **keys) for number, keys in every]


def captioners(folder: Path) -> list[Path]:
    return [write_captioner(folder / str(n), **keys) for n, keys in enumerate(CAPTIONERS.values())]


def language_models(folder: Path) -> list[Path]:
    return [write_lm(folder / "lm")]


@pytest.mark.parametrize(
    ("write", "use"),
    [
        (transformers, translate),
        (recurrent_models, translate),
        (captioners, caption),
        (language_models, score),
    ],
    ids=["transformers", "recurrent", "captioners", "language"],
)
@budgets(45)
def test_damaged_bundles_never_reach_the_engine(
    write: Callable[[Path], list[Path]], use: Use, tmp_path: Path, cases: int
) -> None:
    whole = with_int8(tmp_path, write(tmp_path))
    for folder in whole:
        use(folder)
    copy = tmp_path / "model"

    def case(random: Random) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(random.choice(whole), copy)
        (disturb if random.random() < 0.3 else damage)(copy, random)
        use(copy)

    counts = run(f"engine {write.__name__}", cases, case)
    assert counts["error"] > 0, "some damage has to be noticed"
    assert counts["result"] > 0, "some damage has to reach the engine"
