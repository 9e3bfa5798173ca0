"""Whole runs on a tiny corpus: what they leave behind, how they stop, and what is refused."""

import contextlib
import signal
import tomllib

import pytest
import torch
from safetensors.torch import load_file

from jumok.bundle.reading import read_bundle
from jumok.config import CorpusConfig
from jumok.data.files.run_log import read_log
from jumok.errors import BundleError, ConfigError, DataError, TrainingError
from jumok.systems.translation.translator import Translator
from jumok.training import checkpoint
from jumok.training.folder import RECIPE
from jumok.training.loop import Progress
from jumok.training.run import train
from tests.training.runs import stop_at


def test_a_run_leaves_a_bundle_a_log_and_a_checkpoint(tmp_path, make_config, recorder):
    screen = recorder()
    result = train(make_config(), tmp_path, screen)
    assert result.outcome.reason == "finished"
    assert result.progress.step == 12
    assert result.model == tmp_path / "tiny" / "model"
    bundle = read_bundle(result.model)
    assert [score.name for score in bundle.card.scores] == ["BLEU", "chrF2"]
    assert bundle.card.confidence is None  # there are too few validation sentences
    assert "3 validation sentences, beam 1" in bundle.card.scores[0].on
    lines = list(read_log(tmp_path / "tiny" / "log.jsonl"))
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, 13))
    assert [line["step"] for line in lines if line["kind"] == "validation"] == [6, 12]
    assert checkpoint.read(tmp_path / "tiny" / checkpoint.CURRENT).run["progress"]["step"] == 12
    assert not (tmp_path / "tiny" / "steps").exists()
    translations = Translator.load(result.model).translate(["one two", ""])
    assert len(translations) == 2
    assert translations[1].text == ""
    said = "\n".join(screen.said)
    assert "device: cpu, 1 worker thread, float32 (set in the recipe)" in said
    assert "11 source sentences are held out" in said
    assert "tokenizer: bpe, 48 subwords" in said
    assert "% of a batch" in said


def test_every_validated_model_is_kept_where_that_is_asked(tmp_path, make_config, recorder):
    config = make_config("validation.every=4", "validation.keep=all", "validation.metric=loss")
    result = train(config, tmp_path, recorder())
    kept = sorted((tmp_path / "tiny" / "steps").iterdir())
    assert [folder.name for folder in kept] == ["000004", "000008", "000012"]
    assert [read_bundle(folder).card.steps for folder in kept] == [4, 8, 12]
    weights = [load_file(folder / "model.safetensors") for folder in kept]
    name = next(iter(weights[0]))
    assert not torch.equal(weights[0][name], weights[2][name])
    best = load_file(result.model / "model.safetensors")
    at = result.progress.best_step // 4 - 1
    assert all(torch.equal(best[each], weights[at][each]) for each in best)


def test_only_training_reads_every_pair_twice(tmp_path, make_config, recorder):
    """With weights that do not move, R-Drop trains on another loss and is validated on the same."""
    trained, validated = [], []
    for consistency in (0.0, 5.0):
        screen = recorder()
        still = ("training.learning_rate=1e-20", f"training.consistency={consistency}")
        train(make_config(*still), tmp_path / str(consistency), screen)
        trained.append(screen.steps[0].loss)
        validated.append(screen.validations[0].loss)
    assert trained[0] != pytest.approx(trained[1], rel=1e-4)
    assert validated[0] == validated[1]


RNN = {"kind": "rnn", "dim": 16, "embedding": 16, "dropout": 0.3, "coverage": True}


@pytest.mark.parametrize("model", [None, RNN], ids=["transformer", "rnn"])
def test_a_model_learns_the_tiny_corpus(tmp_path, make_config, recorder, model):
    screen = recorder()
    config = make_config("training.steps=60", "validation.every=60")
    if model is not None:
        config = type(config).model_validate(config.model_dump() | {"model": model})
    train(config, tmp_path, screen)
    assert screen.validations[-1].loss < 0.7 * screen.steps[0].loss


