"""What a resumed run is told when its folder is not what it left, and what its log holds."""

import json
import shutil
from itertools import pairwise

import pytest

from jumok.data.files import atomic
from jumok.data.files.run_log import read_log
from jumok.errors import TrainingError
from jumok.training import checkpoint
from jumok.training.checkpoint import CURRENT, PREVIOUS, Checkpoint
from jumok.training.run import train
from jumok.training.tasks.translation import TranslationTask
from tests.training.runs import Killed, killed_at, records


@pytest.mark.parametrize("log_every", [2, 5])
def test_the_log_of_a_killed_and_resumed_run_is_that_of_an_unbroken_one(
    tmp_path, make_config, recorder, log_every
):
    """A mean over the steps since the last record: some of them were before the checkpoint."""
    config = make_config(
        "training.steps=14", "training.checkpoint_every=3", f"training.log_every={log_every}"
    )
    train(config, tmp_path / "whole", recorder())
    for number, step in enumerate((8, 13)):
        with pytest.raises(Killed):
            train(config, tmp_path / "parts", killed_at(recorder, step), resume=number > 0)
    train(config, tmp_path / "parts", recorder(), resume=True)
    whole, parts = (records(tmp_path / runs / "tiny") for runs in ("whole", "parts"))
    assert parts == whole
    assert len(whole) == 14 // log_every + 3  # validations at 6, 12 and 14


def stopped(tmp_path, make_config, recorder, *overrides):
    """A run that stands at step 10 of 12, its last checkpoint, and the one of step 5 before."""
    config = make_config(*overrides)
    with pytest.raises(Killed):
        train(config, tmp_path, killed_at(recorder, 11))
    return tmp_path / config.name


def refusal(tmp_path, make_config, recorder, *overrides):
    with pytest.raises(TrainingError, match="does not belong to this run") as caught:
        train(make_config(*overrides), tmp_path, recorder(), resume=True)
    return str(caught.value)


@pytest.mark.parametrize("change", ["seed=2", "model.dim=32", "training.learning_rate=0.02"])
def test_the_checkpoint_of_another_run_is_refused(tmp_path, make_config, recorder, change):
    home = stopped(tmp_path, make_config, recorder)
    other = stopped(tmp_path / "others", make_config, recorder, change)
    for part in other.glob("checkpoint*"):
        shutil.copy(part, home)
    text = refusal(tmp_path, make_config, recorder)
    assert f"{home / CURRENT}: " in text
    assert "got:      the checkpoint of a run with a different recipe" in text
    assert "restore the run's own checkpoint" in text


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda saved: saved.run["progress"].update(wisdom=3), "a different run state: wisdom"),
        (lambda saved: saved.run["progress"].pop("worse"), "a different run state: worse"),
        (lambda saved: saved.tensors.pop("master"), "weights of different sizes"),
        (
            lambda saved: saved.tensors.update(extra=saved.tensors["master"].clone()),
            "of different sizes",
        ),
        (
            lambda saved: saved.tensors.update(master=saved.tensors["master"][:-1]),
            "weights of different sizes",
        ),
    ],
)
def test_a_checkpoint_that_this_run_cannot_have_written_is_refused(
    tmp_path, make_config, recorder, change, got
):
    home = stopped(tmp_path, make_config, recorder)
    saved = checkpoint.read(home / CURRENT)
    changed = Checkpoint({name: each.clone() for name, each in saved.tensors.items()}, saved.run)
    change(changed)
    checkpoint.save(home, changed)
    assert got in refusal(tmp_path, make_config, recorder)


def test_a_damaged_checkpoint_is_passed_over_with_a_word_and_the_run_ends_the_same(
    tmp_path, make_config, recorder
):
    whole = stopped(tmp_path / "whole", make_config, recorder)
    home = stopped(tmp_path, make_config, recorder)
    text = (home / CURRENT).read_bytes()
    (home / CURRENT).write_bytes(text.replace(b'"step": 10', b'"step": 11'))
    assert checkpoint.read(home / PREVIOUS).run["progress"]["step"] == 5
    screen = recorder()
    train(make_config(), tmp_path, screen, resume=True)
    train(make_config(), tmp_path / "whole", recorder(), resume=True)
    assert any("Continuing from checkpoint.previous" in said for said in screen.said)
    model = "model/model.safetensors"
    assert (home / model).read_bytes() == (whole / model).read_bytes()
    assert records(home) == records(whole)


