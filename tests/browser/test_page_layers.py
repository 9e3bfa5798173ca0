"""Layers and positions in a real browser: what is shown is what was recorded."""

from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from jumok.tracing.request import Analyses
from tests.browser.conftest import open_controls, open_view, take, views_of
from tests.inspection.traces import HOSTILE, found, read_findings, trace
from tests.systems.untrained import write_rnn

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

TAB = "Layers"
"""And positions, where the model has some."""
BEST = [[["개가", 0.5], ["고양이가", 0.25]], [["고양이가", 0.75], ["개가", 0.125]]]
"""For each layer, the same at every position."""
WORDS = {"axis": "source", "texts": ["cat", "sat"], "different": [0.25, 0.5]}
COSINES = [[[0.1, 0.2], [0.9, 0.3], [0.0, -0.4]], [[0.2, 0.1], [0.6, 0.35], [-0.5, 0.75]]]


def layered(read="pre", place=None, second=True, **names):
    recorded = trace(**names)
    source, target = (len(recorded.axes[name].tokens) for name in ("source", "target"))
    layers = {
        "stacks": {
            "encoder": {"moved": [[0.5] * source, [0.25, 0.3, 0.1, 0.2]]},
            "decoder": {
                "moved": [[1.0] * target] * 2,
                "read": read,
                "best": [[layer] * target for layer in BEST],
                "written": [[0.25] * target, [0.0625] * target],
            },
        },
        "positions": {
            "encoder": place
            or {
                "kind": "learned",
                "same": None,
                "rows": "position",
                "columns": "dimension",
                "picture": [[0.5, -0.25], [0.125, 0.0]],
                "curves": {"mean": [1.0, 0.375], "least": [1.0, 0.3], "largest": [1.0, 0.4]},
            },
            "decoder": {"kind": "learned", "same": "encoder"},
        },
    }
    similarity = {"encoder": WORDS | {"cosines": COSINES}} if second else None
    known = read_findings({"layers": layers, "similarity": similarity})
    return found(recorded, layers=known.layers, similarity=known.similarity)


def test_the_grid_shows_the_likeliest_token_and_its_probability(opened):
    reader = opened(layered())
    reader.tab(TAB)
    reader.choose("Show as", "table")
    header, first, last = reader.table()
    assert header[1:] == ["고양이가", "뛰었다", "</s>"]
    assert (first[0], first[1]) == ("embedding", "개가 0.500")
    assert (last[0], last[1]) == ("Layer 1", "고양이가 0.750")
    reader.choose("Colour", "probability of what was written")
    assert [row[2] for row in reader.table()[1:]] == ["개가 0.250", "고양이가 0.063"]


def test_a_cell_tells_its_likeliest_tokens_by_mouse_and_by_keyboard(opened):
    reader = opened(layered())
    reader.tab(TAB)
    top = reader.page.locator("#panel table")
    assert top.locator("caption").inner_text() == "Layer 1, after <s>"
    reader.page.locator("#panel canvas").focus()
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        reader.page.keyboard.press(key)
    assert top.locator("caption").inner_text() == "embedding, after 고양이가"
    assert reader.table()[1:] == [["개가", "0.5000"], ["고양이가", "0.2500"]]
    assert "cell=0%2C1" in reader.page.url


@pytest.mark.parametrize(("read", "words"), [("pre", "the final norm"), ("post", "no final norm")])
def test_what_was_read_how_is_said(opened, read, words):
    reader = opened(layered(read))
    reader.tab(TAB)
    assert words in reader.page.locator("#panel .muted").inner_text()


@pytest.fixture(scope="module")
def of_an_rnn(tmp_path_factory) -> Trace:
    """Of two sentences; a bidirectional encoder of two layers, a decoder of two."""
    folder = tmp_path_factory.mktemp("rnn") / "model"
    write_rnn(folder, encoder_layers=2, decoder_layers=2)
    family = load_family(folder, device="cpu")
    only = Analyses(ablation=False, attribution=False, search_tree=False)
    trace, _ = Comparison(family.trace).look(
        "the cat sat", "and the cat", "개가 짖었다", extras=only
    )
    return trace


