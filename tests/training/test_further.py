"""Every family trained further: step 0 is the model as it was, and a resume changes no bit."""

import json
import shutil
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from jumok.bundle.fingerprint import fingerprint_in
from jumok.bundle.reading import read_bundle
from jumok.config import parse_config
from jumok.data.files.run_log import run_log
from jumok.errors import BundleError, ConfigError, DataError
from jumok.training import checkpoint
from jumok.training.further import FineTuning, fill_matching, prepare_further, sized
from jumok.training.log import ValidationRecord
from jumok.training.run import train
from jumok.training.screen import validation_line
from jumok.training.start import parse
from tests.training.conftest import Recorder
from tests.training.runs import Killed, assert_same_end, killed_at
from tests.training.starts import FAMILIES, earlier, further, labelled

WITHOUT_LABELS = ("transformer", "text")


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory):
    """Trains a model to start from, and its data, into a folder of its own."""

    @cache
    def train_once(family: str, *overrides: str) -> tuple[Path, Recorder]:
        folder, screen = tmp_path_factory.mktemp(family), Recorder()
        assert train(earlier(family, folder, *overrides), folder / "runs", screen).model is not None
        return folder, screen

    return train_once


@pytest.fixture
def start_model(trained_once, tmp_path):
    """The bundle of a model to start from, in tmp_path, and the records of its training."""

    def copied(family: str, *overrides: str) -> tuple[Path, Recorder]:
        folder, screen = trained_once(family, *overrides)
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        recipe = tmp_path / "runs" / "old" / "recipe.toml"
        text = recipe.read_text("utf-8").replace(str(folder), str(tmp_path))
        recipe.write_text(text, encoding="utf-8")
        return tmp_path / "runs" / "old" / "model", screen

    return copied


@pytest.mark.parametrize("family", FAMILIES)
def test_before_the_first_step_it_is_the_model_as_it_was(tmp_path, start_model, family):
    model, before = start_model(family)
    screen = Recorder()
    result = train(further(family, tmp_path, model), tmp_path / "runs", screen)
    first = screen.validations[0]
    assert first.step == 0
    # Exactly the scores of the last validation of its own training, on that data.
    old = before.validations[-1]
    assert first.earlier == {"loss": old.loss} | old.figures
    stored = load_file(result.folder / "steps" / "000000" / "model.safetensors")
    own = load_file(model / "model.safetensors")
    assert stored.keys() == own.keys()
    for name, tensor in own.items():
        assert torch.equal(stored[name], tensor), name
    assert fingerprint_in(result.folder / "steps" / "000000") == fingerprint_in(model)
    assert read_bundle(result.model).card.started_from == f"old ({fingerprint_in(model)})"
    assert [record.step for record in screen.validations] == [0, 2, 4]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_mixed_run_is_resumed_without_the_model_and_ends_in_the_same_bits(
    tmp_path, start_model, family
):
    model, _ = start_model(family)
    runs = {name: tmp_path / name for name in ("whole", "cut")}
    train(further(family, tmp_path, model, "start.mix=0.4"), runs["whole"], Recorder())
    config = further(family, tmp_path, model, "start.mix=0.4")
    with pytest.raises(Killed):
        train(config, runs["cut"], killed_at(Recorder, 2))
    shutil.rmtree(model.parent)
    for stop in (4, None):  # the second time from step 3
        config = further(family, tmp_path, model, "start.mix=0.4", runs=runs["cut"])
        if stop is None:
            train(config, runs["cut"], Recorder(), resume=True)
        else:
            with pytest.raises(Killed):
                train(config, runs["cut"], killed_at(Recorder, stop), resume=True)
    assert_same_end(runs["whole"] / "new", runs["cut"] / "new")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mix", [0.25, 0.5])
def test_the_earlier_data_has_its_share_of_the_targets(tmp_path, start_model, family, mix):
    model, _ = start_model(family)
    batch = (
        "training.tokens_per_batch=6400"
        if family == "captions"
        else "training.tokens_per_batch=480"
    )
    config = further(family, tmp_path, model, f"start.mix={mix}", batch)
    (tmp_path / "home").mkdir()
    task = prepare_further(config, tmp_path / "home", tmp_path / "cache", lambda text: None)
    (share,) = [line for line in task.describe(task.build()) if line.startswith("earlier data")]
    assert float(share.split()[2].rstrip("%")) == pytest.approx(100 * mix, abs=4)
    total = sum(batch.targets for _ in range(10) for batch in next(task.updates)) / 10
    if family == "images":
        assert total == 480


def test_what_a_recipe_leaves_out_comes_from_the_model_and_its_recipe(tmp_path, start_model):
    model, _ = start_model("transformer", "training.optimizer=muon", "seed=3")
    config = further("transformer", tmp_path, model)
    assert config.model.model_dump(mode="json") == read_bundle(model).config.model
    assert (config.data.source_language, config.data.target_language) == ("en", "")
    assert config.tokenizer.kind == "bpe"
    training = config.training
    assert (training.optimizer, training.tokens_per_batch) == ("muon", 300)
    assert training.average.decay == 0.8
    assert config.validation.metric == "loss"
    assert config.validation.patience == 3
    assert config.start.recipe == model.parent / "recipe.toml"
    values = further("transformer", tmp_path, model, "training.learning_rate=0.003")
    assert values.training.learning_rate == 0.003