def test_a_damaged_log_does_not_stop_a_run(tmp_path, make_config, recorder):
    home = stopped(tmp_path, make_config, recorder)
    lines = (home / "log.jsonl").read_bytes().splitlines(keepends=True)
    (home / "log.jsonl").write_bytes(b"".join([*lines[:2], b"\0\0\0\n", *lines[3:]]))
    screen = recorder()
    train(make_config(), tmp_path, screen, resume=True)
    said = next(text for text in screen.said if "log.jsonl" in text)
    assert said.endswith(
        "1 line is not records of this run and left out (line 3); the rest is kept."
    )
    steps = [line["step"] for line in read_log(home / "log.jsonl") if line["kind"] == "step"]
    assert steps == [1, 2, *range(4, 13)]


def test_a_tokenizer_half_written_is_not_there(tmp_path, make_config, recorder, monkeypatch):
    """A kill between the bytes and the name: the run is resumed all the same."""
    before = atomic.force_to_disk

    def kill(path):
        if "tokenizer.model" in path.name:
            raise Killed
        before(path)

    monkeypatch.setattr(atomic, "force_to_disk", kill)
    with pytest.raises(Killed):
        train(make_config(), tmp_path, recorder())
    monkeypatch.undo()
    assert not (tmp_path / "tiny" / "tokenizer.model").exists()
    assert train(make_config(), tmp_path, recorder(), resume=True).progress.step == 12


class Clock:
    """Time that passes where a test says so: each step takes 5 seconds."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    perf_counter = process_time = monotonic

    def step(self, _):
        self.now += 5.0


def timed(tmp_path, make_config, recorder, monkeypatch, validation):
    """A run of 20 such steps, with validations of so many seconds, and when it was saved."""
    clock, saves = Clock(), []
    monkeypatch.setattr("jumok.training.loop.time", clock)
    validate, save = TranslationTask.validate, checkpoint.save

    def slow(task, model, dtype):
        clock.now += validation
        return validate(task, model, dtype)

    def saved(folder, state, ranks):
        saves.append(state.run["progress"]["seconds"])
        save(folder, state, ranks)

    monkeypatch.setattr(TranslationTask, "validate", slow)
    monkeypatch.setattr(checkpoint, "save", saved)
    config = make_config(
        *("training.steps=9999", f"training.minutes={100 / 60}", "validation.every=9999"),
        *("training.checkpoint_every=9999", "validation.decode_pairs=1"),
    )
    screen = recorder(clock.step)
    train(config, tmp_path, screen)
    return screen, saves


def test_a_run_of_minutes_is_validated_and_saved_on_its_way(
    tmp_path, make_config, recorder, monkeypatch
):
    """Every 5,000 steps were never, in the few minutes that a person had."""
    screen, saves = timed(tmp_path, make_config, recorder, monkeypatch, 0.5)
    assert len(screen.validations) >= 6
    assert len(saves) >= 6
    assert all(later - before < 17.0 for before, later in pairwise([0.0, *saves]))


def test_validations_of_a_run_of_minutes_take_a_tenth_of_its_time(
    tmp_path, make_config, recorder, monkeypatch
):
    """Each takes six seconds of 100: the next waits until they are a tenth of what is over."""
    screen, saves = timed(tmp_path, make_config, recorder, monkeypatch, 6.0)
    assert len(screen.validations) == 3  # after 10, after 60, and at the end
    assert len(saves) >= 6


def test_config_json_and_log_are_plain_json(tmp_path, make_config, recorder):
    home = stopped(tmp_path, make_config, recorder)
    assert json.loads((home / "config.json").read_text("utf-8"))["decisions"]["shares"] == 2


def test_what_a_run_without_a_checkpoint_left_is_made_anew(tmp_path, make_config, recorder):
    left = tmp_path / "tiny"
    for folder in ("scenes", "smallworld"):
        (left / folder).mkdir(parents=True)
    (left / "test.tsv").write_text("of another corpus\n")
    (left / "config.json").write_text('{"recipe": {}, "decisions": {}}')
    train(make_config("training.steps=1"), tmp_path, recorder())
    assert not {"scenes", "smallworld", "test.tsv"} & {each.name for each in left.iterdir()}
