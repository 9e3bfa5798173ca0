"""docs/spacing.py, the kind of model in docs/extending.md, from its recipe to its page."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import jumok
from jumok.errors import BundleError, ConfigError, ModelError
from jumok.kinds import KINDS
from jumok.places import import_string
from tests.cli.calls import call, fault
from tests.extending.test_extending import DOCS, code, trained_and_resumed
from tests.inspection.pages import page_data
from tests.training.conftest import Recorder, write_corpus

RECIPE = """
name = "spacing"
plugins = ["spacing.py"]
[data]
train = [{ file = "rows.en" }]
validation_texts = 15
[tokenizer]
kind = "char"
size = 24
byte_fallback = false
[model]
kind = "spacing"
dim = 32
heads = 2
layers = 1
feedforward = 32
positions = "rotary"
dropout = 0.1
[training]
steps = STEPS
tokens_per_batch = 512
tokens_per_micro_batch = 256
learning_rate = 1e-2
schedule = { warmup = 5 }
label_smoothing = 0.0
checkpoint_every = 3
threads = 1
[validation]
every = EVERY
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder with the plugin and texts; what is registered is gone after the test."""
    monkeypatch.setattr("jumok.plugins.LOADED", {})
    before = dict(KINDS)
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path)
    shutil.copy(DOCS / "spacing.py", tmp_path)
    yield tmp_path
    KINDS.clear()
    KINDS.update(before)


def recipe(steps: int, every: int) -> Path:
    file = Path("spacing.toml")
    file.write_text(RECIPE.replace("STEPS", str(steps)).replace("EVERY", str(every)), "utf-8")
    return file


def test_the_record_in_the_page_is_the_one_of_the_plugin():
    assert (DOCS / "spacing.py").read_text("utf-8").endswith(code("jumok.Kind("))


def test_a_kind_from_outside_trains_loads_answers_and_is_evaluated_and_shown(monkeypatch):
    run = jumok.train(recipe(150, 50), screen=Recorder())
    text = Path("rows.en").read_text("utf-8").splitlines()[5]
    model = jumok.load(run.model)
    assert type(model).__name__ == "Spacer"
    assert model.answer([text.replace(" ", ""), ""]) == [{"text": text}, {"text": ""}]

    trace = jumok.trace(model, text.replace(" ", ""))
    assert (trace.task, trace.output) == ("spacing", text)
    letters = text.replace(" ", "")
    assert len(trace.steps) == len(letters)
    spaces = [place for place, step in enumerate(trace.steps) if step.token == "space"]
    assert len(spaces) == text.count(" ")
    wanted = model.follows(model.characters(text))[0].log_softmax(-1).max(-1).values.tolist()
    found = [step.log_probability for step in trace.steps]
    assert found == pytest.approx(wanted, abs=1e-4)
    forced = jumok.trace(model, letters, letters)
    assert {step.token for step in forced.steps} == {"no space"}
    jumok.page(trace).save("page.html")
    with jumok.changed(model, ["1"]):
        assert jumok.trace(model, letters).steps[0].log_probability != found[0]
    refused = pytest.raises(ModelError, match="this kind of model cannot be recorded")
    with refused, jumok.record(model):
        model.answer([letters])

    monkeypatch.setattr("jumok.plugins.LOADED", {})
    use = ["evaluate", str(run.model), "--data", "rows.en", "--columns", "0", "--json"]
    with pytest.raises(BundleError, match=r"needs the plugin spacing\.py"):
        raise fault(*use)
    KINDS.pop("spacing")
    done = call("--plugin", "spacing.py", *use)
    assert done.exit_code == 0, done.output
    (score,) = json.loads(done.stdout)["scores"]
    assert score["name"] == "F1"
    assert score["value"] > 95
    page = ["look", str(run.model), letters, "--save", "seen.html"]
    done = call("--plugin", "spacing.py", *page)
    assert done.exit_code == 0, done.output
    assert page_data(Path("seen.html").read_text("utf-8"))["task"] == "spacing"


def test_a_kind_from_outside_resumes_with_the_same_bits():
    trained_and_resumed(recipe(6, 3))


def test_f1_is_that_of_the_definition():
    jumok.load_plugin("spacing.py")
    scores = import_string(KINDS["spacing"].system.replace("Spacer", "scores_of"))
    # 2 right, 1 missed, 1 too many: precision and recall are 2 of 3.
    (score,) = scores(torch.tensor([1, 1, 1, 0, 0]), torch.tensor([1, 1, 0, 1, 0]), "here")
    assert score.value == pytest.approx(100 * 2 / 3)


@pytest.mark.parametrize("place", ["nowhere:Else", "jumok.kinds:Nothing", "jumok.kinds"])
def test_a_place_that_names_nothing_is_named(place):
    kind = jumok.Kind(verb="look", reads="text", system=place)
    with pytest.raises(ConfigError, match="there is nothing at this place in the code") as caught:
        kind.entry("system")
    assert repr(place) in str(caught.value)
