"""Every lab is run by its command, with one seed, and with trainings of two steps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumok.training.learner import Learner
from jumok_lectures import fitting
from jumok_lectures.catalog import LABS
from jumok_lectures.experiments import bottleneck
from tests.cli.calls import call
from tests.cli.shelf import write_corpora, write_data

ELSEWHERE = {
    "analogy": "test_vectors.py",
    "coreference": "test_coreference.py",
    "data": "test_learning.py",
    "position-wise": "test_vectors.py",
    "scores": "test_learning.py",
    "similarity": "test_vectors.py",
}
"""Labs whose own trainings are shorter in another test."""
STEPS = 2


class ShortLearner(Learner):
    """Takes two steps; all further ones have the loss of the second."""

    def update(self, batches, step, rate):
        if step <= STEPS:
            self.last = super().update(batches, step, rate)
        return self.last


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For the results, and the corpora that labs share; $JUMOK_DATA is in it."""
    folder = tmp_path_factory.mktemp("labs")
    write_data(folder / "data")
    write_corpora(folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMOK_DATA", str(folder / "data"))
        patch.setattr(fitting, "Learner", ShortLearner)
        patch.setattr(bottleneck.write, "__defaults__", (400, 600, 10))  # fewer texts
        yield folder


@pytest.mark.parametrize("lab", [lab.name for lab in LABS if lab.name not in ELSEWHERE])
def test_the_command_of_a_lab_works(lab: str, folder: Path):
    short = ["--seeds", 1, "--threads", 1, "--lang", "ko", "--folder", folder]
    done = call("lab", lab, *short, *(["--full"] if lab == "alignment" else []))
    assert done.exit_code == 0, (done.output, done.exception)
    assert (folder / f"{lab}.json").is_file()


def test_the_other_labs_are_run_elsewhere():
    for lab, test in ELSEWHERE.items():
        run = f"{lab.replace('-', '_')}.run("
        assert run in (Path(__file__).parent / test).read_text("utf-8")
