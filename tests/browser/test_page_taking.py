"""What a reader takes away: links, figures with captions, the code that draws them, files."""

import re
import threading
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import numpy as np
import pytest

from jumok.inspection.page.document import PageOrigin
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import Reader, open_controls, open_view, take
from tests.browser.kinds import SHORT, traced
from tests.inspection.traces import HOSTILE, trace

pytest.importorskip("matplotlib", reason="the copied code draws with matplotlib")
expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

CLIPBOARD = ["clipboard-read", "clipboard-write"]
KINDS = (
    "Transformer",
    "Bahdanau's RNN",
    "captioner",
    "language model",
    "CNN",
    "masked model",
    "text classifier",
    "BERT",
)
IMAGE = """async () => {
  const [item] = await navigator.clipboard.read();
  const found = {};
  for (const type of item.types) {
    const blob = await item.getType(type);
    found[type] = type.includes("svg") ? await blob.text() : blob.size;
  }
  return found;
}"""


def copy(reader: Reader, what: str) -> str:
    """Clicks the button, and reads the clipboard."""
    reader.page.context.grant_permissions(CLIPBOARD)
    take(reader.page, f"copy-{what}")
    expect(reader.page.locator("#taken")).to_contain_text("Copied")
    return reader.page.evaluate("navigator.clipboard.readText()")


def run(code: str, folder, monkeypatch) -> dict:
    """Executes the copied code as its reader would, in an empty folder."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    names: dict = {}
    exec(code, names)
    return names


@pytest.fixture
def of_kind(reading, folders):
    """The page of a real model, as `jumok look` makes it; and its trace."""

    def open_kind(kind: str, view: str) -> tuple[Reader, Trace]:
        folder, given = folders[kind]
        recorded = traced(folders, kind)
        picture = given if recorded.picture is not None else None
        origin = PageOrigin([str(folder)], picture, options=SHORT)
        return reading(html(recorded, origin=origin), view=view), recorded

    return open_kind


def shown(figure: object) -> np.ndarray:
    """The numbers of the figure's map."""
    return np.asarray(next(axes for axes in figure.axes if axes.images).images[0].get_array())


