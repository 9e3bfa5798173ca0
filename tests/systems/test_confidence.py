"""A translator's confidence is the calibrated one, on torch and on the engine."""

import json
import shutil
from dataclasses import asdict
from math import exp, fsum, log
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.bundle.confidence import Calibration, ReliabilityBin, logit
from jumok.bundle.profile import Profile
from jumok.bundle.reading import read_bundle
from jumok.cli.main import app
from jumok.engine.structures import library
from jumok.errors import BundleError
from jumok.systems.translation.result import Translation, likelihood
from jumok.systems.translation.translator import Translator
from tests.systems.test_ordinary_module import transformer

WORTH = Calibration(
    0.5, -1.0, "that it equals the reference", "60 sentences", 60, 0.3, 0.02,
    (ReliabilityBin(60, 0.4, 0.5),), {"unknown": -3.0}, 0.7, 0.9,
)  # fmt: skip
PROFILE = Profile.of(["the cat sat"] * 3, ["the cat sat"], 1.0)
LINES = ["the cat sat", "I am a student. the dog barked.", ""]


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """A model that the engine serves, too; nobody trained it."""
    return transformer(tmp_path_factory.mktemp("confidence") / "model")


@pytest.fixture
def calibrated(plain, tmp_path) -> Path:
    """A copy of the bundle with a calibration on its card."""
    folder = tmp_path / "model"
    shutil.copytree(plain, folder)
    card = json.loads((folder / "card.json").read_text("utf-8"))
    card["confidence"] = {
        "scale": 0.5, "shift": -1.0, "right": WORTH.right, "on": WORTH.on, "outputs": 60,
        "error_before": 0.3, "error": 0.02,
        "bins": [{"outputs": 60, "confidence": 0.4, "right": 0.5}],
        "weights": {"unknown": -3.0}, "auroc_before": 0.7, "auroc": 0.9,
    }  # fmt: skip
    (folder / "card.json").write_text(json.dumps(card))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["profile"] = asdict(PROFILE)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_the_card_is_read_back_as_it_was_written(calibrated):
    assert read_bundle(calibrated).card.confidence == WORTH


def test_a_wrong_calibration_is_refused(calibrated):
    file = calibrated / "card.json"
    file.write_text(file.read_text("utf-8").replace('"scale"', '"colour"'))
    with pytest.raises(BundleError, match=r"card\.json"):
        read_bundle(calibrated)


def test_the_confidence_is_mapped_and_nothing_else_changes(plain, calibrated):
    own, mapped = (Translator.load(folder, device="cpu") for folder in (plain, calibrated))
    pairs = list(zip(own.translate(LINES), mapped.translate(LINES), strict=True))
    for before, after in pairs:
        assert (before.text, before.score) == (after.text, after.score)
    one = pairs[0]
    values = one[0].token_log_probabilities
    assert one[0].confidence == pytest.approx(exp(fsum(values) / len(values)))
    assert one[1].confidence == pytest.approx(mapped_of(one[0].confidence, LINES[0]))
    # of two sentences it is the lower one
    each = [mapped_of(own.translate([part])[0].confidence, part) for part in LINES[1].split(". ")]
    assert pairs[1][1].confidence <= max(each)
    assert pairs[2][1].confidence is None


def test_an_unknown_word_lowers_it(calibrated):
    known, odd = Translator.load(calibrated, device="cpu").translate(["the cat sat", "the cta sat"])
    mine, its = (exp(fsum(x) / len(x)) for x in map(token_values, (known, odd)))
    lower = logit(odd.confidence) - logit(known.confidence)
    unknown = float(PROFILE.unknown(["the cta sat"])[0])
    assert unknown > 0.2
    assert lower == pytest.approx(
        0.5 * (logit(its) - logit(mine)) - 3.0 * log(1.0 + unknown * len("the cta sat")), rel=1e-4
    )


def token_values(translation: Translation) -> tuple[float, ...]:
    return translation.token_log_probabilities


def mapped_of(own: float, text: str) -> float:
    return WORTH.of(own, {"unknown": log(1.0 + float(PROFILE.unknown([text])[0]) * len(text))})


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
def test_the_engine_says_the_same(plain, calibrated, tmp_path):
    file = tmp_path / "lines.en"
    file.write_text("\n".join(LINES) + "\n", "utf-8")

    def printed(folder: Path) -> list[str]:
        options = ["--confidence", "--engine", "native", "--json"]
        done = CliRunner().invoke(app, ["translate", str(folder), str(file), *options])
        assert done.exit_code == 0, done.output
        return [json.loads(line)["confidence"] for line in done.stdout.splitlines()]

    after = printed(calibrated)
    expected = Translator.load(calibrated, device="cpu", engine="torch").translate(LINES)
    assert after[:2] == pytest.approx([each.confidence for each in expected[:2]], abs=1e-5)
    assert after[2] is None


def test_ensembles_keep_their_own_confidence(plain, calibrated):
    both = Translator.load(calibrated, calibrated, device="cpu").translate(LINES[:1])
    alone = Translator.load(plain, device="cpu").translate(LINES[:1])
    assert both[0].confidence == pytest.approx(alone[0].confidence, abs=1e-4)


def test_loss_weighs_pieces_and_not_lines() -> None:
    long = Translation("x", token_log_probabilities=(log(1 / 2),) * 4)
    short = Translation("y", token_log_probabilities=(log(1 / 32),))
    total = likelihood([long, short])
    assert total.tokens == 5
    # four halvings and five more in one piece: 9 bits over 5 pieces
    assert total.loss == pytest.approx(9 / 5 * log(2))
    assert total.perplexity == pytest.approx(2 ** (9 / 5))
