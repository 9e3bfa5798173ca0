"""The commands after a training, for every kind of model, and the report of its run."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.cli import way_in
from jumok.cli.main import app
from tests.inspection.pages import inside
from tests.interop.bert import bert, save
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_pictures
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

LOG = [
    {"kind": "step", "step": 10, "loss": 3.5, "seconds": 60.0, "learning_rate": 0.001},
    {"kind": "validation", "step": 20, "loss": 2.0, "best": True, "seconds": 120.0, "bleu": 31.0},
]


def run_around(bundle: Path, folder: Path) -> Path:
    """The folder of a run with this bundle, and its log."""
    shutil.copytree(bundle, folder / "model")
    (folder / "config.json").write_text("{}")
    (folder / "recipe.toml").write_text('name = "a"\n')
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LOG))
    return folder / "model"


@pytest.mark.parametrize(
    ("write", "given", "used"),
    [
        (write_lm, "a b", "jumok generate M 'a b'"),
        (write_masked, "a [MASK]", "echo 'a [MASK]' | jumok fill M"),
        (write_text_classifier, "it's", """echo 'it'"'"'s' | jumok classify M"""),
        (write_classifier, "a b.png", "jumok classify M 'a b.png'"),
        (write_captioner, "a.png", "jumok caption M a.png"),
    ],
)
def test_each_kind_has_its_commands(tmp_path, monkeypatch, write, given, used):
    monkeypatch.chdir(tmp_path)
    write(Path("M"))
    look = f"jumok look M {shlex.quote(given)}" if given.endswith("png") else "jumok look M"
    assert way_in.commands("M", given) == {"look": look, "use": used, "serve": "jumok serve M"}


def test_an_encoder_is_looked_at_and_served(tmp_path):
    folder = save(bert().bert, tmp_path / "a b")
    told = way_in.commands(folder, program="py/jumok")
    assert told == {"look": f"py/jumok look '{folder}'", "serve": f"py/jumok serve '{folder}'"}


@pytest.mark.parametrize("write", [write_lm, write_masked, write_text_classifier])
def test_the_command_for_a_text_works(tmp_path, write):
    """The words of the command, with its text as the input where it is piped."""
    model = write(tmp_path / "model")
    use = way_in.commands(model, "the [MASK]" if write is write_masked else "the cat")["use"]
    piped, _, command = use.rpartition(" | ")
    words = shlex.split(command)
    done = CliRunner().invoke(app, words[1:], input=" ".join(shlex.split(piped)[1:]))
    assert done.exit_code == 0, done.output
    assert done.output.strip()


@pytest.mark.parametrize("write", [write_classifier, write_captioner])
def test_the_command_for_an_image_works(tmp_path, write):
    picture = write_pictures(tmp_path / "pictures", 1)[0]
    use = way_in.commands(write(tmp_path / "model"), str(picture))["use"]
    done = CliRunner().invoke(app, shlex.split(use)[1:])
    assert done.exit_code == 0, done.output


def test_a_bundle_knows_its_run_and_the_page_tells_it(tmp_path, tiny_bundle):
    model = run_around(tiny_bundle, tmp_path / "run")
    told = way_in.report_of(model, "the cat")
    assert told.log.name == "run"
    assert told.parameters > 1000
    assert told.commands["look"] == f"jumok look {model}"
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["look", str(model), "the cat", "--save", str(page)])
    assert done.exit_code == 0, done.output
    assert '"run":{"name":"run","steps":20,"minutes":2.0,"best":20' in inside(
        page.read_text("utf-8")
    )


def test_without_a_run_or_its_log_there_is_no_report(tmp_path, tiny_bundle):
    assert way_in.report_of(tiny_bundle) is None
    model = run_around(tiny_bundle, tmp_path / "run")
    (tmp_path / "run" / "log.jsonl").unlink()
    assert way_in.report_of(model) is None
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["look", str(model), "the cat", "--save", str(page)])
    assert done.exit_code == 0, done.output