def table_of(reader: Reader) -> np.ndarray:
    reader.choose("Show as", "table")
    return np.array([[float(cell) for cell in row[1:]] for row in reader.table()[1:]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_copied_code_draws_the_same_map(of_kind, kind, tmp_path, monkeypatch):
    reader, _ = of_kind(kind, "board")
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    np.testing.assert_allclose(shown(made["figure"]), table_of(reader), atol=6e-4)
    (file,) = (tmp_path / "here").iterdir()
    assert re.fullmatch(r".+-board-.+\.svg", file.name)


@pytest.mark.parametrize(
    "choice",
    [
        ("Rows and columns", "tokens"),
        ("Cells show", "norm of the attended value"),
        ("Head", "largest of all"),
        ("Alignment step", "the step that reads the word"),
        ("Scale", "0 to 1"),
    ],
)
def test_it_follows_the_controls_of_the_map(of_kind, choice, tmp_path, monkeypatch):
    reader, _ = of_kind("Transformer", "board")
    reader.choose("Layer", "2")
    reader.choose(*choice)
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    np.testing.assert_allclose(shown(made["figure"]), table_of(reader), atol=6e-4)


def bars(figure: object, panel: int = 0) -> list[float]:
    return [float(bar.get_width()) for bar in figure.axes[panel].patches]


def test_it_draws_one_row(of_kind, tmp_path, monkeypatch):
    reader, _ = of_kind("Transformer", "row")
    reader.choose("Head", "3")
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    weights = [float(row[3]) for row in reader.table()[1:-1]]
    np.testing.assert_allclose(bars(made["figure"], 1), weights, atol=6e-5)


def test_it_draws_the_effect_of_every_head(of_kind, tmp_path, monkeypatch):
    reader, recorded = of_kind("Transformer", "heads")
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    changes = recorded.findings.ablation
    sites = sorted(
        recorded.sites, key=lambda site: ("cross", "encoder", "decoder").index(site.part)
    )
    expected = [float(each) for site in sites for each in changes[site.name].sum(axis=1)]
    np.testing.assert_allclose(bars(made["figure"]), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["Transformer", "masked model", "CNN"])
def test_it_draws_the_predictions(of_kind, kind, tmp_path, monkeypatch):
    reader, recorded = of_kind(kind, "beam")
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    expected = [100 * np.exp(logp) for _, logp in recorded.steps[0].best]
    np.testing.assert_allclose(bars(made["figure"]), expected, atol=1e-5)


def test_it_draws_a_captions_words_over_the_image(of_kind, tmp_path, monkeypatch):
    reader, recorded = of_kind("captioner", "scrubber")
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    site = recorded.sites[-1]
    drawn = made["figure"].axes[1].images[-1].get_array()
    np.testing.assert_allclose(drawn.ravel(), site.weights.mean(axis=0)[0], atol=1e-6)


@pytest.mark.parametrize("view", ["overview", "grid", "walk"])
def test_other_views_of_the_weights_have_code_that_runs(of_kind, view, tmp_path, monkeypatch):
    reader, recorded = of_kind("Transformer", view)
    made = run(copy(reader, "python"), tmp_path / "here", monkeypatch)
    assert made["trace"].text == recorded.text
    assert len(list((tmp_path / "here").iterdir())) == 1


@pytest.fixture
def served(browser, tiny_bundle):
    """The live page of a real model, which its code can load."""
    family = load_family(tiny_bundle, device="cpu")
    tracing = partial(family.trace, options=SHORT)
    first = tracing("the cat sat")
    origin = PageOrigin([str(tiny_bundle)], options=SHORT)
    page_of = partial(html, first, origin=origin)
    server = LocalServer(page_of, answers(Comparison(tracing)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_context(locale="en-US", permissions=CLIPBOARD).new_page()
    yield page, server.link
    page.context.close()
    server.shutdown()
    server.server_close()


def test_it_makes_the_changes_of_the_page(served, tmp_path, monkeypatch):
    """Another text, heads that are ablated, a word that is masked and a row that is set."""
    page, link = served
    changes = {
        "off": "decoder.blocks.1.cross_attention:2 encoder.blocks.0.self_attention:0",
        "blank": "1",
        "set": "decoder.blocks.0.cross_attention:all:1:2",
    }
    asked = urlencode({"view": "board", "text": "a cat ran", "layer": 1, "as": "table", **changes})
    with page.expect_response("**/trace"):
        page.goto(f"{link}#{asked}")
    expect(page.locator("#panel thead th").nth(2)).to_have_text("cat")
    take(page, "copy-python")
    expect(page.locator("#taken")).to_contain_text("Copied")
    code = page.evaluate("navigator.clipboard.readText()")
    assert "with jumok.changed(model" in code
    made = run(code, tmp_path / "here", monkeypatch)
    assert len(made["trace"].changes) >= 4
    rows = page.locator("#panel table").first.locator("tbody tr").all()
    table = [[float(cell) for cell in row.locator("td").all_inner_texts()] for row in rows]
    np.testing.assert_allclose(shown(made["figure"]), table, atol=6e-4)
    take(page, "copy-figure")
    expect(page.locator("#taken-text")).to_contain_text("head off: cross 2.3")


def test_without_an_origin_the_code_takes_the_readers_trace(opened, tmp_path, monkeypatch):
    recorded = trace()
    reader = opened(recorded)
    code = copy(reader, "python")
    assert "jumok.load" not in code
    assert "# trace: the one that this page shows" in code
    own = "from tests.inspection.traces import trace\ntrace = trace()\n"
    made = run(own + code, tmp_path / "here", monkeypatch)
    np.testing.assert_allclose(shown(made["figure"]), table_of(reader), atol=6e-4)


def test_the_code_of_hostile_tokens_is_a_text(reading):
    """Texts become literals of Python, in which nothing is code or turns around."""
    recorded = replace(trace(), text='"); boom() #\n\u202e\\')
    reader = reading(html(recorded, origin=PageOrigin(['a"b'])), view="board")
    code = copy(reader, "python")
    assert 'jumok.load("a\\"b")' in code
    assert 'jumok.trace(model, "\\"); boom() #\\n\\u202e\\\\")' in code
    compile(code, "copied", "exec")


def test_a_link_leads_to_the_same_moment(opened):
    reader = opened(trace())
    reader.choose("Head", "3")
    reader.choose("Rows and columns", "tokens")
    link = copy(reader, "link")
    assert link.startswith("file://")
    assert "head=2" in link
    other = reader.page.context.new_page()
    other.goto(link)
    open_controls(other)
    assert other.get_by_label("Head", exact=True).input_value() == "2"
    assert other.get_by_label("Rows and columns", exact=True).input_value() == "pieces"
    other.close()


def test_a_link_of_the_live_page_has_its_text(live):
    page, _ = live
    page.context.grant_permissions(CLIPBOARD)
    with page.expect_response("**/trace"):
        page.locator("#text").fill("the cat ran")
    take(page, "copy-link")
    expect(page.locator("#taken")).to_contain_text("while jumok look runs")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "text=the+cat+ran" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#panel canvas").first).to_be_visible()
    assert page.locator("#text").input_value() == "the cat ran"


@pytest.mark.parametrize(("language", "copied"), [("en-US", "Copied"), ("ko-KR", "복사했습니다")])
def test_a_figure_is_copied_with_its_caption(reading, language, copied):
    reader = reading(html(trace()), language, "board")
    reader.page.context.grant_permissions(CLIPBOARD)
    take(reader.page, "copy-figure")
    expect(reader.page.locator("#taken")).to_contain_text(copied)
    found = reader.page.evaluate(IMAGE)
    assert found["image/png"] > 1000
    told = reader.page.locator("#taken-text").inner_text()
    for part in ("tiny", "“a cat ran”", "jumok", "github.com/jumok/jumok"):
        assert part in told
    assert ("layer 1" if language == "en-US" else "1층") in told.lower()
    if "image/svg+xml" in found:
        assert "github.com/jumok/jumok" in found["image/svg+xml"]


def test_the_caption_of_a_row_has_the_rows_own_number(opened):
    """The row is of tokens in one head, also where the map shows the mean of all."""
    recorded = trace()
    reader = opened(recorded, view="row")
    reader.page.evaluate("location.hash += '&layer=1&head=mean&query=1&key=2'")
    reader.page.context.grant_permissions(CLIPBOARD)
    expect(reader.page.locator("#path-map")).to_contain_text("Layer 2")
    take(reader.page, "copy-figure")
    (site,) = [site for site in recorded.sites if (site.part, site.layer) == ("cross", 1)]
    weight = f"{site.weights[0, 1, 2]:.3f}"
    expect(reader.page.locator("#taken-text")).to_contain_text("layer 2, head 1: attention weight.")
    expect(reader.page.locator("#taken-text")).to_contain_text(f"→ “ran”: {weight}.")


@pytest.mark.parametrize("view", ["overview", "board", "row", "grid", "heads", "theatre", "beam"])
def test_every_view_has_a_figure(opened, view):
    reader = opened(trace(), view=view)
    copy_of = "() => { navigator.clipboard.write = () => Promise.reject(new Error('no')); }"
    reader.page.evaluate(copy_of)
    with reader.page.expect_download() as found:
        take(reader.page, "copy-figure")
    assert found.value.suggested_filename == f"tiny-{view}-a-cat-ran.png"
    expect(reader.page.locator("#taken-text")).to_contain_text("tiny")
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    drawn = found.value.path().read_text("utf-8")
    assert "NaN" not in drawn
    assert "undefined" not in drawn
    assert "<text" in drawn


def test_where_nothing_may_be_copied_the_text_is_selected(opened):
    reader = opened(trace())
    reader.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    take(reader.page, "copy-python")
    expect(reader.page.locator("#taken")).to_have_text("Selected: copy it with Ctrl+C.")
    assert "jumok.plot.alignment" in reader.page.evaluate("String(getSelection())")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("나는 학생입니다.", "tiny-board-나는-학생입니다.svg"),
        ("../../etc: <b>|?*", "tiny-board-.-.-etc-b.svg"),
        ("가" * 200, f"tiny-board-{'가' * 61}.svg"),
        ("👩" * 3, "tiny-board.svg"),
    ],
)
def test_files_are_called_after_model_view_and_sentence(opened, text, expected):
    reader = opened(replace(trace(), text=text))
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    assert found.value.suggested_filename == expected
    assert len(expected.encode()) < 255


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_the_buttons_work_by_keyboard_and_on_a_phone(reading, language):
    reader = reading(html(trace(source=HOSTILE[:3])), language, "board")
    reader.page.context.grant_permissions(CLIPBOARD)
    reader.page.set_viewport_size({"width": 400, "height": 800})
    reader.page.locator("#share-open").focus()
    reader.page.keyboard.press("Enter")
    menu = reader.page.locator(".share > div").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= 400
    for what in ("link", "figure", "python"):
        reader.page.locator(f"#copy-{what}").focus()
        reader.page.keyboard.press("Enter")
        expect(reader.page.locator("#taken")).not_to_be_empty()
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert reader.serious() == []
    open_view(reader.page, "overview")
    assert reader.page.locator("#taken").text_content() == ""