def test_steps_and_learning_rate_fit_the_new_data(tmp_path, start_model):
    letters = ("tokenizer.kind=char", "tokenizer.size=60")
    once = ("training.steps=110", "validation.every=110", "training.tokens_per_micro_batch=300")
    model, _ = start_model("transformer", *once, *letters)
    values = {
        "name": "new",
        "start": {"model": str(model)},
        "data": FAMILIES["transformer"](tmp_path / "new", 2)["data"],
    }
    fixed = ["training.precision=fp32", "training.threads=1", "validation.patience=1"]
    fixed += ["validation.decode_pairs=1"]
    screen = Recorder()
    result = train(parse(values, fixed), tmp_path / "runs", screen)
    training = result.config.training
    assert training.learning_rate == 0.002  # a fifth of 0.01
    # 109 rows of 2 to 6 words of letters are about 2,500 tokens: ten passes of 300 at once
    assert 70 <= training.steps <= 100
    assert training.schedule.warmup == round(training.steps / 10)
    assert result.config.validation.every == training.steps // 10
    recipe = (result.folder / "recipe.toml").read_text("utf-8")
    assert f"steps = {training.steps}\n" in recipe
    assert "learning_rate = 0.002\n" in recipe
    again = parse(values, fixed, runs=tmp_path / "runs")
    assert again == result.config


def test_minutes_alone_end_a_run_that_has_no_steps(tmp_path):
    new = FAMILIES["text"](tmp_path, 2) | {"name": "new", "training": {"minutes": 5}}
    task = object.__new__(FineTuning)  # of which only these two are read
    task.start, task.updates = SimpleNamespace(steps=1000), SimpleNamespace(epoch_steps=7.0)
    fitted = sized(parse_config(new), task)
    assert fitted.training.step_limit is None
    assert (fitted.training.schedule.warmup, fitted.validation.every) == (7, 7)
    new["training"] |= {"steps": 30}
    assert sized(parse_config(new), task).training.step_limit == 30


def test_the_log_has_both_scores_and_the_plot_reads_them(tmp_path, start_model):
    model, _ = start_model("text")
    result = train(further("text", tmp_path, model), tmp_path / "runs", Recorder())
    log = run_log(result.folder)
    assert log.scores == ["bits per byte", "earlier_loss", "earlier_bits per byte"]
    assert [record["step"] for record in log.validations] == [0, 2, 4]
    card = read_bundle(result.model).card
    assert [score.on.startswith("earlier data: ") for score in card.scores] == [False, True]
    best = next(record for record in reversed(log.validations) if record["best"])
    assert card.scores[1].value == best["earlier_bits per byte"]
    told = json.loads((result.folder / "start.json").read_text("utf-8"))
    assert told["scores"]["loss"] == log.validations[0]["loss"]
    assert told["name"] == "old"


@pytest.mark.parametrize("family", WITHOUT_LABELS)
def test_without_its_recipe_a_model_is_trained_further_and_only_the_new_data_is_scored(
    tmp_path, start_model, family
):
    model, _ = start_model(family)
    (model.parent / "recipe.toml").unlink()
    screen = Recorder()
    result = train(further(family, tmp_path, model), tmp_path / "runs", screen)
    assert all(not record.earlier for record in screen.validations)
    assert any("is not known, so it is not scored" in text for text in screen.said)
    assert len(read_bundle(result.model).card.scores) == len(screen.validations[0].figures)
    config = further(family, tmp_path, model, "start.mix=0.5", 'name="other"')
    with pytest.raises(ConfigError, match="is not known, and cannot be mixed in") as caught:
        train(config, tmp_path / "runs", Recorder())
    assert "--set start.recipe=FILE" in str(caught.value)


def test_earlier_data_that_moved_is_named_and_only_mixing_needs_it(tmp_path, start_model):
    model, _ = start_model("transformer")
    (tmp_path / "old" / "a.en").rename(tmp_path / "old" / "moved.en")
    screen = Recorder()
    train(further("transformer", tmp_path, model), tmp_path / "runs", screen)
    assert any(
        "the earlier data cannot be read, so it is not scored" in text for text in screen.said
    )
    mixed = further("transformer", tmp_path, model, "start.mix=0.5", 'name="other"')
    with pytest.raises(DataError, match=r"a\.en"):
        train(mixed, tmp_path / "runs", Recorder())


def test_another_recipe_names_the_earlier_data(tmp_path, start_model):
    model, _ = start_model("transformer")
    recipe = (model.parent / "recipe.toml").rename(tmp_path / "moved.toml")
    config = further("transformer", tmp_path, model, f'start.recipe="{recipe}"', "start.mix=0.5")
    screen = Recorder()
    train(config, tmp_path / "runs", screen)
    assert set(screen.validations[0].earlier) == {"loss", "BLEU", "chrF"}


