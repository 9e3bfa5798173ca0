"""Damaged bundles of every family: loaded and used, or refused."""

import hashlib
import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jumok
from jumok.bundle.reading import CARD, CONFIG, TOKENIZER, WEIGHTS, read_bundle
from jumok.cli.verbs.info import facts_table
from jumok.decoding import DecodingOptions
from tests.fuzz.mutating import budgets, changed, mutated, run
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

SHORT = DecodingOptions(beam=2, maximum_length=4)


def use(system: Any) -> None:
    """As somebody would who has this kind of model."""
    match system.task:
        case "translation":
            system.translate(["the cat", ""], SHORT)
        case "language-model":
            system.score(["a cat"])
        case "masked-lm":
            system.fill(["the ___ sat"])
        case "text-classification":
            system.classify(["the cat"])
        case "image-classification":
            system.classify([np.zeros((8, 10, 3), np.uint8)])
        case "captioning":
            system.caption([np.zeros((3, 8, 8), np.uint8)], SHORT)


@pytest.fixture(scope="module")
def whole(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("whole")
    return [
        tiny_bundle,
        write_lm(folder / "lm"),
        write_masked(folder / "masked"),
        write_text_classifier(folder / "texts"),
        write_classifier(folder / "pictures"),
        write_captioner(folder / "captions"),
    ]


@budgets(60)
def test_damaged_bundles(whole: list[Path], tmp_path: Path, cases: int) -> None:
    for folder in whole:
        use(jumok.load(folder, device="cpu"))
    copy = tmp_path / "model"

    def case(random: Random) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(random.choice(whole), copy)
        damage(copy, random)
        facts_table(read_bundle(copy))
        use(jumok.load(copy, device="cpu"))

    assert run("bundle", cases, case)["error"] > 0, "some damage has to be noticed"


def damage(folder: Path, random: Random) -> None:
    """Changes one file, so that its neighbours do not tell on it."""
    name = random.choice((CONFIG, CONFIG, CONFIG, CARD, WEIGHTS, WEIGHTS, TOKENIZER))
    file = folder / name
    if not file.is_file():
        file = folder / CONFIG
    content = file.read_bytes()
    if name in (CONFIG, CARD) and random.random() < 0.9:
        values = json.loads(file.read_text())
        for _ in range(random.choice((1, 1, 2))):
            values = changed(values, random)
        file.write_text(json.dumps(values))
    elif name == WEIGHTS and random.random() < 0.7:
        length = int.from_bytes(content[:8], "little")
        header = changed(json.loads(content[8 : 8 + length]), random)
        text = json.dumps(header).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    else:
        file.write_bytes(mutated(content, random))
    named = {TOKENIZER: "tokenizer_sha256", WEIGHTS: "weights_sha256"}
    if name in named and random.random() < 0.9 and (folder / name).is_file():
        values = json.loads((folder / CONFIG).read_text())
        values[named[name]] = hashlib.sha256(file.read_bytes()).hexdigest()
        (folder / CONFIG).write_text(json.dumps(values))
