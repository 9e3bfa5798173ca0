"""The overview: every generated sentence is computed again, from the trace and the model."""

import re
from dataclasses import replace

import numpy as np
import pytest

from jumok.inspection.hooks.intervene import Change
from jumok.inspection.trace import Axis, Site, Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.browser.conftest import Reader, open_controls
from tests.browser.effects import chance, says_effect, steps_of_word
from tests.browser.kinds import SHORT, whole
from tests.browser.test_page_kinds import CONTROLS, named
from tests.inspection.traces import HOSTILE, found, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

WRITTEN = re.compile(
    r"“(.+?)” was written while attending most to (.+?) \(([\d.]+ %) of the attention([^)]*)\)"
)
LOOKED = re.compile(
    r"(?:While reading )?“?(.+?)”?(?:, the model)? attended most to (.+?) "
    r"\(([\d.]+ %) of the attention([^)]*)\)"
)
KINDS = (
    "Transformer", "Bahdanau's RNN", "captioner", "language model",
    "CNN", "masked model", "text classifier", "BERT",
)  # fmt: skip


def said(reader: Reader) -> str:
    return reader.page.locator("#sentence").inner_text()


def percent(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def word_map(recorded: Trace, site: Site, head: int | None, reads: bool) -> np.ndarray:
    """(words words): sums over a key's tokens, means over a query's; by the step's own rule."""
    matrix = site.weights.mean(0) if head is None else site.weights[head]
    queries, keys = recorded.axes[site.queries], recorded.axes[site.keys]
    shift = 0 if reads or site.part not in ("decoder", "cross") else 1
    out = np.zeros((len(queries.texts), len(keys.texts)))
    for row in range(len(queries.texts)):
        steps = [i - shift for i, word in enumerate(queries.words) if word == row and i >= shift]
        for column in range(len(keys.texts)):
            tokens = [i for i, word in enumerate(keys.words) if word == column]
            out[row, column] = matrix[np.ix_(steps, tokens)].sum(1).mean() if steps else 0
    return out


def shown(axis: Axis) -> list[str]:
    """The words as the page shows them: control characters by their names."""
    return [CONTROLS.sub(named, text) for text in axis.texts]


def cell_of(text: str, columns: int) -> int:
    """The cell that a sentence names by its row and column."""
    row, column = map(int, re.search(r"\(row (\d+), column (\d+)\)", text).groups())
    return (row - 1) * columns + column - 1


def pressed(reader: Reader) -> tuple[str, int | None]:
    """The site and the head that the strip shows as chosen."""
    chosen = reader.page.locator('#strip [aria-pressed="true"]')
    if chosen.count() == 0:
        return "", None
    name, head = chosen.get_attribute("id").removeprefix("head-").rsplit("-", 1)
    return name, None if head == "mean" else int(head)


def opened_at(recorded: Trace, reader: Reader) -> tuple[Site, int | None]:
    name, head = pressed(reader)
    alone = next(site for site in recorded.sites if site.name == name or not name)
    return alone, head if name else 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_sentence_of_every_kind_is_true(opened, folders, kind):
    """Word, key, share and effect, each from the arrays or from the model run once more."""
    recorded = whole(folders, kind)
    reader = opened(recorded, view="overview")
    site, head = opened_at(recorded, reader)
    sentence = said(reader)
    word, key, share, where = (WRITTEN.match(sentence) or LOOKED.match(sentence)).groups()
    alone = head is not None and len(site.weights) > 1
    assert where == (f" in layer {site.layer + 1}, head {head + 1}" if alone else "")
    values = word_map(recorded, site, head, recorded.findings.at_input)
    grid, queries = recorded.axes[site.keys].grid, recorded.axes[site.queries]
    column = cell_of(key, grid[1]) if grid else shown(recorded.axes[site.keys]).index(key[1:-1])
    row = cell_of(word, grid[1]) if site.part == "image" else shown(queries).index(word)
    assert column == values[row].argmax()
    assert percent(share) == pytest.approx(values[row, column], abs=0.0051)
    next_word = recorded.findings.own_rows
    words = recorded.findings.attribution or {}
    if words and site.queries == words["words"].own and row + next_word < len(queries.texts):
        blank = words["words"].measures["blank"][site.keys]
        steps = steps_of_word(recorded, site.queries, row + next_word)
        drop = blank[row + next_word, column] * len(steps)
        assert says_effect(sentence, drop, chance(recorded, steps))
    elif recorded.steps and head is not None:
        family = load_family(folders[kind][0], device="cpu")
        without = family.trace(
            folders[kind][1], recorded.findings.written, SHORT,
            change=Change(off={site.name: [head]}), extras=Analyses(False, False, False, False),
        )  # fmt: skip
        drop = sum(a.log_probability - b.log_probability
                   for a, b in zip(recorded.steps, without.steps, strict=True))  # fmt: skip
        assert says_effect(sentence, drop, chance(recorded))
    else:
        even = percent(re.search(r"evenly, this would be ([\d.]+ %)", sentence)[1])
        tokens = recorded.axes[site.keys].words.count(column)
        assert (f"(it is {tokens} of them)" in sentence) == (tokens > 1)
        assert even == pytest.approx(tokens / len(recorded.axes[site.keys].tokens), abs=0.0051)


def test_the_effect_of_occlusion_is_that_of_the_changed_model(opened, folders):
    """The log-probability of a word of several tokens, with the key's vectors set to 0."""
    recorded = whole(folders, "Transformer")
    reader = opened(recorded, view="overview")
    axis, own = recorded.axes["source"], recorded.axes["target"]
    reader.page.locator("#row-0").click()
    reader.page.locator("#key-1").click()
    assert "query=" in reader.page.url
    assert "key=" in reader.page.url
    blank = tuple(i for i, word in enumerate(axis.words) if word == 1)
    family = load_family(folders["Transformer"][0], device="cpu")
    changed = family.trace(
        recorded.text, recorded.findings.written, SHORT,
        change=Change(blank=blank), extras=Analyses(False, False, False, False),
    )  # fmt: skip
    steps = [i - 1 for i, word in enumerate(own.words) if word == 0]
    drop = sum(recorded.steps[i].log_probability - changed.steps[i].log_probability for i in steps)
    assert says_effect(said(reader), drop, chance(recorded, steps))


def test_a_word_that_is_pointed_at_says_where_it_looked(opened):
    recorded = trace()
    reader = opened(recorded, view="overview")
    weights = next(site for site in recorded.sites if site.name == "cross.0").weights.mean(0)
    for row, word in enumerate(("고양이가", "뛰었다")):
        reader.page.locator(f"#row-{row}").hover()
        column = int(weights[row, :3].argmax())
        share = f"{100 * weights[row, column]:.0f} %"
        assert f"“{word}” was written" in said(reader)
        assert f"“{recorded.axes['source'].texts[column]}” ({share} of the attention)" in said(
            reader
        )
        numbers = reader.page.locator(".keys .word small").all_inner_texts()
        expected = [
            f"{100 * weight:.0f}\u202f%" if weight >= 0.05 else "" for weight in weights[row, :3]
        ]
        assert numbers == expected
        bands = reader.page.locator(".bands path.on")
        expect(bands).to_have_count(int((weights[row, :3] >= 0.02).sum()))
    reader.page.locator("h1").hover()
    expect(reader.page.locator(".rows .chosen")).to_have_count(1)


def test_the_keyboard_walks_over_words_heads_and_lines(opened):
    reader = opened(trace(), view="overview")
    keyboard = reader.page.keyboard
    reader.page.locator("#row-0").focus()
    keyboard.press("ArrowRight")
    assert "뛰었다" in said(reader)
    keyboard.press("ArrowUp")
    assert reader.page.evaluate("document.activeElement.id").startswith("key-")
    keyboard.press("ArrowDown")
    assert reader.page.evaluate("document.activeElement.id") in ("row-0", "row-1")
    keyboard.press("Enter")
    assert "query=" in reader.page.url
    assert reader.page.evaluate("document.activeElement.className").startswith("word")
    reader.page.locator('#strip [tabindex="0"]').focus()
    keyboard.press("ArrowRight")
    keyboard.press("Enter")
    assert pressed(reader) == ("cross.0", 0)
    assert "head=0" in reader.page.url


def test_a_finger_is_enough(browser, tmp_path):
    from jumok.inspection.page.document import page as html

    file = tmp_path / "page.html"
    file.write_text(html(trace()), "utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator("#row-1").tap()
    expect(page.locator("#sentence")).to_contain_text("“뛰었다” was written")
    page.locator(".help .term, .heads .term").first.tap()
    expect(page.locator(".tooltip")).to_be_visible()
    context.close()


def test_a_phone_shows_the_picture_first(opened):
    reader = opened(trace(), view="overview")
    reader.page.set_viewport_size({"width": 400, "height": 800})
    box = reader.page.locator(".lines").bounding_box()
    assert box["y"] + box["height"] < 700
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("ko-KR", "dark")])
@pytest.mark.parametrize("kind", ["Transformer", "captioner"])
def test_the_overview_is_accessible_everywhere(
    opened,
    folders,
    kind,
    language,
    theme,
):
    reader = opened(whole(folders, kind), language, view="overview")
    reader.page.emulate_media(color_scheme=theme)
    for width in (1280, 400):
        reader.page.set_viewport_size({"width": width, "height": 800})
        assert reader.serious() == []
    if language == "ko-KR":
        assert re.search(
            r"이 단어를 쓸 때 .+에 가장 많이 주목했습니다\(어텐션의 [\d.]+%\)\.", said(reader)
        )