def test_a_classifier_with_other_labels_gets_a_new_output_layer(tmp_path, start_model):
    model, _ = start_model("labelled")
    new = labelled(tmp_path / "three", 2, ("even", "odd", "third"))["data"]
    file = new["train"][0]["file"]
    config = further("labelled", tmp_path, model)
    data = config.data.model_copy(
        update={"train": (config.data.train[0].model_copy(update={"file": Path(file)}),)}
    )
    config = config.model_copy(update={"data": data})
    screen = Recorder()
    result = train(config, tmp_path / "runs", screen)
    assert read_bundle(result.model).config.labels == ("even", "odd", "third")
    assert any("a new output layer for the labels even, odd, third: 2" in s for s in screen.said)
    own = load_file(model / "model.safetensors")
    at_first = load_file(result.folder / "steps" / "000000" / "model.safetensors")
    assert at_first["output.weight"].shape == (3, 16)
    assert torch.equal(at_first["output.weight"][:2], own["output.weight"])
    for name, tensor in own.items():
        assert name.startswith("output.") or torch.equal(at_first[name], tensor), name
    start = config.start.model_copy(update={"mix": 0.5})
    mixed = config.model_copy(update={"start": start, "name": "mixed"})
    with pytest.raises(ConfigError, match="other labels than the new data") as caught:
        train(mixed, tmp_path / "runs", Recorder())
    assert "expected: even, odd\n  got:      even, odd, third" in str(caught.value)


def test_earlier_data_with_other_labels_than_the_model_is_refused(tmp_path, start_model):
    model, _ = start_model("labelled")
    labelled(tmp_path / "old", 1, ("even", "odd", "third"))  # written over the earlier data
    with pytest.raises(ConfigError, match="does not have the labels that the model was trained"):
        train(further("labelled", tmp_path, model), tmp_path / "runs", Recorder())


def test_rows_of_an_output_layer_follow_their_labels():
    layer = torch.nn.Module()
    layer.output = torch.nn.Linear(2, 3)
    before = layer.output.weight.detach().clone()
    weights = {
        "output.weight": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "output.bias": torch.ones(2),
    }
    fill_matching(layer, weights, ("b", "a"), ("a", "b", "c"))
    assert layer.output.weight[:2].tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert torch.equal(layer.output.weight[2], before[2])


def test_a_model_that_changed_before_the_first_checkpoint_is_refused(tmp_path, start_model):
    model, _ = start_model("text")
    home = tmp_path / "runs" / "new"
    with pytest.raises(Killed):
        train(further("text", tmp_path, model), tmp_path / "runs", killed_at(Recorder, 1))
    for left in (checkpoint.CURRENT, checkpoint.PREVIOUS):
        (home / left).unlink(missing_ok=True)
    shutil.rmtree(model.parent)
    start_model("text", "seed=2")
    config = further("text", tmp_path, model, runs=tmp_path / "runs")
    with pytest.raises(BundleError, match="has changed since the run began"):
        train(config, tmp_path / "runs", Recorder(), resume=True)


@pytest.mark.parametrize(
    ("family", "batch", "mix", "text"),
    [
        ("text", 300, 0.01, "start.mix = 0.01 of a batch of 288 is less than one window"),
        ("captions", 300, 0.1, "a batch is too small for a share of 10.0%"),
    ],
)
def test_a_share_of_less_than_one_example_is_refused(
    tmp_path, start_model, family, batch, mix, text
):
    model, _ = start_model(family)
    changes = f"start.mix={mix}", f"training.tokens_per_batch={batch}"
    with pytest.raises(ConfigError) as caught:
        train(further(family, tmp_path, model, *changes), tmp_path / "runs", Recorder())
    assert text in str(caught.value)


def test_a_model_trained_further_twice_names_its_last_start(tmp_path, start_model):
    model, _ = start_model("transformer")
    second = train(further("transformer", tmp_path, model), tmp_path / "runs", Recorder()).model
    config = further("transformer", tmp_path, second, 'name="third"', "start.mix=0.5")
    screen = Recorder()
    third = train(config, tmp_path / "runs", screen).model
    assert read_bundle(third).card.started_from == f"new ({fingerprint_in(second)})"
    assert screen.validations[0].earlier["loss"] == screen.validations[0].loss  # the same data


def test_the_line_of_a_validation_names_both_data():
    figures, before = {"BLEU": 31.5}, {"loss": 1.25, "BLEU": 44.1}
    record = ValidationRecord(8, 2.5, figures, True, 60.0, 3.0, before)
    assert validation_line(record) == (
        "step      8  validation: loss 2.500  BLEU 31.50  "
        "earlier data: loss 1.25  BLEU 44.10  (3.0 s)  best so far"
    )
    assert record.named == {"bleu": 31.5, "earlier_loss": 1.25, "earlier_bleu": 44.1}
