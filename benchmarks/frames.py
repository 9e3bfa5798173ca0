"""How smoothly the page moves on a slow processor: frames a second of what plays in it.

    python -m benchmarks.frames demo/report.html

Chromium slows the processor down four times, as its developer tools do. A frame counts when the
page has drawn it, so that 60 a second is the most there is.
"""

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.page import trace
from jumok.inspection.page.document import page as html

VIEWS = ("walk", "flow")
SLOWER, SECONDS, REPEATS = 4, 5, 3
DEEP = 32
"""Tokens of a trace of 12 layers of 12 heads."""

COUNT = """async (seconds) => {
  const times = [];
  const end = performance.now() + 1000 * seconds;
  await new Promise((done) => {
    const frame = (time) => {
      times.push(time);
      if (time < end) requestAnimationFrame(frame);
      else done();
    };
    requestAnimationFrame(frame);
  });
  return times;
}"""


@dataclass(frozen=True)
class Motion:
    """Frames a second, the longest time between two in ms, and a frame's processor time in ms.

    The processor time is that of the page's own process without slowing down, whatever else runs.
    """

    rate: float
    longest: float
    cpu: float


def motion(page: Page, address: str, view: str) -> Motion:
    """A view while it plays: first as fast as the processor is, then slowed down."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def cpu() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(1000 * each["value"] for each in metrics if each["name"] == "ProcessTime")

    found = []
    for slower in (1, SLOWER):
        page.goto("about:blank")
        page.goto(f"{address}#view={view}")
        page.locator(f"#{view}-play").wait_for()
        page.wait_for_timeout(1000)  # what it opens with has been drawn
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        if page.locator(f"#{view}-play").inner_text() == "▶":  # it has played by itself before
            page.locator(f"#{view}-play").click()
        before = cpu()
        times = page.evaluate(COUNT, SECONDS)
        assert page.locator(f"#{view}-play").inner_text() != "▶", "it ended too early"
        found.append((times, (cpu() - before) / len(times)))
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    (_, fast), (times, _) = found
    between = [after - before for before, after in pairwise(times)]
    return Motion(1000 * len(between) / (times[-1] - times[0]), max(between), fast)


def measure(browser: Browser, file: Path, view: str, name: str) -> None:
    """Prints the row of a view."""
    runs = []
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        runs.append(motion(context.new_page(), file.resolve().as_uri(), view))
        context.close()
    rate = median(run.rate for run in runs)
    longest, cpu = median(run.longest for run in runs), median(run.cpu for run in runs)
    print(f"| {name} | {rate:.0f} | {longest:.0f} | {cpu:.1f} |", flush=True)


def main() -> None:
    """Prints a row for each view, and one for the whole of a deep model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="a saved page of `jumok look`")
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    print("| view | frames per second | longest frame, ms | CPU, ms |\n|---|--:|--:|--:|")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for view in VIEWS:
            measure(browser, asked.page, view, view)
        deep = Path(folder) / "deep.html"
        deep.write_text(html(trace(DEEP)), encoding="utf-8")
        measure(browser, deep, "flow", f"flow, 12 layers of 12 heads, {DEEP} tokens")
        browser.close()


if __name__ == "__main__":
    main()
