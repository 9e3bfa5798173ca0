"""How fast a large trace becomes a picture: 12 layers of 12 heads, in a headless Chromium.

    python -m benchmarks.page

Others, by the same measure (two cores, no GPU): BertViz's model view at 128 tokens needs a file of
107 MB and 54.5 s; CircuitsVis needs 13.3 s for one layer.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from jumok.inspection.page import page
from jumok.inspection.trace import Axis, Site, Trace

LAYERS = HEADS = 12
REPEATS = 5


def trace(tokens: int) -> Trace:
    """Random softmax weights, as the comparison of viewers used."""
    random = np.random.default_rng(1)
    axis = Axis(
        tuple(f"▁w{i}" for i in range(tokens)),
        tuple(range(tokens)),
        tuple(f"w{i}" for i in range(tokens)),
    )
    sites = []
    for layer in range(LAYERS):
        powers = np.exp(3 * random.normal(size=(HEADS, tokens, tokens)).astype(np.float32))
        weights = powers / powers.sum(-1, keepdims=True)
        name = f"encoder.blocks.{layer}.self_attention"
        sites.append(Site(name, "scaled-dot", "encoder", layer, "source", "source", weights))
    return Trace("random", "weights", "", "", {"source": axis}, tuple(sites))


def measure(browser: Browser, file: Path) -> tuple[float, float]:
    """Seconds from the start of loading to the grid of all heads; and to change its layer."""
    tab = browser.new_page()
    start = perf_counter()
    tab.goto(f"{file.as_uri()}#view=grid")
    tab.wait_for_function(f"document.querySelectorAll('.grid canvas').length === {LAYERS * HEADS}")
    # Two frames later what was drawn is on the screen.
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    first = perf_counter() - start
    tab.evaluate("location.hash = '#view=board&layer=3&unit=pieces'")
    tab.wait_for_selector("#panel canvas")
    start = perf_counter()
    tab.evaluate("location.hash = '#view=board&layer=7&unit=pieces'")
    tab.wait_for_function("document.querySelector('#panel canvas').ariaLabel.endsWith('8')")
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    change = perf_counter() - start
    tab.close()
    return first, change


def main() -> None:
    """Prints a row for each length."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    print("| tokens | file, MB | first picture, s | layer change, s |\n|---|---|---|---|")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        for tokens in (128, 512):
            file = Path(folder) / f"{tokens}.html"
            file.write_text(page(trace(tokens)), encoding="utf-8")
            runs = [measure(browser, file) for _ in range(REPEATS)]
            first, change = (median(column) for column in zip(*runs, strict=True))
            size = file.stat().st_size / 1e6
            print(f"| {tokens} | {size:.1f} | {first:.2f} | {change:.2f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