def test_an_image_opens_bright_where_the_strongest_word_attended(opened, folders):
    """It is not shown twice; without shading it is beside the input of the other views."""
    folder, picture = folders["captioner"]
    captioned = load_family(folder, device="cpu").trace(picture, "the cat sat on a mat")
    reader = opened(captioned, view="overview")
    reader.page.wait_for_timeout(50)  # the image is decoded beside the page
    assert not reader.page.locator("img.seen").is_visible()
    drawn = "document.getElementById('overview-image').toDataURL()"
    plain = """(() => {
      const canvas = document.getElementById("overview-image");
      const canvasSize = { width: canvas.width, height: canvas.height };
      const other = Object.assign(document.createElement("canvas"), canvasSize);
      const size = [0, 0, canvas.width, canvas.height];
      other.getContext("2d").drawImage(document.querySelector("img.seen"), ...size);
      const [own, whole] = [canvas, other].map((each) =>
        each.getContext("2d").getImageData(...size).data);
      let darker = 0;
      for (let i = 0; i < own.length; i += 4) if (Math.abs(own[i] - whole[i]) > 8) darker++;
      return darker / (own.length / 4);
    })()"""
    assert reader.page.evaluate(plain) > 0.3, "what was not attended to is grey"
    opening = reader.page.evaluate(drawn)
    chosen = reader.page.locator(".rows .chosen")
    chosen.hover()
    assert reader.page.evaluate(drawn) == opening
    others = reader.page.locator(".rows .word:not(.chosen)")
    others.first.hover()
    assert reader.page.evaluate(drawn) != opening
    reader.page.locator("h1").hover()
    assert reader.page.evaluate(drawn) == opening