def test_the_handlers_of_the_process_come_back(tmp_path, make_config, recorder):
    before = signal.getsignal(signal.SIGTERM)
    train(make_config("training.steps=3"), tmp_path, recorder(stop_at(2)))
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_finished_run_is_still_finished_and_may_be_made_longer(tmp_path, make_config, recorder):
    train(make_config(), tmp_path, recorder())
    screen = recorder()
    assert train(make_config(), tmp_path, screen, resume=True).outcome.reason == "finished"
    assert screen.steps == []
    longer = train(make_config("training.steps=15"), tmp_path, recorder(), resume=True)
    assert longer.progress.step == 15
    recipe = tomllib.loads((longer.folder / RECIPE).read_text("utf-8"))
    assert recipe["training"]["steps"] == 15


def test_resume_before_the_first_checkpoint_starts_from_the_beginning(
    tmp_path, make_config, recorder
):
    def give_up(step):
        if step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(make_config(), tmp_path, recorder(give_up))
    screen = recorder()
    assert train(make_config(), tmp_path, screen, resume=True).progress.step == 12
    assert screen.steps[0].step == 1


def test_a_run_is_not_overwritten_nor_resumed_with_another_or_a_damaged_recipe(
    tmp_path, make_config, recorder
):
    train(make_config("training.steps=1"), tmp_path, recorder())
    with pytest.raises(ConfigError, match="a run of this name exists already") as caught:
        train(make_config("training.steps=1"), tmp_path, recorder())
    assert "continue it: --resume" in str(caught.value)
    assert f"rm -r {tmp_path / 'tiny'}" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        train(make_config("model.dim=32", "seed=2"), tmp_path, recorder(), resume=True)
    message = str(caught.value)
    assert "model.dim was 16 and is now 32" in message
    assert "seed was 1 and is now 2" in message
    assert "training.steps" not in message
    (tmp_path / "tiny" / "config.json").write_text('{"recipe": {}')
    with pytest.raises(BundleError, match=r"the run's config\.json is damaged"):
        train(make_config(), tmp_path, recorder(), resume=True)


def test_a_folder_that_is_no_run_is_left_alone(tmp_path, make_config, recorder):
    """As ./photos is, after `jumok train photos --runs .`: "steps" may be one of its labels."""
    label = tmp_path / "tiny" / "steps"
    label.mkdir(parents=True)
    (label / "1.png").write_bytes(b"x")
    (tmp_path / "tiny" / "config.json").write_text("{}", "utf-8")
    with pytest.raises(ConfigError, match="is not a run, so nothing is trained in it"):
        train(make_config(), tmp_path, recorder())
    assert (label / "1.png").is_file()
    assert (tmp_path / "tiny" / "config.json").read_text("utf-8") == "{}"


def test_resuming_what_never_was_is_refused(tmp_path, make_config, recorder):
    with pytest.raises(BundleError, match="there is no run to resume"):
        train(make_config(), tmp_path, recorder(), resume=True)


def test_resuming_on_changed_data_is_refused(tmp_path, make_config, recorder):
    config = make_config("training.steps=5")
    train(config, tmp_path, recorder())
    source = config.data.train[0].source
    source.write_text(source.read_text("utf-8").replace("one", "two"), encoding="utf-8")
    with pytest.raises(DataError, match="the data has changed"):
        train(make_config("training.steps=9"), tmp_path, recorder(), resume=True)


def test_a_failed_preparation_does_not_take_the_name(tmp_path, make_config, recorder):
    config = make_config("training.steps=1")
    target = config.data.train[0].target
    whole = target.read_text("utf-8")
    target.write_text(whole + "one more\n", encoding="utf-8")
    with pytest.raises(DataError):
        train(config, tmp_path, recorder())
    target.write_text(whole, encoding="utf-8")
    assert train(config, tmp_path, recorder()).outcome.reason == "finished"


