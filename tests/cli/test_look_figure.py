"""`jumok look --figure`: which figure is drawn, and what is said of half a wish."""

from pathlib import Path

import pytest
from typer.testing import Result

from jumok.errors import JumokError
from jumok.plot import paper
from tests.cli.calls import call

pytest.importorskip("matplotlib", reason="needs the extra plot")
pytestmark = pytest.mark.filterwarnings("ignore:Glyph")


@pytest.fixture(autouse=True)
def font(monkeypatch):
    monkeypatch.setattr(paper, "hangul_font", lambda: "DejaVu Sans")


def look(model: Path, *arguments: str | Path) -> Result:
    fast = ["--device", "cpu", "--beam", "1", "--threads", "1"]
    return call("look", model, "the cat sat", *fast, *arguments)


@pytest.mark.parametrize(
    ("name", "options", "title"),
    [
        (
            "alignment",
            ["--layer", "3", "--head", "2"],
            "cross-attention (target → source), layer 3, head 2",
        ),
        (
            "alignment",
            ["--part", "encoder"],
            "encoder self-attention (source → source), layer 1, mean of all heads",
        ),
        ("head", ["--layer", "1"], "cross-attention (target → source), layer 1, head 1"),
        ("grid", ["--part", "decoder"], "decoder self-attention (target → target): layer.head"),
        (
            "row",
            ["--row", "cat", "--part", "encoder"],
            "encoder self-attention (source → source), layer 1, head 1",
        ),
        ("switches", [], "change of the log-probability"),
        ("choices", [], "1. "),
        ("mattered", ["--row", "2"], "Attribution of"),
        ("positions", ["--part", "decoder"], "position encoding of the decoder: sinusoidal"),
    ],
)
def test_every_figure_is_drawn(tiny_bundle, tmp_path, name, options, title):
    file = tmp_path / "figure.svg"
    found = look(tiny_bundle, "--target", "a dog", "--figure", name, "--to", file, *options)
    assert found.exit_code == 0, found.output
    assert title in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--figure", "grid"], "--figure and --to must be given together."),
        (["--to", "a.svg"], "--figure alignment --to FILE.svg, .pdf or .png"),
        (["--figure", "grid", "--to", "a.doc"], "--figure grid --to a.doc"),
        (["--layer", "2"], "need --figure"),
        (["--figure", "head", "--to", "a.svg", "--layer", "9"], "the model has no such layer."),
        (["--figure", "head", "--to", "a.svg", "--head", "9"], "the model has no such head."),
        (["--figure", "pictures", "--to", "a.svg"], "this trace has no image."),
        (["--figure", "row", "--to", "a.svg", "--row", "dog"], "there is no such row."),
        (["--figure", "mattered", "--to", "a.svg", "--row", "dog"], "has no such word."),
    ],
)
def test_what_cannot_be_drawn_is_said(tiny_bundle: Path, options: list[str], fault: str) -> None:
    error = look(tiny_bundle, *options).exception
    assert isinstance(error, JumokError), error
    assert fault in str(error)
    assert not Path("a.svg").exists()
