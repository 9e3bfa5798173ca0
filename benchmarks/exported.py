"""How fast a model in a page opens and answers, in a headless Chromium without a network.

    python -m benchmarks.exported MODEL [PRECISION]

MODEL translates from English or Korean; the sentences are those of the built-in corpus.
"""

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from playwright.sync_api import Browser, sync_playwright

from jumok.bundle.reading import read_bundle
from jumok.cli.verbs.export import save_web_page
from smallworld.corpus import pairs

OPENINGS, SENTENCES = 5, 200
SHOWN = "(text) => document.title.endsWith(text) && document.querySelector('.cost')"


@dataclass(frozen=True)
class Answers:
    """What a reader waits for.

    Attributes:
        bytes: the size of the page.
        opening: seconds from the start of loading to the first picture.
        answering: milliseconds of each translation, with its attention and trace.
        cpu: milliseconds of the page's process from key to picture, a mean.
    """

    bytes: int
    opening: float
    answering: list[float]
    cpu: float


def measure(browser: Browser, file: Path, texts: list[str]) -> Answers:
    """One reader, who opens the page several times, and types the sentences into the last."""
    openings = []
    for _ in range(OPENINGS):
        tab = browser.new_context(offline=True).new_page()
        started = perf_counter()
        tab.goto(file.as_uri())
        tab.wait_for_selector("canvas")
        openings.append(perf_counter() - started)
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable")

    def cpu() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "ProcessTime")

    answering, before = [], cpu()
    for text in texts:
        tab.locator("#text").fill(text)
        tab.wait_for_function(SHOWN, arg=text)
        told = tab.locator(".cost").inner_text()
        answering.append(float(told.partition(" ms")[0].rpartition(" ")[2]))
    whole = 1000 * (cpu() - before) / len(texts)
    return Answers(file.stat().st_size, median(openings), answering, whole)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exported", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("precision", nargs="?", choices=["int8", "bf16", "fp32"], default="int8")
    given = parser.parse_args()
    bundle = read_bundle(given.model)
    english = bundle.config.source_language != "ko"
    chosen = zip(pairs("test"), range(SENTENCES), strict=False)
    texts = [pair.source if english else pair.target for pair, _ in chosen]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "page.html"
        save_web_page(bundle, file, precision=given.precision)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        answers = measure(browser, file, texts)
        browser.close()
    middle, late = median(answers.answering), quantiles(answers.answering, n=20)[-1]
    print(f"{answers.bytes / 1e6:.2f} MB; opens in {answers.opening:.2f} s")
    print(
        f"answers in {middle:.1f} ms (median of {len(texts)}), {late:.1f} ms (95 %); "
        f"{answers.cpu:.1f} ms of processor time from key to picture"
    )


if __name__ == "__main__":
    main()
