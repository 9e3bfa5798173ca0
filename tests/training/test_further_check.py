"""`train --check`: data of its own that a model is scored on while it is trained further."""

import shutil
from pathlib import Path

import pytest

from jumok.errors import ConfigError, DataError
from jumok.training.run import train
from tests.training.conftest import Recorder
from tests.training.runs import Killed, assert_same_end, killed_at
from tests.training.starts import FAMILIES, earlier, further, labelled, write

CHECKED = {
    "transformer": "file",
    "text": "file",
    "lines": "file",
    "masked": "file",
    "labelled": "file",
    "images": "folder",
}
"""Families, and the key of [data] that names their data in one file or folder."""


def checked_data(family, folder):
    """Data of one file or folder, other than that of training."""
    data = FAMILIES[family](folder, 3)["data"]["train"][0]
    if family != "transformer":
        (path,) = data.values()
        return path
    sides = [Path(file).read_text("utf-8").splitlines() for file in data.values()]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="ko"><seg>{b}</seg></tuv></tu>'
        for a, b in zip(*sides, strict=True)
    )
    tmx = f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>'
    return write(folder / "check.tmx", [tmx])


def model_of(family, folder):
    language = ("data.target_language=ko",) if family == "transformer" else ()
    return train(earlier(family, folder, *language), folder / "runs", Recorder()).model


@pytest.mark.parametrize("mix", [0.0, 0.4])
@pytest.mark.parametrize("family", CHECKED)
def test_what_is_checked_is_scored_as_validation_data_is_and_a_resume_knows_it(
    tmp_path, family, mix
):
    model = model_of(family, tmp_path)
    if not mix:
        (model.parent / "recipe.toml").unlink()  # as of an imported model
    path = checked_data(family, tmp_path / "check")
    columns = 'source_column="en", target_column="ko"' if family == "transformer" else ""
    own = f'data.validation=[{{{CHECKED[family]}="{path}", {columns}}}]'.replace(", }", "}")
    overrides = (f'start.check=["{path}"]', f"start.mix={mix}", own)
    screen = Recorder()
    whole = train(further(family, tmp_path, model, *overrides), tmp_path / "whole", screen)
    assert [record.step for record in screen.validations] == [0, 2, 4]
    for record in screen.validations:
        assert record.earlier == {"loss": record.loss} | record.figures
    assert len({record.loss for record in screen.validations}) == 3
    config = further(family, tmp_path, model, *overrides)
    with pytest.raises(Killed):
        train(config, tmp_path / "cut", killed_at(Recorder, 2))
    shutil.rmtree(model.parent)
    config = further(family, tmp_path, model, *overrides, runs=tmp_path / "cut")
    resumed = train(config, tmp_path / "cut", Recorder(), resume=True)
    assert_same_end(whole.folder, resumed.folder)
    assert [*map(vars, resumed.gains)] == [*map(vars, whole.gains)]
    assert {gain.data for gain in whole.gains} == {"new data", "earlier data"}


def test_a_captioner_has_no_check_and_the_error_says_what_to_name_instead(tmp_path):
    model = model_of("captions", tmp_path)
    config = further("captions", tmp_path, model, 'start.check=["pictures"]')
    with pytest.raises(ConfigError, match=r"this kind of model has no start\.check") as caught:
        train(config, tmp_path / "runs", Recorder())
    assert "--set start.recipe=FILE" in str(caught.value)


def test_a_check_of_a_classifier_that_gets_other_labels_is_refused(tmp_path):
    model = model_of("labelled", tmp_path)
    path = checked_data("labelled", tmp_path / "check")
    config = further("labelled", tmp_path, model, f'start.check=["{path}"]')
    labelled(tmp_path / "new", 2, ("even", "odd", "third"))  # written over the new data
    with pytest.raises(ConfigError, match="cannot be checked") as caught:
        train(config, tmp_path / "runs", Recorder())
    assert "expected: even, odd\n  got:      even, odd, third" in str(caught.value)


def test_labels_to_check_that_the_model_does_not_have_are_named(tmp_path):
    model = model_of("labelled", tmp_path)
    data = labelled(tmp_path / "check", 3, ("even", "odd", "third"))["data"]
    path = data["train"][0]["file"]
    config = further("labelled", tmp_path, model, f'start.check=["{path}"]')
    with pytest.raises(DataError, match="does not know this label") as caught:
        train(config, tmp_path / "runs", Recorder())
    assert "expected: one of even, odd" in str(caught.value)
