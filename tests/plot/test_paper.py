"""Fonts that have the letters, and what is said where something is missing."""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jumok import plot
from jumok.errors import ConfigError, DataError, MissingExtraError
from jumok.plot import paper
from tests.inspection.traces import trace
from tests.missing import uninstall

pytest.importorskip("matplotlib", reason="needs the extra plot")


def test_a_font_with_hangul_is_named_where_there_is_none(monkeypatch):
    monkeypatch.setattr(paper, "hangul_font", lambda: None)
    assert paper.font_families(["the cat", "a ≈ b"]) == ["DejaVu Sans"]
    for text in ("고양이", "ㅎㅏㄴ", "\u1112\u1161\u11ab"):
        with pytest.raises(DataError) as fault:
            paper.font_families(["cat", text])
        assert "no font on this machine has Hangul" in str(fault.value)
        assert "apt install fonts-nanum, or fonts-noto-cjk" in str(fault.value)
        assert f"a font for {text[0]!r}" in str(fault.value)


def test_the_font_that_is_found_has_hangul():
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    name = paper.hangul_font()
    if name is None:
        pytest.skip("no font with Hangul on this machine: apt install fonts-nanum")
    font = FT2Font(findfont(FontProperties(family=name)))
    assert {ord("가"), ord("힣")} <= set(font.get_charmap())


def test_every_text_of_a_figure_has_the_font(monkeypatch):
    from matplotlib.text import Text

    monkeypatch.setattr(paper, "hangul_font", lambda: "Nanum")
    texts = plot.alignment(trace()).findobj(Text)
    assert {tuple(text.get_fontfamily()) for text in texts if text.get_text()} == {
        ("DejaVu Sans", "Nanum")
    }


def test_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    uninstall(monkeypatch, "matplotlib")
    monkeypatch.delitem(sys.modules, paper.__name__)
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[plot\]"'):
        importlib.import_module(paper.__name__)


def test_other_files_are_refused(tmp_path: Path):
    figure = plot.head(trace(source=("a",), target=("b",)))
    with pytest.raises(ConfigError, match=r"expected: .svg .pdf .png"):
        plot.save(figure, tmp_path / "figure.docx")
    with pytest.raises(DataError, match="the output cannot be written"):
        plot.save(figure, tmp_path / "nowhere" / "figure.png")


def test_a_figure_shows_itself_in_a_notebook():
    """Without pyplot, IPython knows no matplotlib: the figure brings its picture."""
    picture = plot.alignment(trace())._repr_png_()
    assert picture.startswith(b"\x89PNG")
    if find_spec("IPython") is not None:
        from IPython.core.formatters import DisplayFormatter

        data, _ = DisplayFormatter().format(plot.grid(trace()))
        assert data["image/png"]