def test_of_an_rnn_each_layer_is_read_in_the_place_of_the_top(opened, of_an_rnn):
    reader = opened(of_an_rnn)
    reader.tab(TAB)
    assert reader.page.locator("#tab-layers").inner_text() == "Layers", "an RNN has no positions"
    assert "the last row" in reader.page.locator("#panel .help").inner_text()
    assert "in the first row the state is zero" in reader.page.locator("#panel .muted").inner_text()
    reader.choose("Colour", "probability of what was written")
    reader.choose("Show as", "table")
    header, *rows = reader.table()
    assert len(header) == len(of_an_rnn.steps) + 1
    assert [row[0] for row in rows] == ["no state", "Layer 1", "Layer 2"]
    shown = [[float(cell.split()[-1]) for cell in row[1:]] for row in rows]
    written = of_an_rnn.findings.layers.stacks["decoder"].written
    np.testing.assert_allclose(shown, written, atol=6e-4)


@pytest.mark.parametrize(("stack", "alone"), [("encoder", "read alone"), ("decoder", "read first")])
def test_of_an_rnn_a_word_is_compared_with_itself_alone(opened, of_an_rnn, stack, alone):
    reader = opened(of_an_rnn)
    reader.page.evaluate(f"location.hash = 'view=layers&show=apart&as=table&stack={stack}&word=1'")
    playwright.expect(reader.page.locator("#panel .help")).to_contain_text("a space of its own")
    header, *rows = reader.table()
    assert alone in header[2]
    moved = np.array(of_an_rnn.findings.layers.stacks[stack].moved)
    words = of_an_rnn.axes["source" if stack == "encoder" else "target"].words
    own = moved[:, [word == 1 for word in words]].mean(axis=1)
    np.testing.assert_allclose([float(row[2]) for row in rows], own, atol=6e-4)
    assert [row[0] for row in rows] == ["embedding", "Layer 1", "Layer 2"]
    cosines = np.array(of_an_rnn.findings.similarity[stack].cosines)[:, 1]
    found = np.abs(cosines - [[float(row[1])] for row in rows]).max(axis=0)
    assert found.min() < 6e-4, "they are those of one word of the other sentence"


@pytest.mark.parametrize(
    ("language", "words"),
    [("en-US", "The order itself is the position."), ("ko-KR", "읽는 순서가 곧 위치입니다.")],
)
def test_an_rnn_knows_places_by_the_order_itself_and_the_page_says_so(
    opened, of_an_rnn, language, words
):
    reader = opened(of_an_rnn, language)
    for stack in ("encoder", "decoder"):
        reader.page.evaluate(f"location.hash = 'view=layers&show=places&stack={stack}'")
        playwright.expect(reader.page.locator("#panel")).to_contain_text(words)
        assert reader.page.locator("#panel canvas").count() == 0
    assert reader.serious() == []


@pytest.mark.parametrize("show", ["lens", "apart"])
@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_the_view_of_an_rnn_is_for_everybody(opened, of_an_rnn, show, language):
    reader = opened(of_an_rnn, language)
    reader.page.evaluate(f"location.hash = 'view=layers&show={show}'")
    reader.page.wait_for_selector("#panel canvas")
    assert reader.serious() == []
    assert "undefined" not in reader.page.locator("main").inner_text()


def test_one_word_in_two_sentences_is_compared_layer_by_layer(opened):
    reader = opened(layered())
    reader.tab(TAB)
    reader.choose("Show", "one word in two sentences")
    reader.choose("Show as", "table")
    header, *rows = reader.table()
    assert header[1] == "cat (1) · cat (2)", "the word that both have is chosen"
    shown = np.array([[float(cell) for cell in row[1:]] for row in rows])
    np.testing.assert_allclose(shown, [[0.9, 0.5, 0.25], [0.6, 0.3, 0.5]])
    reader.choose("Word of sentence 2", "2 sat")
    assert [row[1] for row in reader.table()[1:]] == ["0.300", "0.350"]


def test_without_a_second_sentence_the_page_says_how_to_get_one(opened):
    reader = opened(layered(second=False))
    reader.tab(TAB)
    reader.choose("Show", "one word in two sentences")
    assert "--against" in reader.page.locator("#panel .muted").inner_text()


