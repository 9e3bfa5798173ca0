"""`jumok export`: a page of a model, or an error that names what is wrong."""

from functools import partial
from typing import get_args, get_type_hints

import pytest

from jumok.bundle.reading import read_bundle
from jumok.cli.quality import held_out
from jumok.cli.verbs.ship.export import export
from jumok.engine import wasm
from jumok.engine.structures import library
from jumok.errors import ConfigError, DataError
from jumok.export.catalog import FORMATS
from tests.cli.calls import call, fault
from tests.systems.lm import write_lm
from tests.systems.pictures import GIVEN, STACK, write_captioner
from tests.systems.test_ordinary_module import transformer
from tests.systems.untrained import write_classifier, write_masked, write_rnn, write_text_classifier

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
    assert f"index.html: {(folder / 'index.html').stat().st_size / 1e6:.2f} MB" in done.stderr
    saved = (folder / "index.html").read_text("utf-8")
    assert '"model":"\\u003cb>mine"' in saved
    assert "script-src 'sha256-" in saved
    assert "'wasm-unsafe-eval'" in saved
    error = refused(*words)
    assert isinstance(error, ConfigError)
    assert "the output exists already, and is not replaced." in str(error)


@zig
def test_fewer_bytes_a_weight_make_a_smaller_page(model, tmp_path):
    sizes = []
    for precision in ("int8", "bf16", "fp32"):
        file = tmp_path / f"{precision}.html"
        done = call("export", model, "--to", "web", "-o", file, "--precision", precision)
        assert done.exit_code == 0, done.output
        sizes.append(file.stat().st_size)
    assert sizes == sorted(sizes)


def test_what_the_engine_does_not_serve_is_named(tmp_path):
    error = refused(
        transformer(tmp_path / "model", score="additive"), "--to", "web", "-o", tmp_path / "page"
    )
    assert isinstance(error, ConfigError)
    assert "this model cannot be exported to web, which is read by any browser." in str(error)
    assert "score = 'additive'" in str(error)
    assert not (tmp_path / "page").exists()


def test_other_models_are_refused(tmp_path):
    error = refused(write_masked(tmp_path / "masked"), "--to", "web", "-o", tmp_path / "page")
    assert "a page is for translation, captioning, language-model, " in str(error)
    assert ", and this model for masked-lm" in str(error)
    given = write_captioner(tmp_path / "given", encoder=GIVEN)
    error = refused(given, "--to", "web", "-o", tmp_path / "page")
    assert "encoder.kind = 'given'" in str(error)
    blocks = write_captioner(tmp_path / "blocks", decoder=STACK | {"score": "additive"})
    error = refused(blocks, "--to", "web", "-o", tmp_path / "page")
    assert "score = 'additive'" in str(error)


KINDS = write_lm, write_captioner, write_rnn, write_text_classifier, write_classifier


@zig
@pytest.mark.parametrize("write", KINDS)
def test_other_kinds_have_pages_too(tmp_path, write):
    file = tmp_path / "page.html"
    done = call("export", write(tmp_path / "model"), "--to", "web", "-o", file)
    assert done.exit_code == 0, done.output
    assert '"task":' in file.read_text("utf-8")


def test_without_a_format_those_are_listed_that_hold_the_model(model, tmp_path):
    done = call("export", model)
    assert done.exit_code == 0, done.output
    assert "yes" in done.output
    listed = call("export", write_masked(tmp_path / "masked")).output
    assert "a page is for" in " ".join(listed.split())
    assert "--to and --output" in str(refused(model, "--to", "web"))


def test_damaged_data_is_an_error_and_missing_data_is_not(tmp_path):
    """What the model loses is measured on data of its run, where there is some."""
    bundle = read_bundle(transformer(tmp_path / "run" / "model"))
    assert held_out(bundle) == ()
    pairs = tmp_path / "run" / "test.tsv"
    pairs.write_text("the cat\tdie Katze\n", "utf-8")
    head = 'name = "a"\n[data]\nsource_language = "en"\n[[data.train]]\n'
    recipe = f'{head}source = "{tmp_path}/a.en"\ntarget = "{tmp_path}/a.ko"\n'
    (tmp_path / "run" / "recipe.toml").write_text(recipe, "utf-8")
    assert held_out(bundle) == (), "the recipe may be of another model"
    (tmp_path / "run" / "config.json").write_text("{}", "utf-8")
    assert held_out(bundle) == (("the cat", "die Katze"),)
    pairs.write_bytes(b"the \xff cat\tdie Katze\n")
    with pytest.raises(DataError, match=r"test\.tsv"):
        held_out(bundle)


def test_the_option_knows_every_format():
    named = get_type_hints(export)["to"]
    assert [name for kind in get_args(named) for name in get_args(kind)] == [*FORMATS]


def test_a_file_in_place_of_the_folder_is_refused(model, tmp_path):
    (tmp_path / "page").write_text("")
    assert "this is a file, not a folder." in str(
        refused(model, "--to", "web", "-o", tmp_path / "page")
    )


def test_without_a_compiler_nothing_is_written(model, tmp_path, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "SHIPPED_MODULE", tmp_path / "none.wasm")
    assert "pip install ziglang" in str(refused(model, "--to", "web", "-o", tmp_path / "page.html"))
    assert list(tmp_path.iterdir()) == []
