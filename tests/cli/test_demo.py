"""The demo from nothing to its report, in seconds instead of minutes."""

import json
import re

import pytest
import torch
from typer.testing import CliRunner

from jumok import shipped
from jumok.cli.main import app
from jumok.cli.report.page import ReportExample, report
from jumok.cli.verbs import demo
from jumok.config import load_config
from jumok.engine import wasm
from jumok.errors import ConfigError
from jumok.systems.translation.result import WordAttention

EVIL = "<script>alert(1)</script>"
RECORDS = [
    {"kind": "step", "step": 10, "loss": 3.5},
    {"kind": "step", "step": 20, "loss": None},
    {"kind": "validation", "step": 20, "loss": 2.0, "bleu": 31.0, "chrf": 42.0},
]


@pytest.fixture
def short_recipe(tmp_path, monkeypatch):
    """The demo's own recipe on a smaller corpus."""
    text = shipped.shipped_recipe(demo.RECIPE).read_text("utf-8")
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
    assert "translate demo/smallworld-en-ko/model --alignments" in result.output
    assert (tmp_path / "demo" / "smallworld-en-ko" / "model" / "config.json").exists()
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert "<svg" in page
    assert 'href="page.html"' in page
    assert 'look demo/smallworld-en-ko/model "The cat saw a dog."' in result.output.replace(
        "\n", " "
    )
    told = " ".join(result.output.split())
    page, report = "demo/page.html one translation, every layer and head", "demo/report.html"
    assert f"Open in a browser: {page} {report}" in told
    translator = tmp_path / "demo" / "translator.html"
    if wasm.missing_compiler() is None:
        assert "demo/translator.html the model itself: type a sentence, offline" in told
        assert 'id="model">' in translator.read_text("utf-8")
    else:
        assert "demo/translator.html was not written" in told
        assert "pip install ziglang" in told
        assert not translator.exists()
    assert told.endswith("look demo/smallworld-en-ko/model")  # no terminal, so no offer to open it
    look = (tmp_path / "demo" / "page.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', look)[1])
    assert (
        data["text"]
        == (tmp_path / "demo/smallworld-en-ko/smallworld/test.en")
        .read_text("utf-8")
        .splitlines()[0]
    )
    # After three seconds a model may write no word yet; then there is nothing to attribute.
    wrote = any(word is not None for word in data["axes"]["target"]["words"][1:])
    assert ("attribution" in data["findings"]) == wrote
    again = CliRunner().invoke(app, ["demo", "--minutes", "0.05"])
    assert again.exit_code == 0, again.output


def test_a_demo_that_cannot_build_the_translator_says_so(tmp_path, monkeypatch, tiny_bundle):
    monkeypatch.setattr(wasm, "find_zig", lambda: None)
    monkeypatch.setattr(wasm, "SHIPPED", tmp_path / "none.wasm")
    missing = demo.save_translator(tiny_bundle, tmp_path / "translator.html")
    assert missing is not None
    assert missing.do == "pip install ziglang"
    assert not (tmp_path / "translator.html").exists()


def test_the_recipe_of_the_demo_is_the_shipped_one():
    assert load_config(shipped.shipped_recipe(demo.RECIPE)).name == "smallworld-en-ko"


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    precious = tmp_path / "smallworld-en-ko" / "precious"
    precious.mkdir(parents=True)
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert isinstance(result.exception, ConfigError)
    assert "this folder exists and is not a run" in str(result.exception)
    assert precious.exists()


def evil_page() -> str:
    attention = WordAttention((EVIL, "b"), (EVIL,), torch.tensor([[0.5, 0.5]]), ((0, 0),))
    example = ReportExample(EVIL, EVIL, "reference", attention, ((0, 0),))
    return report({EVIL: EVIL}, RECORDS, [example], [f"echo {EVIL}"])


def test_the_report_shows_texts_as_texts():
    page = evil_page()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_report_loads_nothing_and_runs_nothing():
    page = evil_page()
    assert "default-src &#x27;none&#x27;; style-src &#x27;unsafe-inline&#x27;" in page
    assert not re.search(r"""(?:src|href)=|url\(|@import|https?://""", page)


def test_the_report_counts_what_is_the_same_word_for_word():
    examples = [ReportExample("a", "가", "가"), ReportExample("b", "나", "다")]
    page = report({}, RECORDS, examples, [])
    assert "1 of these 2 are the reference word for\nword" in page
    assert page.count("✓ the same") == 1
