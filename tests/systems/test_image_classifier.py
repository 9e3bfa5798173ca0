"""A loaded classifier of pictures."""

from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.errors import BundleError, DataError
from jumok.systems.image_classifier import ImageClassification
from tests.data.painted import paint
from tests.systems.untrained import write_classifier


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_classifier(tmp_path / "model")


def test_a_bundle_becomes_a_classifier(bundle: Path) -> None:
    assert isinstance(jumok.load(bundle), ImageClassification)


def test_every_picture_gets_its_labels_likeliest_first(bundle: Path, tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 1)
    files = [folder / label / "0000.png" for label in ("red", "green", "blue")]
    found = jumok.load(bundle).classify(files, batch_size=2)
    for one in found:
        values = list(one.probabilities.values())
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1.0)
        assert next(iter(one.probabilities)) == one.label
        assert one.probability == values[0]
    alone = [jumok.load(bundle).classify([file])[0] for file in files]
    for one, other in zip(found, alone, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def test_pixels_and_files_are_taken(bundle: Path, tmp_path: Path) -> None:
    folder = paint(tmp_path / "all", 1)
    system = jumok.load(bundle)
    pixels = np.full((30, 20, 3), 120, dtype=np.uint8)
    assert len(system.classify([str(folder / "red" / "0000.png"), pixels])) == 2
    assert system.classify([]) == []


def test_a_missing_picture_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.png: there is no such file"):
        jumok.load(bundle).classify([tmp_path / "none.png"])


def test_an_ensemble_averages_probabilities(bundle: Path, tmp_path: Path) -> None:
    other = write_classifier(tmp_path / "other", seed=2)
    pixels = [np.random.default_rng(1).integers(0, 256, (8, 10, 3), dtype=np.uint8)]
    one, two, both = (
        jumok.load(*folders).classify(pixels)[0].probabilities
        for folders in ([bundle], [other], [bundle, other])
    )
    assert both == pytest.approx({label: (one[label] + two[label]) / 2 for label in one})


def test_models_of_other_labels_do_not_go_together(bundle: Path, tmp_path: Path) -> None:
    other = write_classifier(tmp_path / "other", labels=("cat", "dog", "owl"))
    with pytest.raises(BundleError, match="these models do not go together"):
        jumok.load(bundle, other)