def test_one_cursor_in_all_views(opened):
    """The same word, the same head and the same number from the overview down to the row."""
    reader = opened(trace(), view="overview")
    reader.page.locator('[id="head-cross.1-2"]').click()
    reader.page.locator("#row-1").click()
    reader.page.locator("#key-2").click()
    weight = reader.page.locator("#path-cell").inner_text()
    share = percent(re.fullmatch(r"“ran” \((.+)\)", weight)[1])
    reader.page.locator("#path-map").click()
    assert reader.page.locator("#path-cell").inner_text() == weight
    named, number = reader.page.locator("#panel .said").inner_text().split(": ")
    assert named == "뛰었다 → ran"
    assert float(number) == pytest.approx(share, abs=0.006)
    reader.page.locator("#path-cell").click()
    assert reader.page.locator("#path-cell").inner_text() == weight
    row = reader.page.locator('tr[aria-current="true"]')
    assert row.locator("th").inner_text() == "ran"
    softmax = float(row.locator("td").nth(2).inner_text())
    assert softmax == pytest.approx(float(number), abs=0.0006)
    open_controls(reader.page)
    assert reader.page.get_by_label("Head", exact=True).input_value() == "2"
    reader.page.go_back()
    reader.page.locator('#tab-board[aria-selected="true"]').wait_for()
    assert reader.page.locator("#path-cell").inner_text() == weight
    reader.page.go_back()
    reader.page.locator('#row-1[aria-pressed="true"]').wait_for()


def test_the_word_of_the_attribution_is_the_word_of_the_overview(opened, folders):
    folder, picture = folders["captioner"]
    extras = Analyses(ablation=False, search_tree=False, layers=False)
    recorded = load_family(folder).trace(picture, "the cat sat", SHORT, extras=extras)
    reader = opened(recorded, view="mattered")
    for word in (2, 1):
        reader.tab("mattered")
        reader.page.locator(f"#written-{word}").click()
        reader.tab("overview")
        assert reader.page.locator(f'#row-{word}[aria-pressed="true"]').count() == 1


def test_what_is_no_word_is_said_where_it_has_most(opened):
    recorded = trace()
    sites = tuple(
        replace(site, weights=np.array([[[0.1, 0.2, 0.1, 0.6]] * 3] * 3, dtype=np.float32))
        if site.part == "cross" else site for site in recorded.sites
    )  # fmt: skip
    sentence = said(opened(replace(recorded, sites=sites), view="overview"))
    assert "“cat” (20 % of the attention); 60 % went to no word (</s>)" in sentence


def test_words_are_text_in_the_overview(opened):
    recorded = trace(source=HOSTILE, target=HOSTILE)
    reader = opened(recorded, view="overview")
    for row in range(len(HOSTILE)):
        reader.page.locator(f"#row-{row}").hover()
    assert reader.page.evaluate("window.ran") is None
    assert "U+202E" in reader.page.locator(".keys").inner_text()


def test_a_long_text_has_an_overview_without_scrolling_sideways(opened):
    names = tuple(f"w{i}" for i in range(130))
    axis = Axis(names, tuple(range(130)), names)
    weights = np.full((2, 130, 130), 0.1 / 129, dtype=np.float32)
    weights[:, np.arange(130), np.arange(130)[::-1]] = 0.9
    site = Site("encoder.0", "scaled-dot", "encoder", 0, "text", "text", weights)
    recorded = Trace("long", "weights", " ".join(names), "", {"text": axis}, (site,), task="bert")
    reader = opened(recorded, view="overview")
    reader.page.locator("#row-3").focus()
    assert "“w3” attended most to “w126” (90 % of the attention in layer 1, head 1)" in said(reader)
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_a_changed_model_is_not_explained_by_the_numbers_of_the_original(opened):
    recorded = found(trace(), attribution=None, ablation=None)
    sentence = said(opened(recorded, view="overview"))
    assert "without" not in sentence
    assert "evenly, this would be 25 %." in sentence
