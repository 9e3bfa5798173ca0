"""What mattered of a picture, in a real browser: maps on one scale, tables, keyboard, Korean."""

import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.serving.pictures import ServedPictures
from jumok.systems.captioner import Captioner
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import open_view, take, views_of
from tests.inspection.traces import found
from tests.systems.pictures import write_captioner, write_noise

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

VIEW = "Attribution"
MEASURES = ["weights", "norms", "rollout", "flow", "product", "slope", "blank", "patch"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Trace:
    folder = tmp_path_factory.mktemp("captioner")
    captioner = Captioner.load(write_captioner(folder / "model"), device="cpu")
    return jumok.trace(captioner, write_noise(folder / "noise.png"), "the cat sat")


def values_of(recorded: Trace, unit: str, row: int) -> np.ndarray:
    """(measures cells)"""
    measures = recorded.findings.attribution[unit].measures
    assert list(measures) == MEASURES
    return np.array([measures[name]["picture"][row] for name in MEASURES])


def shares_of(values: np.ndarray) -> np.ndarray:
    return values / np.abs(values).sum(axis=-1, keepdims=True)


def tables(reader) -> list[list[list[str]]]:
    reader.choose("Show as", "table")
    found = []
    for table in reader.page.locator("#panel table").all():
        rows = table.locator("tbody tr").all()
        found.append([row.locator("th, td").all_inner_texts() for row in rows])
    return found


def number(text: str) -> float:
    return float(text.rstrip(" %").replace("−", "-"))


def test_tables_show_what_was_measured(opened, recorded):
    reader = opened(recorded)
    reader.tab(VIEW)
    reader.page.locator("#written-1").click()
    strongest, cells, here, mean, shares = tables(reader)
    values = values_of(recorded, "words", 1)
    for row, of_measure in zip(strongest, shares_of(values), strict=True):
        best = int(np.abs(of_measure).argmax())
        assert row[1] == f"{best // 4 + 1},{best % 4 + 1}"
        assert number(row[2]) == pytest.approx(100 * of_measure[best], abs=0.06)
    assert [row[0] for row in cells] == [f"{y},{x}" for y in range(1, 5) for x in range(1, 5)]
    shown = np.array([[float(cell) for cell in row[1:]] for row in cells])
    np.testing.assert_allclose(shown, values.T, atol=6e-5)
    facts = recorded.findings.attribution["words"]
    for table, expected in ((here, facts.ranks[1]), (mean, facts.mean_ranks)):
        ranks = np.array([[float(cell) for cell in row[1:]] for row in table])
        np.testing.assert_allclose(ranks, expected, atol=0.006)
    expected = 100 * np.array([facts.shares[name] for name in ("product", "slope", "blank")]).T
    told = np.array([[number(cell) for cell in row[1:]] for row in shares])
    np.testing.assert_allclose(told, expected, atol=0.06)


def test_one_scale_is_the_largest_share_of_any_word(opened, recorded):
    rows = range(len(recorded.axes["target"].texts))
    most = max(np.abs(shares_of(values_of(recorded, "words", row))).max() for row in rows)
    reader = opened(recorded)
    reader.tab(VIEW)
    said = []
    for row in rows:
        reader.page.locator(f"#written-{row}").click()
        with reader.page.expect_download() as found:
            take(reader.page, "save-svg")
        said.append(Path(found.value.path()).read_text(encoding="utf-8"))
    assert all(f"Full brightness: {100 * most:.1f} %" in text for text in said)
    for row, text in zip(rows, said, strict=True):
        # The picture and a veil for each measure, and a frame for what spoke against the word.
        assert text.count("<image ") == 2 * len(MEASURES)
        shares = shares_of(values_of(recorded, "words", row))
        against = int((shares <= -0.005).sum())
        assert text.count('fill="none" stroke="#ffffff"') == against
        for of_measure in shares:
            best = int(np.abs(of_measure).argmax())
            place = f"{best // 4 + 1},{best % 4 + 1}"
            sign = "−" if of_measure[best] < 0 else ""
            assert f">{place}: {sign}{100 * abs(of_measure[best]):.1f} %<" in text


def test_the_veil_is_lifted_by_the_share(opened, recorded):
    """Read back from the canvas: where nothing mattered lies grey, alpha 255 x 0.85."""
    reader = opened(recorded)
    reader.tab(VIEW)
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    veils = re.findall(r'href="(data:image/png[^"]+)"', text)[1::2]
    rows = range(len(recorded.axes["target"].texts))
    most = max(np.abs(shares_of(values_of(recorded, "words", row))).max() for row in rows)
    read = """async (url) => { const image = new Image(); image.src = url; await image.decode();
        const canvas = document.createElement("canvas"); canvas.width = 4; canvas.height = 4;
        const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
        return [...context.getImageData(0, 0, 4, 4).data].filter((_, i) => i % 4 === 3); }"""
    for veil, shares in zip(veils, shares_of(values_of(recorded, "words", 0)), strict=True):
        expected = 255 * 0.85 * (1 - np.sqrt(np.abs(shares) / most))
        np.testing.assert_allclose(reader.page.evaluate(read, veil), expected, atol=1.0)


def test_a_cell_is_marked_by_mouse_and_by_keyboard(opened, recorded):
    reader = opened(recorded)
    reader.tab(VIEW)
    shares = shares_of(values_of(recorded, "words", 0))
    start = int(np.abs(shares[0]).argmax())
    assert "Click a cell" in reader.page.locator("p.said").inner_text()
    reader.page.locator("#maps").focus()
    key, cell = ("ArrowDown", start + 4) if start < 12 else ("ArrowUp", start - 4)
    reader.page.keyboard.press(key)
    said = reader.page.locator("p.said").inner_text()
    assert f"{cell // 4 + 1},{cell % 4 + 1}: attention {100 * shares[0][cell]:.1f} %" in said
    against = "−" if shares[-1][cell] < 0 else ""
    assert said.endswith(f"pixel occlusion {against}{100 * abs(shares[-1][cell]):.1f} %")
    assert f"spot={cell}" in reader.page.url
    assert reader.page.evaluate("document.activeElement.id") == "maps"
    assert said in reader.page.locator("#maps").get_attribute("aria-label")
    # The first map begins 8 px from the left and 68 from the top, and is 222 wide.
    reader.page.locator("#maps").click(position={"x": 8 + 10, "y": 68 + 10})
    assert "spot=0" in reader.page.url
    reader.page.locator("#maps").click(position={"x": 8 + 10, "y": 68 + 10})
    assert "spot" not in reader.page.url, "another click takes it away"


def test_what_was_written_before_has_bars(opened, recorded):
    reader = opened(recorded)
    reader.tab(VIEW)
    reader.page.locator("#written-2").click()
    reader.choose("Maps over", "the prefix")
    assert reader.page.locator("#maps").count() == 0
    bars = tables(reader)[0]
    assert [row[0] for row in bars] == [*recorded.axes["target"].texts, "rest (<s>)"]
    facts = recorded.findings.attribution["words"]
    names = ["rollout", "flow", "product", "slope", "blank"]
    shown = np.array([[float(cell) for cell in row[1:]] for row in bars])
    rest = [facts.rest.get(name, {}).get("target") for name in names]
    expected = np.array(
        [
            [*facts.measures[name]["target"][2], 0.0 if left is None else left[2]]
            for name, left in zip(names, rest, strict=True)
        ]
    ).T
    np.testing.assert_allclose(shown, expected, atol=6e-5)


def test_what_is_seen_is_saved(opened, recorded):
    reader = opened(recorded)
    reader.tab(VIEW)
    with reader.page.expect_download() as found:
        take(reader.page, "save-png")
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_trace_without_its_picture_has_maps_all_the_same(opened, recorded):
    reader = opened(replace(recorded, picture=None))
    reader.tab(VIEW)
    assert reader.page.locator("#maps").count() == 1


def test_korean_readers_get_korean(opened, recorded):
    reader = opened(recorded, "ko-KR")
    reader.tab("기여도")
    assert "픽셀 가리기" in reader.page.locator("#maps").get_attribute("aria-label")
    assert "밝은 곳이 기여한 곳" in reader.page.locator("#panel .help").inner_text()
    reader.choose("표시 형식", "표")
    captions = reader.page.locator("#panel caption").all_inner_texts()
    assert any("이미지의 비중" in caption for caption in captions)


@pytest.mark.parametrize("fragment", ["view=mattered&spot=5", "view=mattered&as=table"])
def test_page_is_accessible(opened, recorded, fragment):
    reader = opened(recorded)
    reader.page.evaluate(f"location.hash = '{fragment}'")
    reader.page.locator("#panel").wait_for()
    assert reader.serious() == []


@pytest.mark.parametrize("memory", ["grid", "one"])
def test_the_live_page_asks_for_it_where_there_are_cells(browser, tmp_path, memory):
    folder = write_captioner(tmp_path / "model", memory=memory)
    file = write_noise(tmp_path / "noise.png")
    served = Captioner.load(folder, device="cpu")

    def traced(text, target=None, **asked):
        return jumok.trace(served, text, target, **asked)

    first = found(jumok.trace(served, file), attribution=None)
    pictures = ServedPictures(str(file), lambda path: None)
    server = LocalServer(lambda token: html(first, token), answers(Comparison(traced), pictures))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_context(locale="en-US").new_page()
    page.goto(server.link)
    page.locator("#sentence").wait_for()
    if memory == "grid":
        open_view(page, VIEW)
        playwright.expect(page.locator("#maps")).to_have_count(1)
        assert page.locator("#blank-0").count() == 0
    else:
        assert "mattered" not in views_of(page), "one vector has no cells"
    page.context.close()
    server.shutdown()
    server.server_close()
