"""RNNs translate on the native engine as on torch, from bundles."""

import json
import subprocess
import sys

import pytest

from jumok.config.recurrent import RecurrentConfig
from jumok.engine.structures import library
from tests.cli.test_engine import LINES, lines, translated
from tests.systems.test_ordinary_module import write_translator

__all__ = ["lines"]  # the fixture

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

KINDS = {
    "additive": {"encoder_layers": 2, "coverage": True},
    "GNMT": {"order": "gnmt", "decoder_layers": 2, "tied": "none", "cell": "lstm"},
    "dot": {"order": "luong", "attention": "dot", "tied": "target"},
    "odd widths": {"dim": 18, "embedding": 12},
    "one vector": {"attention": "none", "context": "every-step"},
}


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_lines_are_those_of_torch(tmp_path, lines, keys):
    bundle = write_translator(
        tmp_path / "model", RecurrentConfig(**({"dim": 32, "embedding": 16} | keys))
    )
    options = (
        "--json",
        "--no-keep",
        "--beam",
        "3",
        *["--alignments"] * (keys.get("attention") != "none"),
    )
    expected, _ = translated(bundle, lines, *options, "--engine", "torch")
    found, told = translated(bundle, lines, *options, "--engine", "native")
    assert "left to torch" not in told
    assert len(found) == len(LINES)
    for ours, theirs in zip(map(json.loads, found), map(json.loads, expected), strict=True):
        assert ours["tokens"] == theirs["tokens"]
        assert ours.get("alignment") == theirs.get("alignment")
        assert ours["score"] == pytest.approx(theirs["score"], abs=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_fewer_bits_translate(tmp_path, lines, precision):
    bundle = write_translator(tmp_path / "model", RecurrentConfig(dim=32, embedding=16))
    found, told = translated(
        bundle, lines, "--no-keep", "--engine", "native", "--precision", precision
    )
    assert len(found) == len(LINES)
    assert "left to torch" not in told


def test_no_torch_is_imported(tmp_path, lines):
    bundle = write_translator(tmp_path / "model", RecurrentConfig(dim=32, embedding=16))
    told = (
        "import sys; from jumok.cli.main import run\n"
        "sys.argv = ['jumok', 'translate', *sys.argv[1:]]\n"
        "try: run()\n"
        "finally: print('torch' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", told, str(bundle), str(lines), "--no-keep"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "False"
    assert len(done.stdout.splitlines()) == len(LINES)
