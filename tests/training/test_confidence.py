"""Validation: what decodes, and the confidence that is calibrated on its sentences."""

import pytest
from typer.testing import CliRunner

from jumok.bundle.reading import read_bundle
from jumok.cli.main import app
from jumok.engine.native import NativeModel
from jumok.engine.structures import library
from jumok.evaluation.calibration import FEWEST
from jumok.systems.translation.translator import Translator
from jumok.training.run import train


def test_the_card_has_the_calibration_and_the_translator_uses_it(
    tmp_path, make_config, recorder, write_corpus
):
    other = tmp_path / "validation"
    other.mkdir()
    source, target = write_corpus(other)
    given = f'data.validation=[{{source="{source}", target="{target}"}}]'
    config = make_config(given, "validation.decode_pairs=60", "validation.every=12")
    result = train(config, tmp_path, recorder())
    calibration = read_bundle(result.model).card.confidence
    assert calibration is not None
    assert FEWEST <= calibration.outputs <= 60
    assert calibration.on == f"{calibration.outputs} validation sentences"
    assert calibration.right == "a chrF2 of 70 or more against the reference"
    assert sum(each.outputs for each in calibration.bins) == calibration.outputs
    assert "## Confidence" in (result.model / "README.md").read_text("utf-8")
    (translation,) = Translator.load(result.model, device="cpu").translate(["one two three"])
    values = translation.token_log_probabilities
    own = 2.718281828459045 ** (sum(values) / len(values))
    assert translation.confidence == pytest.approx(calibration.of(own), rel=1e-6)
    said = CliRunner().invoke(app, ["info", str(result.model)], env={"COLUMNS": "200"}).output
    assert "calibrated on" in said
    assert "reliability" in said


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize("score", ["scaled-dot", "additive"])
def test_validation_decodes_on_the_engine_where_that_serves_the_model(
    score, tmp_path, make_config, recorder, monkeypatch
):
    searched, whole = [], NativeModel.search
    monkeypatch.setattr(
        NativeModel,
        "search",
        lambda model, sources, *rest: searched.extend(sources) or whole(model, sources, *rest),
    )
    train(make_config("validation.every=12", f"model.score={score}"), tmp_path, recorder())
    assert len(searched) == (3 if score == "scaled-dot" else 0)