def test_positions_are_shown_as_picture_and_as_curves(opened):
    reader = opened(layered())
    reader.tab(TAB)
    reader.choose("Show", "positions")
    assert reader.page.locator("#panel canvas").count() == 2
    reader.page.locator("#panel canvas").last.focus()
    reader.page.keyboard.press("ArrowRight")
    assert reader.page.locator(".said").inner_text() == "position 0, dimension 2: -0.250"
    assert "±0.500" in reader.page.locator("#panel h2").last.inner_text()
    reader.choose("Show as", "table")
    assert reader.table()[2] == ["1", "0.3750", "0.3000", "0.4000"]


def test_a_stack_without_positions_says_so(opened):
    reader = opened(layered(place={"kind": "none", "same": None}))
    reader.page.evaluate("location.hash = 'view=layers&show=places&stack=encoder'")
    playwright.expect(reader.page.locator("#panel")).to_contain_text("no positions to show")


def test_a_model_without_layers_has_no_such_view(opened):
    reader = opened(trace())
    assert "layers" not in views_of(reader.page)


@pytest.mark.parametrize("show", ["lens", "apart", "places"])
@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_the_view_is_for_everybody(opened, show, language, tmp_path):
    reader = opened(layered(source=HOSTILE[:3], target=HOSTILE[3:]), language)
    reader.page.evaluate(f"location.hash = 'view=layers&show={show}'")
    reader.page.wait_for_selector("#panel canvas")
    assert reader.serious() == []
    assert reader.page.evaluate("window.ran") is None
    assert "undefined" not in reader.page.locator("main").inner_text()
    for kind, begins in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with reader.page.expect_download() as found:
            take(reader.page, f"save-{kind}")
        assert Path(found.value.path()).read_bytes().startswith(begins)


def test_a_second_sentence_can_be_typed(live):
    page, _ = live
    open_view(page, TAB)
    open_controls(page)
    page.get_by_label("Show", exact=True).select_option(label="one word in two sentences")
    page.get_by_label("Second sentence").fill("the cat on the mat")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#panel dd").last).to_have_text("the cat on the mat")
    assert "against=the+cat+on+the+mat" in page.url


def test_an_answer_that_comes_while_somebody_types_takes_no_letter(live):
    page, _ = live
    open_view(page, TAB)
    open_controls(page)
    page.get_by_label("Show", exact=True).select_option(label="one word in two sentences")
    second = page.get_by_label("Second sentence")
    second.focus()
    page.keyboard.type("the cat on")
    page.evaluate("window.dispatchEvent(new Event('hashchange'))")  # drawn anew
    playwright.expect(page.locator("#panel dd").last).to_have_text("the cat on")
    playwright.expect(second).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" the mat")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#panel dd").last).to_have_text("the cat on the mat")


def test_the_link_of_a_live_page_brings_the_text_back(live):
    page, traced = live
    page.locator("#text").fill("the dog barked")
    playwright.expect(page.locator("header dd").last).to_have_text(traced("the dog barked").output)
    page.reload()
    assert page.locator("#text").input_value() == "the dog barked"
    playwright.expect(page.locator("header dd").last).to_have_text(traced("the dog barked").output)


def test_every_view_comes_back_by_its_link(opened):
    """What is read on the panel is the same after the address was opened anew."""
    recorded = layered()
    reader = opened(recorded, other=recorded)
    reader.page.emulate_media(reduced_motion="reduce")  # nothing plays by itself
    names = views_of(reader.page)
    assert len(names) >= 9
    for name in names:
        reader.tab(name)
        for select in reader.page.locator("#panel select").all()[:2]:
            open_controls(reader.page)
            select.select_option(index=select.locator("option").count() - 1)
        reader.page.evaluate("document.querySelector('#more')?.removeAttribute('open')")
        shown = reader.page.locator("#panel").inner_text()
        reader.page.reload()
        reader.requests.pop()
        selected = reader.page.locator(".views [aria-selected=true]")
        assert selected.get_attribute("id") == f"tab-{name}"
        assert reader.page.locator("#panel").inner_text() == shown, name
