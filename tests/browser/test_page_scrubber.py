"""Over the picture: what words and cells look at, by mouse, keyboard and screen reader."""

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from jumok.decoding import DecodingOptions
from jumok.inspection.hooks.intervene import Change
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.serving.pictures import ServedPictures
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import PATIENCE, open_view, take, views_of
from tests.inspection.traces import HOSTILE, found, trace
from tests.systems.pictures import READER, write_captioner, write_pictures
from tests.systems.untrained import write_classifier

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

SHORT = DecodingOptions(beam=2, maximum_length=4)
GATED = {"kind": "rnn", "dim": 16, "embedding": 12, "attention": "additive", "gate": True}


@pytest.fixture(scope="module")
def picture(tmp_path_factory) -> str:
    return str(write_pictures(tmp_path_factory.mktemp("pictures"), 1)[0])


@pytest.fixture(scope="module")
def captioner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captioner") / "model"
    return load_family(write_captioner(folder, decoder=GATED)).trace


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return load_family(write_classifier(tmp_path_factory.mktemp("cnn") / "model")).trace


@pytest.fixture(scope="module")
def caption(captioner, picture) -> Trace:
    return captioner(picture, "the cat sat")


@pytest.fixture(scope="module")
def pixels(classifier, picture) -> Trace:
    found = classifier(picture)
    (site,) = found.sites
    return replace(found, sites=(replace(site, residual_gate=0.375),))


def maps(recorded: Trace) -> np.ndarray:
    """(words cells): the mean of what a word's pieces looked at when they were written."""
    weights = recorded.sites[0].weights.mean(0)
    words = recorded.axes["target"].words[1:]
    rows = [[i for i, of in enumerate(words) if of == word] for word in range(max(words) + 1)]
    return np.stack([weights[row].mean(0) for row in rows])


def numbers(rows: list[list[str]]) -> np.ndarray:
    return np.array([[float(cell) for cell in row[1:]] for row in rows])


def test_the_map_of_a_word_is_what_its_pieces_looked_at(opened, caption):
    reader = opened(caption)
    assert reader.page.locator("#tab-scrubber").inner_text() == "On the image"
    reader.page.locator("#word-1").click()
    reader.choose("Show as", "table")
    shown = numbers(reader.table()[1:])
    np.testing.assert_allclose(shown, maps(caption)[1].reshape(4, 4), atol=0.0005)


def test_gates_and_entropies_are_those_of_the_words(opened, caption):
    reader = opened(caption)
    reader.page.locator("#panel details:not(#more, #use) > summary").first.click()
    header, *rows = reader.table()
    assert header == ["Word", "gate", "entropy (nats)", "strongest cell (row,column)", "softmax"]
    words = caption.axes["target"].words[1:]
    for number, (row, weights) in enumerate(zip(rows, maps(caption), strict=True)):
        gates = [step.gate for step, of in zip(caption.steps, words, strict=False) if of == number]
        assert float(row[1]) == pytest.approx(np.mean(gates), abs=0.0006)
        assert float(row[2]) == pytest.approx(-(weights * np.log(weights)).sum(), abs=0.0006)
        assert float(row[4]) == pytest.approx(weights.max(), abs=0.0006)


def test_the_keyboard_moves_along_the_words(opened, caption):
    reader = opened(caption)
    said = reader.page.locator(".said")
    reader.page.locator("#word").focus()
    reader.page.keyboard.press("Home")
    assert said.inner_text().startswith("the: ")
    reader.page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("cat: ")
    assert "query=1" in reader.page.url
    reader.page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("sat: "), "the slider is still held"
    reader.page.locator("#look").focus()
    reader.page.keyboard.press("ArrowLeft")
    assert reader.page.locator('[aria-pressed="true"]').inner_text() == "cat"
    reader.page.locator("#word-0").press("Enter")
    assert said.inner_text().startswith("the: ")


def test_words_and_cells_that_look_are_chosen_apart(opened, picture, tmp_path):
    folder = write_captioner(tmp_path / "model", reader=READER)
    recorded = load_family(folder).trace(picture, "the cat sat")
    reader = opened(recorded)
    words = ("the: ", "cat: ", "sat: ")
    assert reader.page.locator(".said").inner_text().startswith(words), "words come first"
    reader.choose("Attention kind", "image self-attention (cells → cells)")
    reader.choose("Layer", "2")
    reader.choose("Head", "2")
    reader.page.locator("#word").focus()
    reader.page.keyboard.press("Home")
    reader.page.locator("#look").press("ArrowRight")
    reader.choose("Show as", "table")
    (site,) = (each for each in recorded.sites if each.part == "image" and each.layer == 1)
    expected = site.weights[1, 1].reshape(4, 4)
    np.testing.assert_allclose(numbers(reader.table()[1:]), expected, atol=0.0005)


def clearest(reader) -> tuple[int, int]:
    """Row and column of the cell that is the farthest from the grey of the veil."""
    row, column = reader.page.evaluate(
        """() => {
            const canvas = document.getElementById("look");
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const context = copy.getContext("2d", { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            let best = [-1, 0, 0];
            for (let row = 0; row < 4; row++) for (let column = 0; column < 4; column++) {
                const [x, y] = [(column + 0.5) * canvas.width / 4, (row + 0.5) * canvas.height / 4];
                const [r, g, b] = context.getImageData(x, y, 1, 1).data;
                const far = Math.abs(r + g + b - 3 * 90);
                if (far > best[0]) best = [far, row, column];
            }
            return best.slice(1);
        }"""
    )
    return row, column


