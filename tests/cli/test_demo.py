"""The demo from nothing to its report, in seconds instead of minutes."""

import re

import pytest
from typer.testing import CliRunner

from jumok import shipped
from jumok.cli.main import app
from jumok.cli.verbs import demo
from jumok.config import load_config
from jumok.engine import wasm
from jumok.errors import ConfigError
from jumok.inspection.page.run_report import UnseenExample
from tests.inspection.pages import page_data


@pytest.fixture
def short_recipe(tmp_path, monkeypatch):
    """The demo's own recipe on a smaller corpus."""
    text = shipped.shipped_recipe(demo.DEMO_RECIPE).read_text("utf-8")
    text = re.sub(r"\npairs = [\d_]+", "\npairs = 400", text)
    text = re.sub(r"\nsize = [\d_]+", "\nsize = 1_000\ncharacter_coverage = 0.98", text)
    text = re.sub(r"decode_pairs = [\d_]+", "decode_pairs = 5", text)
    short = tmp_path / "short.toml"
    short.write_text(text, "utf-8")
    monkeypatch.setattr(shipped, "shipped_recipe", lambda _: short)
    monkeypatch.setattr(demo, "SENTENCES", 13)


def test_a_demo_trains_translates_draws_and_reports(tmp_path, monkeypatch, short_recipe):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--minutes", "0.05"])
    assert result.exit_code == 0, result.output
    assert "Unseen sentences" in result.output
    assert "on 13 unseen sentences" in result.output
    assert (tmp_path / "demo" / "smallworld-en-ko" / "model" / "config.json").exists()
    told = " ".join(result.output.split())
    assert "look demo/smallworld-en-ko/model" in told
    assert "serve demo/smallworld-en-ko/model" in told
    report = "demo/report.html one translation, every layer and head, and the learning curves"
    assert f"Open in a browser: {report}" in told
    translator = tmp_path / "demo" / "translator.html"
    if wasm.missing_compiler() is None:
        assert "demo/translator.html the model itself: type a sentence, offline" in told
        assert 'id="model">' in translator.read_text("utf-8")
    else:
        assert "demo/translator.html was not written" in told
        assert "pip install ziglang" in told
        assert not translator.exists()
    assert told.endswith("look demo/smallworld-en-ko/model")  # no terminal, so no offer to open it
    look = (tmp_path / "demo" / "report.html").read_text("utf-8")
    data = page_data(look)
    home = tmp_path / "demo" / "smallworld-en-ko"
    unseen = (home / "smallworld" / "test.en").read_text("utf-8").splitlines()
    assert data["text"] in unseen[: demo.LISTED]
    run = data["run"]
    assert [source for source, *_ in run["examples"]] == unseen[: demo.LISTED]
    assert [name for name, *_ in run["tested"]] == ["BLEU", "chrF2"]
    assert run["validation"]["loss"][-1][0] == run["steps"]
    assert run["commands"][0][1].endswith("look demo/smallworld-en-ko/model")
    assert data["text"] in run["commands"][1][1].replace("'\"'\"'", "'")
    # After three seconds a model may write no word yet; then there is nothing to attribute.
    wrote = any(word is not None for word in data["axes"]["target"]["words"][1:])
    assert ("attribution" in data["findings"]) == wrote
    again = CliRunner().invoke(app, ["demo", "--minutes", "0.05"])
    assert again.exit_code == 0, again.output


def test_a_demo_that_cannot_build_the_translator_says_so(tmp_path, monkeypatch, tiny_bundle):
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "SHIPPED_MODULE", tmp_path / "none.wasm")
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "cache"))
    missing = demo.save_translator(tiny_bundle, tmp_path / "translator.html")
    assert missing is not None
    assert missing.do == "pip install ziglang"
    assert not (tmp_path / "translator.html").exists()


def test_the_recipe_of_the_demo_is_the_shipped_one():
    assert load_config(shipped.shipped_recipe(demo.DEMO_RECIPE)).name == "smallworld-en-ko"


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    precious = tmp_path / "smallworld-en-ko" / "precious"
    precious.mkdir(parents=True)
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert isinstance(result.exception, ConfigError)
    assert "this folder exists and is not a run" in str(result.exception)
    assert precious.exists()


def test_the_page_opens_with_a_right_sentence_whose_words_move():
    order, moved, wrong = (
        UnseenExample("in order", "하나", "하나"),
        UnseenExample("moved", "하나", "하나"),
        UnseenExample("wrong", "둘", "하나"),
    )
    assert demo.example_to_show([order, moved, wrong], [0, 4, 9]) == moved
    assert demo.example_to_show([wrong], [0]) == wrong
