"""`jumok translate --engine native`: the same lines as with torch."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError, JumokError
from tests.systems.test_ordinary_module import transformer

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

LINES = [
    "the cat saw a dog",
    "",
    "The cat saw a dog. The dog saw a cat. The cat slept.",
    "a <b>dog</b> slept",
    "call 555-1234 now, or write to a@b.org",
    "cat " * 90,
    "dog",
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    return transformer(tmp_path_factory.mktemp("engine") / "model")


@pytest.fixture
def lines(tmp_path) -> Path:
    file = tmp_path / "lines.en"
    file.write_text("\n".join(LINES) + "\n", "utf-8")
    return file


def translated(bundle: Path, file: Path, *options: str) -> tuple[list[str], str]:
    done = CliRunner().invoke(app, ["translate", str(bundle), str(file), *options])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--beam", "1"),
        ("--beam", "4"),
        ("--beam", "3", "--length-penalty", "0.3", "--minimum-length", "4"),
        ("--beam", "2", "--maximum-length", "5", "--no-keep"),
        ("--beam", "2", "--split", "length", "--batch", "2"),
        ("--beam", "3", "--nbest", "2"),
        ("--alignments", "--beam", "1"),
        ("--prefix", "고", "--beam", "2"),
    ],
    ids=" ".join,
)
def test_the_lines_are_those_of_torch(bundle, lines, options):
    expected, _ = translated(bundle, lines, *options)
    found, told = translated(bundle, lines, *options, "--engine", "native")
    assert found == expected
    alone = {"--nbest", "--alignments", "--prefix"} & set(options)
    assert (f"left to torch: {len(LINES)}" in told) == bool(alone)


def test_scores_and_tokens_are_those_of_torch(bundle, lines):
    options = "--json", "--beam", "2", "--no-keep"
    (expected, _), (found, _) = (
        translated(bundle, lines, *options, "--engine", engine) for engine in ("torch", "native")
    )
    for ours, theirs in zip(map(json.loads, found), map(json.loads, expected), strict=True):
        assert ours["tokens"] == theirs["tokens"]
        assert ours["score"] == pytest.approx(theirs["score"], abs=1e-4)


@pytest.mark.parametrize(
    "keys",
    [{"positions": "learned", "max_length": 300}, {"positions": "none"}, {"tied": "none"}],
    ids=str,
)
def test_other_models_translate_as_on_torch(lines, tmp_path, keys):
    model = transformer(tmp_path / "model", **keys)
    expected, _ = translated(model, lines, "--beam", "3")
    assert translated(model, lines, "--beam", "3", "--engine", "native")[0] == expected


def test_targets_beyond_the_engines_positions_and_documents_are_left_to_torch(bundle, lines):
    _, told = translated(bundle, lines, "--maximum-length", "5000", "--engine", "native")
    assert f"left to torch: {len(LINES)}" in told
    page = lines.with_suffix(".html")
    page.write_text("<p>the cat saw a dog</p>", "utf-8")
    _, told = translated(bundle, page, "--engine", "native")
    assert "left to torch: 1" in told


def test_a_damaged_bundle_is_refused(bundle, lines, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    tensors = load_file(broken / "model.safetensors")
    tensors.pop("encoder.blocks.0.self_attention.query.weight")
    save_file(tensors, broken / "model.safetensors")
    with pytest.raises(BundleError, match=r"no tensor for encoder\.blocks\.0"):
        translated(broken, lines, "--engine", "native")


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_fewer_bits_translate(bundle, lines, precision):
    options = "--beam", "2", "--no-keep", "--engine", "native", "--precision", precision
    found, told = translated(bundle, lines, *options)
    assert len(found) == len(LINES)
    assert found[1] == ""
    assert "left to torch" not in told


def refused(*arguments: str) -> JumokError:
    error = CliRunner().invoke(app, ["translate", *arguments]).exception
    assert isinstance(error, ConfigError), error
    return error


def test_what_the_engine_cannot_do_is_refused_with_what_to_do(bundle, lines, tmp_path):
    additive = transformer(tmp_path / "additive", score="additive")
    error = refused(str(additive), str(lines), "--engine", "native")
    assert "the native engine does not run this model." in str(error)
    assert "got:      score = 'additive'" in str(error)
    assert "do:       --engine torch" in str(error)
    error = refused(f"{bundle},{bundle}", str(lines), "--engine", "native")
    assert "runs one model, not an ensemble" in str(error)
    error = refused(str(bundle), str(lines), "--precision", "int8")
    assert "int8 needs the native engine." in str(error)
    error = refused(str(bundle), str(lines), "--engine", "native", "--threads", "2")
    assert "the native engine runs on one thread." in str(error)
    error = refused(str(bundle), str(lines), "--engine", "native", "--device", "cuda")
    assert "the native engine runs on the CPU." in str(error)
