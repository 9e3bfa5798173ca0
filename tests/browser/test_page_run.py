"""The view of a training run, and the commands that go on with its model."""

from dataclasses import replace

import pytest

from jumok.bundle.card import Score
from jumok.data.files.run_log import RunLog
from jumok.inspection.page.document import page as html
from jumok.inspection.page.run_report import RunReport, UnseenExample
from tests.browser.conftest import open_controls, take
from tests.inspection.test_run_report import check, step
from tests.inspection.traces import trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

EVIL = "</script><img src=x onerror=ran()>"
STEPS = [step(number, 8.0 / number**0.5) for number in range(10, 2010, 10)]
CHECKS = [
    check(400, 1.5, True, bleu=20.25),
    check(1200, 0.14639, True, bleu=95.98),
    check(2000, 0.2, False, bleu=94.0),
]
EXAMPLES = (UnseenExample("a cat", "고양이", "고양이"), UnseenExample(EVIL, "개", EVIL))
REPORT = RunReport(
    RunLog("first", STEPS, CHECKS),
    {"look": "jumok look runs/first/model", "use": f"echo '{EVIL}' | jumok translate a"},
    EXAMPLES,
    (Score("BLEU", 95.2, on="300"),),
    1_566_208,
)


def numbers_of(reader, title: str) -> list[list[str]]:
    rows = reader.page.get_by_role("region", name=title, exact=True).locator("tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


@pytest.fixture
def told(reading):
    def open_run(language: str = "en-US", view: str = "run", report: RunReport = REPORT):
        return reading(html(trace(), run=report), language, view)

    return open_run


def test_the_sentence_has_the_numbers_of_the_log(told):
    said = told().page.locator("#sentence").inner_text()
    assert "Trained in 2,000 steps, 200 min." in said
    assert "The best validation was at step 1,200: loss 0.146, BLEU 96." in said
    assert "On 300 unseen examples: BLEU 95.2." in said
    assert "1,566,208 parameters." in said


def test_the_sentence_in_korean(told):
    said = told("ko-KR").page.locator("#sentence").inner_text()
    assert "2,000단계를 200분 동안 학습했습니다." in said
    assert "1,200단계의 값은 손실 0.146, BLEU 96입니다." in said


def test_every_point_is_in_the_table(told):
    reader = told()
    open_controls(reader.page)
    reader.page.get_by_label("Show as", exact=True).select_option(label="table")
    loss = numbers_of(reader, "loss (nats)")
    assert loss[0] == ["steps", "minutes", "training", "validation"]
    payload = REPORT.payload()
    training, validation = ({} for _ in range(2))
    for side, points in ((training, payload["training"]), (validation, payload["validation"])):
        side.update({number: value for number, _, value in points["loss"]})
    assert {int(row[0]) for row in loss[1:]} == {*training, *validation}
    for number, _, drawn, checked in loss[1:]:
        assert (float(drawn) if drawn else None) == training.get(int(number))
        assert (float(checked) if checked else None) == validation.get(int(number))
    bleu = numbers_of(reader, "validation BLEU")
    assert bleu[1:] == [["400", "40", "20.25"], ["1200", "120", "95.98"], ["2000", "200", "94"]]
    rates = numbers_of(reader, "learning rate")
    assert len(rates) == len(payload["training"]["learning_rate"]) + 1


def test_the_slider_says_the_numbers_of_a_moment(told):
    reader = told()
    said = reader.page.locator("#panel .said")
    assert "Step 2,000, minute 200: loss (nats), training 0.179; loss (nats), validation 0.2; " in (
        said.inner_text()
    )
    reader.page.locator("#run-moment").focus()
    reader.page.keyboard.press("ArrowLeft")
    assert "Step 1,200" in said.inner_text()
    assert "validation BLEU 96" in said.inner_text()
    assert reader.page.locator("#run-moment").get_attribute("aria-valuetext") == said.inner_text()
    canvas = reader.page.locator(".panels canvas").first
    canvas.hover(position={"x": 60, "y": 100})
    assert "Step 400" in said.inner_text()


@pytest.mark.parametrize(("along", "last"), [("steps", "2,000"), ("minutes", "200")])
def test_the_curves_are_drawn_along_steps_or_minutes(told, along, last):
    reader = told()
    open_controls(reader.page)
    reader.page.get_by_label("Horizontal axis", exact=True).select_option(label=along)
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    drawn = found.value.path().read_text("utf-8")
    assert drawn.count("<polyline") > 10
    assert f">{last}</text>" in drawn
    assert f">{along}</text>" in drawn


def test_examples_and_commands_are_texts(told):
    reader = told()
    rows = numbers_of(reader, "Unseen examples: 1 of these 2 are the reference word for word")
    assert rows[1:] == [["a cat", "고양이", "✓ the same"], [EVIL, "개", EVIL]]
    buttons = reader.page.locator(".use button code")
    assert buttons.all_inner_texts() == [*REPORT.commands.values()]
    hints = reader.page.locator(".use button span").all_inner_texts()
    assert hints == ["an input of your own", "only the output"]


def test_a_command_is_copied_or_selected(told):
    reader = told(view="overview")
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = reader.page.locator(".use button").first
    status = reader.page.locator(".use [role=status]")
    reader.page.locator(".use > summary").click()
    button.click()
    expect(status).to_have_text("Copied.")
    assert reader.page.evaluate("navigator.clipboard.readText()") == REPORT.commands["look"]
    reader.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    button.click()
    expect(status).to_have_text("Selected: copy it with Ctrl+C.")
    assert reader.page.evaluate("String(getSelection())") == REPORT.commands["look"]


@pytest.mark.parametrize("wide", [1280, 400])
@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_translation_and_attention_are_above_the_fold_and_commands_at_the_end(told, wide, language):
    reader = told(language, "")
    reader.page.set_viewport_size({"width": wide, "height": 800})
    for seen in ("#sentence", ".lines"):
        place = reader.page.locator(seen).bounding_box()
        assert place["y"] >= 0, seen
        assert place["y"] + place["height"] <= 800, seen
        assert place["x"] < wide
    commands = reader.page.locator(".use > summary").bounding_box()
    assert commands["y"] > reader.page.locator("#more").bounding_box()["y"]
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= wide


def test_a_page_without_a_run_has_neither(opened):
    reader = opened(trace())
    assert "run" not in [*reader.views()]
    assert reader.page.locator(".use").count() == 0


def test_a_run_of_which_little_is_known_is_told(told):
    """One that was stopped before its first validation."""
    reader = told(report=RunReport(RunLog("a", STEPS[:1], [])))
    said = reader.page.locator("#sentence").inner_text()
    assert said == "Trained in 10 steps, 1 min."
    assert "Step 10" in reader.page.locator("#panel .said").inner_text()
    unknown = replace(REPORT, log=RunLog("a", [], CHECKS[:1]))
    assert "Step 400" in told(report=unknown).page.locator("#panel .said").inner_text()