def test_an_absurd_learning_rate_stops_with_an_explanation(tmp_path, make_config, recorder):
    config = make_config(
        "training.learning_rate=1e30", "training.schedule.kind=constant", "training.steps=50"
    )
    screen = recorder()
    with pytest.raises(TrainingError) as caught:
        train(config, tmp_path, screen)
    message = str(caught.value)
    assert "not finite for 5 steps in a row" in message
    assert "training has diverged" in message
    assert "got:      a learning rate of 1e+30" in message
    assert "lower training.learning_rate" in message
    assert screen.steps[-1].skipped >= 4
    assert len(screen.steps) < 20


def test_a_model_that_diverged_is_never_the_best(tmp_path, make_config, recorder):
    config = make_config("training.learning_rate=1e30", "training.steps=2", "validation.every=1")
    with pytest.raises(TrainingError, match="validation loss is not finite"):
        train(config, tmp_path, recorder())
    assert not (tmp_path / "tiny" / "model").exists()


def test_training_stops_when_nothing_improves(tmp_path, make_config, recorder):
    # A learning rate this small changes no validation loss: the first one stays the best.
    config = make_config(
        "training.learning_rate=1e-20",
        "training.steps=100",
        "validation.every=2",
        "validation.patience=3",
    )
    screen = recorder()
    result = train(config, tmp_path, screen)
    assert result.outcome.reason == "no longer improving"
    assert result.progress.step == 8
    assert result.progress.best_step == 2
    assert [record.best for record in screen.validations] == [True, False, False, False]


def test_a_run_whose_loss_falls_goes_on_while_its_score_is_0(tmp_path, make_config, recorder):
    # Another rate than the best keeps BLEU at 0, and lets the loss fall slowly.
    config = make_config(
        "training.learning_rate=1e-4",
        "training.steps=12",
        "validation.metric=bleu",
        "validation.every=2",
        "validation.patience=2",
    )
    screen = recorder()
    result = train(config, tmp_path, screen)
    losses = [record.loss for record in screen.validations]
    assert losses == sorted(losses, reverse=True)
    assert {record.figures["BLEU"] for record in screen.validations} == {0.0}
    assert result.outcome.reason == "finished"
    assert result.progress.best_step == 12


@pytest.mark.parametrize(
    ("best", "value", "improves"),
    [
        ((0.0, 7.0), (0.0, 6.9), True),
        ((0.0, 7.0), (0.0, 7.1), False),
        ((0.02, 7.0), (0.0, 6.9), True),
        ((12.0, 3.0), (12.0, 2.9), True),
        ((12.0, 3.0), (11.9, 2.0), False),
        ((12.0, 3.0), (12.1, 4.0), True),
        ((-3.0, 3.0), (-2.9, 2.9), True),
    ],
)
def test_equal_scores_are_ranked_by_their_loss(best, value, improves):
    progress = Progress(best=best[0], best_loss=best[1])
    assert progress.improves(*value) is improves


def test_a_run_that_has_stopped_early_is_resumed_when_asked(tmp_path, make_config, recorder):
    limits = ["training.learning_rate=1e-20", "validation.every=2", "validation.patience=2"]
    config = make_config("training.steps=100", *limits)
    assert train(config, tmp_path, recorder()).progress.step == 6
    assert train(config, tmp_path, recorder(), resume=True).progress.step == 10


@pytest.mark.parametrize(
    ("metric", "best", "figures"),
    [
        ("bleu", "BLEU", {"BLEU", "chrF"}),
        ("chrf", "chrF", {"BLEU", "chrF"}),
        ("accuracy", "accuracy", {"accuracy", "character accuracy"}),
    ],
)
def test_the_named_metric_decides(tmp_path, make_config, recorder, metric, best, figures):
    config = make_config(f"validation.metric={metric}", "validation.every=4")
    screen = recorder()
    result = train(config, tmp_path, screen)
    assert set(screen.validations[-1].figures) == figures
    highest = max(record.figures[best] for record in screen.validations)
    assert result.progress.best == highest


