"""A model that has learnt nothing is known by what chance would score."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from jumok.bundle.card import Score
from jumok.cli.main import app
from jumok.cli.verbs import train as command
from jumok.training import baselines
from jumok.training.run import train


def test_texts_below_one_of_a_hundred_are_chance():
    low, enough = (Score("BLEU", value, on="7 sentences") for value in (0.994, 1.0))
    assert baselines.of_text(low) == "BLEU is 0.99 of 100 on 7 sentences"
    assert baselines.of_text(enough) is None


def test_a_classifier_must_beat_the_most_frequent_label():
    truth = np.array([0, 1, 1, 1])
    assert baselines.of_labels(75.1, ("a", "b"), truth) is None
    assert baselines.of_labels(75.0, ("a", "b"), truth) == (
        "accuracy is 75.0 %, and always predicting 'b' would reach 75.0 %"
    )


def test_a_language_model_must_beat_the_frequencies_of_tokens():
    tokens = np.array([5, 5, 9, 9])
    assert baselines.of_next_token(math.log(2) - 0.01, tokens) is None
    assert "would reach 0.69" in baselines.of_next_token(math.log(2) + 0.01, tokens)


def test_a_masked_model_must_beat_the_most_frequent_token():
    tokens = np.array([5, 5, 5, 9])
    assert baselines.of_guesses(75.1, tokens) is None
    assert "would reach 75.0 %" in baselines.of_guesses(75.0, tokens)


@pytest.mark.parametrize(("rate", "steps", "learnt"), [("1e-20", 20, False), ("0.01", 150, True)])
def test_a_run_keeps_whether_its_best_model_has_learnt(
    tmp_path, make_config, recorder, rate, steps, learnt
):
    config = make_config(
        *(f"training.steps={steps}", f"training.learning_rate={rate}", "validation.every=250"),
        *("validation.decode_pairs=11", "validation.metric=bleu"),
        "training.tokens_per_micro_batch=300",
    )
    result = train(config, tmp_path, recorder())
    assert (result.progress.untrained is None) == learnt
    again = train(config, tmp_path, recorder(), resume=True)
    assert again.progress.untrained == result.progress.untrained


@pytest.mark.parametrize(
    ("budget", "longer"),
    [("training.steps=2", "training.steps=10"), ("training.minutes=0.01", "training.minutes=0.05")],
)
def test_a_model_that_has_learnt_nothing_is_called_so(
    tmp_path, monkeypatch, write_corpus, budget, longer
):
    source, target = write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = [
        *("train", "--source", str(source), "--target", str(target), "--name", "short"),
        *("--set", budget, "--set", "training.threads=1", "--set", "training.learning_rate=1e-20"),
        *("--set", "model.dim=16", "--set", "model.encoder_layers=1"),
    ]
    monkeypatch.setattr(command.sys, "argv", ["jumok", *arguments])
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "This model has learnt next to nothing: BLEU is 0.0" in text
    assert f"do: train longer: jumok train --source {source}" in text
    assert f"--set {longer} --resume" in text
    assert "check that the data is aligned" in text
