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
from jumok.training.tasks.confidence import odd_texts


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
    odd = sum(1 for _ in odd_texts(["a b"] * 60, ["c d"] * 60))
    assert calibration.on == f"60 validation sentences and {odd} odd ones"
    assert set(calibration.weights) <= {"mean", "unknown", "length"}
    assert calibration.right == "a chrF2 of 70 or more against the reference"
    assert sum(each.outputs for each in calibration.bins) == calibration.outputs
    assert "## Confidence" in (result.model / "README.md").read_text("utf-8")
    profile = read_bundle(result.model).config.profile
    assert profile is not None
    translator = Translator.load(result.model, device="cpu")
    (translation,) = translator.translate(["one two three"])
    values = translation.token_log_probabilities
    own = 2.718281828459045 ** (sum(values) / len(values))
    (unknown,) = profile.unknown(["one two three"])
    evidence = translator.judge.evidence(translation, "one two three", float(unknown))
    assert translation.confidence == pytest.approx(calibration.of(own, evidence), rel=1e-6)
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
    decoded = 3 + sum(1 for _ in odd_texts(["a b"] * 3, ["c d"] * 3))
    assert len(searched) == (decoded if score == "scaled-dot" else 0)


def test_odd_texts_are_like_no_training_data():
    sources, references = ["the cat sat", "I am a student."], ["고양이가 앉았다", "나는 학생이다."]
    odd = list(odd_texts(sources, references))
    assert odd == list(odd_texts(sources, references))
    assert {one.reference for one in odd} == {None, *references}
    assert any(one.source in references and one.reference is None for one in odd)
    assert not any(one.source in sources for one in odd)
