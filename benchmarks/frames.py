"""How smoothly the page moves on a slow processor: frames a second of what plays in it.

    python -m benchmarks.frames demo/report.html

Chromium slows the processor down four times, as its developer tools do. A frame counts when the
page has drawn it, so that 60 a second is the most there is.
"""

import argparse
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.chromium import chromium, counted, counting
from benchmarks.page import trace
from jumok.inspection.page.document import page as html

VIEWS = ("walk", "flow")
SLOWER = 4
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


def motion(page: Page, address: str, view: str, seconds: float) -> Motion:
    """A view while it plays: first as fast as the processor is, then slowed down."""
    session, found = counting(page), []
    for slower in (1, SLOWER):
        page.goto("about:blank")
        page.goto(f"{address}#view={view}")
        page.locator(f"#{view}-play").wait_for()
        page.wait_for_timeout(1000)  # what it opens with has been drawn
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        if page.locator(f"#{view}-play").inner_text() == "▶":  # it has played by itself before
            page.locator(f"#{view}-play").click()
        before = counted(session)
        times = page.evaluate(COUNT, seconds)
        assert page.locator(f"#{view}-play").inner_text() != "▶", "it ended too early"
        found.append((times, 1000 * (counted(session) - before) / len(times)))
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    (_, fast), (times, _) = found
    between = [after - before for before, after in pairwise(times)]
    return Motion(1000 * len(between) / (times[-1] - times[0]), max(between), fast)


def measure(
    browser: Browser, file: Path, view: str, name: str, rounds: int, seconds: float
) -> None:
    """Prints the row of a view."""
    runs = []
    for _ in range(rounds):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        runs.append(motion(context.new_page(), file.resolve().as_uri(), view, seconds))
        context.close()
    rate = median(run.rate for run in runs)
    longest, cpu = median(run.longest for run in runs), median(run.cpu for run in runs)
    print(f"| {name} | {rate:.0f} | {longest:.0f} | {cpu:.1f} |", flush=True)


def main() -> None:
    """Prints a row for each view, and one for the whole of a deep model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, help="a saved page of `jumok look`")
    parser.add_argument("--rounds", type=int, default=3, help="the row has their medians")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    asked = parser.parse_args()
    print("| view | frames per second | longest frame, ms | CPU, ms |\n|---|--:|--:|--:|")
    long = asked.rounds, asked.seconds
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for view in VIEWS:
            measure(browser, asked.page, view, view, *long)
        deep = Path(folder) / "deep.html"
        deep.write_text(html(trace(DEEP)), encoding="utf-8")
        measure(browser, deep, "flow", f"flow, 12 layers of 12 heads, {DEEP} tokens", *long)


if __name__ == "__main__":
    main()
