"""How smoothly the page moves on a slow processor: frames a second of what plays in it.

    python -m benchmarks.frames demo/report.html

Chromium slows the processor down four times, as its developer tools do. A frame counts when the
page has drawn it, so that 60 a second is the most there is.
"""

import argparse
import shutil
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

VIEWS = ("walk", "flow")
SLOWER, SECONDS, REPEATS = 4, 5, 3

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


def frames(page: Page, address: str, view: str) -> tuple[float, float]:
    """The frames a second while a view plays, and the longest time between two, in ms."""
    page.goto("about:blank")
    page.goto(f"{address}#view={view}")
    page.locator(f"#{view}-play").wait_for()
    page.wait_for_timeout(1000)  # what it opens with has been drawn
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    if page.locator(f"#{view}-play").inner_text() == "▶":  # it has played by itself before
        page.locator(f"#{view}-play").click()
    times = page.evaluate(COUNT, SECONDS)
    assert page.locator(f"#{view}-play").inner_text() != "▶", "it ended too early"
    session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    between = [after - before for before, after in pairwise(times)]
    return 1000 * len(between) / (times[-1] - times[0]), max(between)


def main() -> None:
    """Prints a row for each view."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="a saved page of `jumok look`")
    parser.add_argument("--view", action="append", help="walk, flow; more than one")
    asked = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    print("| view | frames a second | longest frame, ms |\n|---|--:|--:|")
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for view in asked.view or VIEWS:
            runs = []
            for _ in range(REPEATS):
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                runs.append(frames(context.new_page(), asked.page.resolve().as_uri(), view))
                context.close()
            rates, longest = zip(*runs, strict=True)
            print(f"| {view} | {median(rates):.0f} | {median(longest):.0f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
