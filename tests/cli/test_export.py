"""`jumok export`: a page of a model, or an error that names what is wrong."""

from functools import partial

import pytest

from jumok.engine import wasm
from jumok.engine.structures import library
from jumok.errors import BundleError, ConfigError
from tests.cli.calls import call, fault
from tests.systems.lm import write_lm
from tests.systems.test_ordinary_module import recurrent, transformer

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")
zig = pytest.mark.skipif(wasm.missing_compiler() is not None, reason="needs zig")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return transformer(tmp_path_factory.mktemp("export") / "model")


refused = partial(fault, "export")


@zig
def test_a_folder_gets_an_index_that_is_not_replaced(model, tmp_path):
    folder = tmp_path / "page"
    words = [model, "--to", "web", "--output", folder, "--title", "<b>mine"]
    done = call("export", *words)
    assert done.exit_code == 0, done.output
    assert [each.name for each in folder.iterdir()] == ["index.html"]
    assert "weights in int8" in done.stderr
    saved = (folder / "index.html").read_text("utf-8")
    assert '"model":"\\u003cb>mine"' in saved
    assert "script-src 'sha256-" in saved
    assert "'wasm-unsafe-eval'" in saved
    error = refused(*words)
    assert isinstance(error, ConfigError)
    assert "the page exists already, and is not replaced." in str(error)


@zig
def test_fewer_bytes_a_weight_make_a_smaller_page(model, tmp_path):
    sizes = []
    for precision in ("int8", "bf16", "fp32"):
        file = tmp_path / f"{precision}.html"
        done = call("export", model, "-o", file, "--precision", precision)
        assert done.exit_code == 0, done.output
        sizes.append(file.stat().st_size)
    assert sizes == sorted(sizes)


def test_what_the_engine_does_not_serve_is_named(tmp_path):
    error = refused(transformer(tmp_path / "model", score="additive"), "-o", tmp_path / "page")
    assert isinstance(error, ConfigError)
    assert "this model cannot be exported to a page." in str(error)
    assert "score = 'additive'" in str(error)
    assert not (tmp_path / "page").exists()


def test_other_models_are_refused(tmp_path):
    error = refused(recurrent(tmp_path / "rnn"), "-o", tmp_path / "page")
    assert "kind = 'rnn'" in str(error)
    error = refused(write_lm(tmp_path / "lm"), "-o", tmp_path / "page")
    assert isinstance(error, BundleError)
    assert "task = 'language-model'" in str(error)


def test_a_file_in_place_of_the_folder_is_refused(model, tmp_path):
    (tmp_path / "page").write_text("")
    assert "this is a file, not a folder." in str(refused(model, "-o", tmp_path / "page"))


def test_without_a_compiler_nothing_is_written(model, tmp_path, monkeypatch):
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "SHIPPED_MODULE", tmp_path / "none.wasm")
    assert "pip install ziglang" in str(refused(model, "-o", tmp_path / "page.html"))
    assert list(tmp_path.iterdir()) == []