def test_the_cell_that_is_looked_at_most_is_the_clearest(opened, caption):
    sharp = np.full_like(caption.sites[0].weights, 0.02)
    sharp[:, :, 6] = 0.7
    site = replace(caption.sites[0], weights=sharp)
    reader = opened(replace(caption, sites=(site,)))
    reader.choose("Map", "cell by cell")
    expect(reader.page.locator("#look")).to_be_visible()
    reader.page.wait_for_timeout(50)  # the picture is decoded beside the page
    assert clearest(reader) == (1, 2)
    reader.choose("Map", "smooth")
    assert clearest(reader) == (1, 2)


def test_a_cell_that_is_clicked_looks(opened, pixels):
    reader = opened(pixels)
    assert reader.page.locator("#residual-gate").inner_text() == "0.3750"
    reader.choose("Head", "2")
    canvas = reader.page.locator("#look")
    size = canvas.bounding_box()
    # row 3, column 4 of 4 x 5
    canvas.click(position={"x": size["width"] * 3.5 / 5, "y": size["height"] * 2.5 / 4})
    assert "query=13" in reader.page.url
    reader.choose("Show as", "table")
    expected = pixels.sites[0].weights[1, 13].reshape(4, 5)
    np.testing.assert_allclose(numbers(reader.table()[1:]), expected, atol=0.0005)


def sharpest(site: object) -> int:
    """The head that a page opens with where nobody chose one."""
    return int(site.weights.max(axis=2).sum(axis=1).argmax())


def test_arrow_keys_walk_over_the_cells(opened, pixels):
    reader = opened(pixels)
    canvas = reader.page.locator("#look")
    reader.page.locator("#word").focus()
    reader.page.keyboard.press("Home")
    canvas.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"):
        reader.page.keyboard.press(key)
    assert canvas.get_attribute("aria-label").startswith("1,2: strongest cell")
    assert "query=1" in reader.page.url
    weights = pixels.sites[0].weights[sharpest(pixels.sites[0])][1]
    assert f"{weights.max():.3f}" in canvas.get_attribute("aria-label")


def test_the_picture_is_saved_as_it_is_seen(opened, caption):
    reader = opened(caption)
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 2, "the picture and the veil"
    assert caption.picture.url in text
    with reader.page.expect_download() as found:
        take(reader.page, "save-png")
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


def test_koreans_read_korean(opened, pixels):
    reader = opened(pixels, "ko-KR")
    assert reader.page.locator("#tab-scrubber").inner_text() == "이미지 위에서"
    assert "화살표 키" in reader.page.locator(".help").inner_text()
    reader.page.get_by_role("button", name="English").click()
    assert reader.page.locator("#tab-scrubber").inner_text() == "On the image"


def test_words_are_text_whatever_they_say(opened, caption):
    axis = caption.axes["target"]
    hostile = replace(axis, texts=HOSTILE[: len(axis.texts)], tokens=("<s>", *HOSTILE)[:4])
    reader = opened(replace(caption, axes=caption.axes | {"target": hostile}))
    for _ in reader.views():
        pass
    assert reader.page.evaluate("window.ran") is None


@pytest.mark.parametrize("kind", ["caption", "pixels"])
@pytest.mark.parametrize("shown", ["figure", "table"])
def test_the_view_is_accessible(opened, request, kind, shown):
    reader = opened(request.getfixturevalue(kind))
    reader.choose("Show as", shown)
    reader.page.locator("#panel details:not(#more, #use) > summary").first.click()
    assert reader.serious() == []


def test_views_stand_where_they_have_something_to_show(opened, pixels, caption):
    def tabs(recorded: Trace) -> list[str]:
        return [f"tab-{view}" for view in views_of(opened(recorded).page)]

    assert "tab-theatre" not in tabs(pixels)
    assert {"tab-scrubber", "tab-theatre", "tab-beam"} <= set(tabs(caption))
    assert "tab-scrubber" not in tabs(trace())
    assert "tab-heads" not in tabs(found(caption, ablation=None))


def test_a_live_picture_can_be_looked_at_without_a_head(browser, captioner, picture):
    """Where the page names no file, it is the picture of the command line."""
    traced = partial(captioner, options=SHORT)
    first, off = traced(picture), traced(picture, change=Change(off={"decoder.attention": [0]}))
    pictures = ServedPictures(picture, lambda path: None)
    server = LocalServer(lambda token: html(first, token), answers(Comparison(traced), pictures))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_context(locale="en-US").new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto(server.link)
        assert page.locator("#text").input_value() == Path(picture).name
        open_view(page, "Head ablation")
        page.locator('[id="switch-decoder.attention:0"]').click()
        expect(page.locator("dd.changed")).to_have_text(off.output)
    finally:
        page.context.close()
        server.shutdown()
        server.server_close()
        pictures.close()