def test_a_time_budget_ends_a_run(tmp_path, make_config, recorder):
    screen = recorder()
    config = make_config("training.minutes=0.01", "training.steps=100000")
    result = train(config, tmp_path, screen)
    assert result.outcome.reason == "finished"
    assert result.outcome.limit == "training.minutes"
    assert result.progress.seconds >= 0.6
    assert screen.steps[-1].learning_rate < config.training.learning_rate


def test_the_first_of_steps_and_minutes_ends_a_run(tmp_path, make_config, recorder):
    result = train(make_config("training.steps=3", "training.minutes=60"), tmp_path, recorder())
    assert (result.progress.step, result.outcome.limit) == (3, "training.steps")


def test_a_resumed_time_budget_goes_on_where_it_stood(tmp_path, make_config, recorder):
    stopped = train(make_config("training.minutes=5"), tmp_path, recorder(stop_at(3)))
    budget = stopped.progress.seconds + 1  # of the clock, however slow the machine is
    screen = recorder()
    config = make_config(f"training.minutes={budget / 60}", "training.steps=100000")
    finished = train(config, tmp_path, screen, resume=True)
    assert screen.steps[0].seconds >= stopped.progress.seconds
    assert finished.progress.seconds >= budget
    assert finished.progress.seconds < 60, "the minutes of the first call do not count again"


def test_a_folder_that_cannot_be_made_says_where_to_go_instead(tmp_path, make_config, recorder):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="the run's folder cannot be created") as caught:
        train(make_config(), tmp_path / "file", recorder())
    assert "got:      Not a directory" in str(caught.value)
    assert "--runs FOLDER" in str(caught.value)


def test_a_full_disk_ends_the_run_and_spares_the_last_checkpoint(
    tmp_path, make_config, recorder, small_disk
):
    config = make_config("training.steps=1000", "validation.every=1000")

    def fill(step):
        if step == 8:
            with contextlib.suppress(OSError):
                (small_disk / "filler").write_bytes(b"0" * (1 << 20))

    with pytest.raises(TrainingError) as caught:
        train(config, small_disk, recorder(fill))
    assert "run again with --resume" in str(caught.value)
    saved, damage = checkpoint.load(small_disk / "tiny")
    assert damage is None
    assert saved.run["progress"]["step"] == 5


def test_a_disk_that_is_full_from_the_start_is_said(small_disk, make_config, recorder):
    with contextlib.suppress(OSError):
        (small_disk / "filler").write_bytes(b"0" * (1 << 21))
    with pytest.raises(TrainingError, match="could not be read or written") as caught:
        train(make_config(), small_disk, recorder())
    assert "No space left on device" in str(caught.value)


@pytest.mark.parametrize("positions", ["learned", "binary"])
def test_validation_stops_where_the_positions_do(tmp_path, make_config, recorder, positions):
    """An early model does not end its sentences; they are as long as positions let them be."""
    config = make_config("training.steps=2", "validation.every=1", "data.max_tokens=14")
    model = {"positions": positions, "max_length": 16}
    config = config.model_copy(update={"model": config.model.model_copy(update=model)})
    train(config, tmp_path, recorder())
    assert (tmp_path / "tiny" / "model").is_dir()


def test_a_validation_sentence_that_is_too_long_for_the_model_is_no_fault(
    tmp_path, make_config, recorder
):
    source, target = tmp_path / "long.en", tmp_path / "long.back"
    for file in (source, target):
        file.write_text("one two three\n" + "four " * 60 + "\n", encoding="utf-8")
    config = make_config("training.steps=1", "data.max_tokens=14")
    data = {"validation": (CorpusConfig(source=str(source), target=str(target)),)}
    changed = {
        "model": config.model.model_copy(update={"positions": "learned", "max_length": 16}),
        "data": config.data.model_copy(update=data),
    }
    train(config.model_copy(update=changed), tmp_path, recorder())
    assert (tmp_path / "tiny" / "model").is_dir()
