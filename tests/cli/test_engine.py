"""`jumok translate` on the native engine: the same lines as with torch, and no torch."""

import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from jumok.config.recurrent import RecurrentConfig
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError, JumokError
from tests.bundle.conftest import sign
from tests.cli.calls import call, fault, imported
from tests.systems.test_ordinary_module import transformer, write_translator

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
SHORT = ("--maximum-length", "30")
"""An untrained model writes on to the limit; whole lines are written with a beam of 1."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    return transformer(tmp_path_factory.mktemp("engine") / "model")


@pytest.fixture(scope="module")
def rnn(tmp_path_factory) -> Path:
    return write_rnn(tmp_path_factory.mktemp("engine") / "rnn")


def write_rnn(folder: Path, **keys: object) -> Path:
    return write_translator(folder, RecurrentConfig(**({"dim": 32, "embedding": 16} | keys)))


@pytest.fixture
def lines(tmp_path) -> Path:
    file = tmp_path / "lines.en"
    file.write_text("\n".join(LINES) + "\n", "utf-8")
    return file


def translated(bundle: Path, file: Path, *options: str) -> tuple[list[str], str]:
    done = call("translate", bundle, file, *options)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--beam", "1"),
        ("--beam", "4", *SHORT),
        ("--beam", "3", "--length-penalty", "0.3", "--minimum-length", "4", *SHORT),
        ("--beam", "2", "--maximum-length", "5", "--no-keep"),
        ("--beam", "2", "--split", "length", "--batch", "2", *SHORT),
        ("--beam", "3", "--nbest", "2", *SHORT),
        ("--alignments", "--beam", "1", *SHORT),
        ("--alignments", "--beam", "3", "--no-keep", *SHORT),
        ("--confidence", "--scores", "--beam", "1", "--no-keep", "--maximum-length", "4"),
        ("--prefix", "고", "--beam", "2", *SHORT),
        ("--sample", "--nbest", "2", "--top-k", "9", "--seed", "3", *SHORT),
        ("--sample", "--prefix", "고", "--temperature", "0.7", "--top-p", "0.9", *SHORT),
        ("--no-repeat-ngram", "2", "--beam", "3", *SHORT),
        ("--no-repeat-ngram", "1", "--beam", "1", *SHORT),
        ("--coverage-penalty", "0.3", "--beam", "2", *SHORT),
    ],
    ids=" ".join,
)
def test_the_lines_are_those_of_torch(bundle, lines, options):
    expected, _ = translated(bundle, lines, *options, "--engine", "torch")
    found, told = translated(bundle, lines, *options)
    assert found == expected
    assert "left to torch" not in told


def test_scores_and_tokens_are_those_of_torch(bundle, lines):
    options = "--json", "--beam", "2", "--no-keep", *SHORT
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
    expected, _ = translated(model, lines, "--beam", "3", *SHORT, "--engine", "torch")
    assert translated(model, lines, "--beam", "3", *SHORT, "--engine", "native")[0] == expected


def test_targets_beyond_the_engines_positions_are_left_to_torch(bundle, lines):
    _, told = translated(bundle, lines, "--maximum-length", "5000", "--engine", "native")
    assert f"left to torch: {len(LINES) - 1}" in told


def test_documents_are_those_of_torch(bundle, lines):
    page = lines.with_suffix(".html")
    page.write_text("<p>the <b>cat</b> saw a dog</p><p>the dog slept</p>", "utf-8")
    expected = translated(bundle, page, "--engine", "torch")
    assert translated(bundle, page, "--engine", "native") == expected


def test_terms_of_a_glossary_are_used_as_on_torch(bundle, lines, tmp_path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("saw\t보았다\ndog\t개\n", "utf-8")
    options = "--glossary", str(terms), "--beam", "2", "--no-keep"
    expected, _ = translated(bundle, lines, *options, "--engine", "torch")
    found, told = translated(bundle, lines, *options, "--engine", "native")
    assert found == expected
    assert found[-1] == "개"
    assert "line 1: the glossary's term saw was not used" in told
    assert "left to torch" not in told


def test_a_damaged_bundle_is_refused(bundle, lines, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(bundle, broken)
    tensors = load_file(broken / "model.safetensors")
    tensors.pop("encoder.blocks.0.self_attention.query.weight")
    save_file(tensors, broken / "model.safetensors")
    sign(broken)
    with pytest.raises(BundleError, match=r"no tensor for encoder\.blocks\.0"):
        translated(broken, lines, "--engine", "native")


@pytest.mark.parametrize("precision", ["bf16", "int8"])
@pytest.mark.parametrize("recurrent", [False, True])
def test_fewer_bits_translate(bundle, rnn, lines, recurrent, precision):
    options = "--beam", "2", "--no-keep", "--engine", "native", "--precision", precision
    found, told = translated(rnn if recurrent else bundle, lines, *options)
    assert len(found) == len(LINES)
    assert found[1] == ""
    assert "left to torch" not in told


def refused(*arguments: str) -> JumokError:
    error = fault("translate", *arguments)
    assert isinstance(error, ConfigError), error
    return error


def test_what_the_engine_cannot_do_is_refused_with_what_to_do(bundle, lines, tmp_path):
    additive = transformer(tmp_path / "additive", score="additive")
    error = refused(str(additive), str(lines), "--engine", "native")
    assert "the native engine does not run this model." in str(error)
    assert "got:      score = 'additive'" in str(error)
    assert "do:       --engine torch" in str(error)
    error = refused(f"{bundle},{additive}", str(lines), "--engine", "native")
    assert "got:      score = 'additive'" in str(error)
    error = refused(str(bundle), str(lines), "--precision", "int8", "--engine", "torch")
    assert "int8 needs the native engine." in str(error)
    error = refused(str(additive), str(lines), "--precision", "int8")
    assert "the native engine does not run this model." in str(error)
    error = refused(str(bundle), str(lines), "--engine", "native", "--device", "cuda")
    assert "the native engine runs on the CPU." in str(error)


def test_what_the_engine_does_not_run_runs_on_torch(lines, tmp_path):
    additive = transformer(tmp_path / "additive", score="additive")
    assert translated(additive, lines) == translated(additive, lines, "--engine", "torch")


@pytest.mark.parametrize(
    "options",
    [
        ("--no-keep",),
        ("--no-keep", "--alignments", "--json"),
        ("--beam", "2", *SHORT),  # a number, a place and an address are searched again
        ("--no-keep", "--nbest", "2", *SHORT),
        ("--no-keep", "--sample", "--top-k", "5", "--top-p", "0.9", "--min-p", "0.1", *SHORT),
        ("--no-keep", "--prefix", "고", "--no-repeat-ngram", "2", *SHORT),
        ("--no-keep", "--coverage-penalty", "0.3", *SHORT),
    ],
    ids=" ".join,
)
def test_the_native_path_imports_no_torch(bundle, lines, options):
    found, heavy = imported({"torch", "jaxtyping"}, "translate", bundle, lines, *options)
    assert heavy == set()
    if "--nbest" in options:
        assert {line.split("\t")[0] for line in found} == set(map(str, range(1, len(LINES) + 1)))
    else:
        assert len(found) == len(LINES)
    if "--no-keep" not in options:
        assert "a@b.org" in found[4]


def test_more_threads_give_the_same_lines_in_the_same_order(bundle, tmp_path):
    file = tmp_path / "many.en"
    file.write_text("".join(f"{line}\n" for line in LINES * 2), "utf-8")
    options = "--json", "--alignments", "--batch", "3", "--beam", "2", "--engine", "native", *SHORT
    alone = translated(bundle, file, *options, "--threads", "1")
    assert translated(bundle, file, *options, "--threads", "2") == alone
    assert len(alone[0]) == 2 * len(LINES)


def test_info_says_what_computes_the_model_and_why(bundle, tmp_path):
    additive = transformer(tmp_path / "additive", score="additive")
    shown = call("info", bundle).stdout
    assert re.search(r"^ *engine +native *$", shown, re.MULTILINE)
    shown = call("info", additive).stdout
    assert re.search(r"^ *engine +torch: score = 'additive' *$", shown, re.MULTILINE)
    told = json.loads(call("info", additive, "--json").stdout)
    assert told["engine"] == {"name": "torch", "why": "score = 'additive'"}


RNNS = {
    "additive": {"encoder_layers": 2, "coverage": True},
    "GNMT": {"order": "gnmt", "decoder_layers": 2, "tied": "none", "cell": "lstm"},
    "dot": {"order": "luong", "attention": "dot", "tied": "target"},
    "odd widths": {"dim": 18, "embedding": 12},
    "one vector": {"attention": "none", "context": "every-step"},
}


@pytest.mark.parametrize("keys", RNNS.values(), ids=RNNS)
def test_the_lines_of_rnns_are_those_of_torch(tmp_path, lines, keys):
    rnn = write_rnn(tmp_path / "model", **keys)
    options = ["--json", "--no-keep", "--beam", "3"]
    options += ["--alignments"] * (keys.get("attention") != "none")
    expected, _ = translated(rnn, lines, *options, "--engine", "torch")
    found, told = translated(rnn, lines, *options, "--engine", "native")
    assert "left to torch" not in told
    assert len(found) == len(LINES)
    for ours, theirs in zip(map(json.loads, found), map(json.loads, expected), strict=True):
        assert ours["tokens"] == theirs["tokens"]
        assert ours.get("alignment") == theirs.get("alignment")
        assert ours["score"] == pytest.approx(theirs["score"], abs=1e-4)


def test_rnns_import_no_torch(rnn, lines):
    found, heavy = imported({"torch"}, "translate", rnn, lines, "--no-keep")
    assert (len(found), heavy) == (len(LINES), set())
