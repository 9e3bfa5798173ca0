"""How fast a model in a page opens and answers, in a headless Chromium without a network.

    python -m benchmarks.exported MODEL [PRECISION] [--inputs PATH]

A model that translates from English or Korean is given the sentences of the built-in corpus; a
language model needs a file with beginnings of texts, a line each, and a captioner a folder of
photographs.
"""

import argparse
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from playwright.sync_api import Browser

from benchmarks.chromium import chromium, counted, counting
from jumok.bundle.reading import Bundle, read_bundle
from jumok.cli.verbs.ship.export import write_export
from smallworld.corpus import pairs

OPENINGS, INPUTS = 5, 200
SHOWN = "(text) => document.title.endsWith(text) && document.querySelector('.cost')"


@dataclass(frozen=True)
class Answers:
    """What a reader waits for.

    Attributes:
        bytes: the size of the page.
        opening: seconds from the start of loading to the first picture.
        answering: milliseconds of each answer, with its attention and trace.
        cpu: milliseconds of the page's process from key to picture, a mean.
    """

    bytes: int
    opening: float
    answering: list[float]
    cpu: float


def measure(browser: Browser, file: Path, inputs: list[str | Path]) -> Answers:
    """One reader, who opens the page several times, and gives the inputs to the last."""
    openings = []
    for _ in range(OPENINGS):
        tab = browser.new_context(offline=True).new_page()
        started = perf_counter()
        tab.goto(file.as_uri())
        tab.wait_for_selector("#text, #choose-file", state="attached")
        openings.append(perf_counter() - started)
    session = counting(tab)
    answering, before = [], counted(session)
    for given in inputs:
        if isinstance(given, Path):
            tab.set_input_files("#file", given)
        else:
            tab.locator("#text").fill(given)
        shown = given.name if isinstance(given, Path) else given
        tab.wait_for_function(SHOWN, arg=shown)
        told = tab.locator(".cost").inner_text()
        answering.append(float(told.partition(" ms")[0].rpartition(" ")[2]))
    whole = 1000 * (counted(session) - before) / len(inputs)
    return Answers(file.stat().st_size, median(openings), answering, whole)


def inputs_for(bundle: Bundle, path: Path | None) -> list[str | Path]:
    """What the page is given."""
    if path is None:
        english = bundle.config.source_language != "ko"
        return [pair.source if english else pair.target for pair in islice(pairs("test"), INPUTS)]
    if path.is_dir():
        return [*sorted(path.iterdir())[:INPUTS]]
    lines = map(str.strip, path.read_text("utf-8").splitlines())
    return [*islice(filter(None, dict.fromkeys(lines)), INPUTS)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exported", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("precision", nargs="?", choices=["int8", "bf16", "fp32"], default="int8")
    parser.add_argument("--inputs", type=Path)
    given = parser.parse_args()
    bundle = read_bundle(given.model)
    inputs = inputs_for(bundle, given.inputs)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        write_export(bundle, "web", file, precision=given.precision)
        answers = measure(browser, file, inputs)
    middle, late = median(answers.answering), quantiles(answers.answering, n=20)[-1]
    print(f"{answers.bytes / 1e6:.2f} MB; opens in {answers.opening:.2f} s")
    print(
        f"answers in {middle:.1f} ms (median of {len(inputs)}), {late:.1f} ms (95 %); "
        f"{answers.cpu:.1f} ms of processor time from key to picture"
    )


if __name__ == "__main__":
    main()
