"""Films: real video files, which the browser makes without asking for anything."""

import base64
from pathlib import Path

import pytest

from tests.browser.conftest import PATIENCE, open_view, take
from tests.browser.kinds import traced
from tests.browser.webm import Film, film

pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

DECODED = """async ([data, count]) => {
  const video = document.createElement("video");
  video.muted = true;
  video.src = `data:video/webm;base64,${data}`;
  await new Promise((done) => { video.onloadeddata = done; });
  const to = (time) => new Promise((done) => { video.onseeked = done; video.currentTime = time; });
  await to(1e6);
  const end = video.currentTime;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const found = new Set();
  for (let i = 0; i < count; i++) {
    await to((end * i) / count);
    context.drawImage(video, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    let sum = 0; // of coarse shades: what the codec adds does not count as another picture
    for (let at = 0; at < data.length; at += 4) sum = (sum * 31 + (data[at] >> 5)) % 2147483647;
    found.add(sum);
  }
  return [end, canvas.width, canvas.height, found.size];
}"""


def filmed(page: object, folder: Path) -> tuple[str, Film, bytes]:
    with page.expect_download(timeout=2 * PATIENCE) as download:
        take(page, "save-film")
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file.name, film(file), file.read_bytes()


@pytest.mark.parametrize(("view", "least"), [("walk", 20), ("flow", 20), ("overview", 1)])
def test_a_film_is_a_real_one(opened, browser, folders, tmp_path, view, least):
    reader = opened(traced(folders, "Transformer"), view=view)
    page = reader.page
    if view != "overview":
        page.locator(f"#{view}-next").click()  # what plays by itself makes way for the film
    name, found, data = filmed(page, tmp_path)
    assert name.startswith(f"tiny-{view}") or f"-{view}-" in name
    assert found.codec in ("V_VP8", "V_VP9")
    box = page.locator("#walk, #flow, .lines").first.bounding_box()
    assert found.width > box["width"]
    assert found.seconds > 2 or view == "overview"
    assert len(found.frames) > 20
    times = [time for time, _ in found.frames]
    assert times == sorted(times)
    page.locator("#save-film").wait_for()
    assert page.locator("#taken").inner_text() == f"Saved: {name}."
    viewer = browser.new_page()
    seconds, width, height, different = viewer.evaluate(
        DECODED, [base64.b64encode(data).decode("ascii"), 60]
    )
    viewer.close()
    assert (width, height) == (found.width, found.height)
    assert seconds == pytest.approx(found.seconds, abs=0.5)
    assert different > least


def test_a_film_can_be_ended_before(opened, folders, tmp_path):
    page = opened(traced(folders, "Transformer"), view="walk").page
    take(page, "save-film")
    button = page.get_by_role("button", name="Stop filming")
    page.wait_for_timeout(1500)
    with page.expect_download() as download:
        button.click()
    download.value.save_as(tmp_path / "film.webm")
    assert 0.5 < film(tmp_path / "film.webm").seconds < 15
    page.get_by_role("button", name="Save as film").wait_for()


def test_another_view_ends_a_film(opened, folders, tmp_path):
    page = opened(traced(folders, "Transformer"), view="walk").page
    take(page, "save-film")
    page.wait_for_timeout(800)
    with page.expect_download() as download:
        open_view(page, "board")
    download.value.save_as(tmp_path / "film.webm")
    assert film(tmp_path / "film.webm").seconds > 0.3


def test_no_film_is_offered_where_nothing_moves(opened, folders):
    page = opened(traced(folders, "Transformer"), view="board").page
    assert page.locator("#save-svg").count() == 1
    assert page.locator("#save-film").count() == 0
