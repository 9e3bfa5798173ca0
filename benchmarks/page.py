"""How fast a large trace becomes a picture: 12 layers of 12 heads, in a headless Chromium.

    python -m benchmarks.page
    python -m benchmarks.page --live MODEL "Twenty words ..."     # from key press to picture
    python -m benchmarks.page --frames        # a second, while bands glide, on a slower processor

Others, by the same measure (two cores, no GPU): BertViz's model view at 128 tokens needs a file of
107 MB and 54.5 s; CircuitsVis needs 13.3 s for one layer.
"""

import argparse
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import torch
from playwright.sync_api import Browser

from benchmarks.chromium import chromium, counted, counting
from jumok.inspection.page.document import page
from jumok.inspection.trace import Axis, Site, Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison

LAYERS = HEADS = 12


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


@dataclass(frozen=True)
class Times:
    """What a reader waits for, in seconds; `cpu`: of the page's own process, whatever else runs.

    `overview`: from the start of the navigation until the overview has been drawn, by the page's
    clock; `script`: how long scripts ran until then. `first`: to the grid of all heads, if the link
    names it, and `change`: to another layer's map; both as the driver of the browser sees them.
    """

    overview: float
    script: float
    overview_cpu: float
    first: float
    first_cpu: float
    change: float
    change_cpu: float


DRAWN = """new MutationObserver((changes, observer) => {
  if (!document.querySelector('.bands path.on')) return;
  observer.disconnect();
  // Two frames later what was drawn is on the screen.
  requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = performance.now(); }));
}).observe(document, { childList: true, subtree: true, attributes: true });"""


def measure(browser: Browser, file: Path) -> Times:
    """One reader, who opens the page and changes the layer."""
    tab = browser.new_page()
    tab.add_init_script(DRAWN)
    session = counting(tab)

    def settled(wanted: str) -> None:
        tab.wait_for_function(f"() => {wanted}")
        tab.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    tab.goto(file.as_uri())
    tab.wait_for_function("() => window.drawn")
    overview, script = tab.evaluate("window.drawn") / 1000, counted(session, "ScriptDuration")
    overview_cpu = counted(session)
    tab.goto("about:blank")
    before, start = counted(session), perf_counter()
    tab.goto(f"{file.as_uri()}#view=grid")
    settled(f"document.querySelectorAll('.grid canvas').length === {LAYERS * HEADS}")
    first, first_cpu = perf_counter() - start, counted(session) - before
    tab.evaluate("location.hash = '#view=board&layer=3&unit=pieces'")
    tab.wait_for_selector("#panel canvas")
    before, start = counted(session), perf_counter()
    tab.evaluate("location.hash = '#view=board&layer=7&unit=pieces'")
    settled("document.querySelector('#panel canvas').ariaLabel.endsWith('8')")
    change, change_cpu = perf_counter() - start, counted(session) - before
    tab.close()
    return Times(overview, script, overview_cpu, first, first_cpu, change, change_cpu)


SLOWER = 4
"""How many times slower the processor is made for the frames: as that of a cheap laptop."""

GLIDES = """async words => {
  const times = [];
  let running = true;
  const frame = now => { times.push(now); if (running) requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  for (let i = 0; i < 12; i++) {
    document.getElementById(`row-${i % words}`).focus();
    await new Promise(done => setTimeout(done, 200)); // a glide, and a moment
  }
  running = false;
  const steps = times.slice(1).map((time, i) => time - times[i]);
  return [1000 * steps.length / (times.at(-1) - times[0]), Math.max(...steps)];
}"""


def frames(browser: Browser, lengths: Sequence[int]) -> None:
    """Goes from word to word, and prints how many frames a second the bands had on their way."""
    print(f"| tokens | frames per second, processor {SLOWER} times slower | longest frame, ms |")
    print("|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for tokens in lengths:
            file = Path(folder) / f"{tokens}.html"
            file.write_text(page(trace(tokens)), encoding="utf-8")
            tab = browser.new_page()
            tab.goto(file.as_uri())
            tab.wait_for_selector(".bands path.on", state="attached")
            tab.wait_for_timeout(3000)  # the small maps are drawn meanwhile
            session = tab.context.new_cdp_session(tab)
            session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            rate, longest = tab.evaluate(GLIDES, tokens)
            print(f"| {tokens} | {rate:.0f} | {longest:.0f} |", flush=True)
            tab.close()


TYPED = """words => {
  const input = document.getElementById("text");
  const written = document.querySelector("dl dd:last-of-type");
  const frames = done => requestAnimationFrame(() => requestAnimationFrame(done));
  return new Promise(done => {
    const start = performance.now();
    const watch = new MutationObserver(() => {
      watch.disconnect();
      frames(() => done((performance.now() - start) / 1000));
    });
    watch.observe(written, { childList: true, characterData: true, subtree: true });
    input.value = words;
    input.dispatchEvent(new Event("input"));
  });
}"""


def live(browser: Browser, model: str, text: str, rounds: int) -> None:
    """Types other last words into the live page, and prints what each took until it was seen."""
    torch.set_num_threads(1)
    family = load_family(model)
    traced = partial(family.trace, options=family.options)
    first = traced(text)
    server = LocalServer(lambda token: page(first, token), answers(Comparison(traced)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = browser.new_page()
    tab.goto(server.link)
    tab.wait_for_selector("#panel .bands path", state="attached")
    words = [f"{text} {each}" for each in ("rain", "snow", "sand", "grass", "water") * rounds]
    begun = process_time()
    waited = sorted(tab.evaluate(TYPED, typed) for typed in words)
    model_cpu = (process_time() - begun) / len(words)
    tab.close()
    server.shutdown()
    print(
        f"{len(text.split()) + 1} words: {median(waited):.3f} s from key press to picture "
        f"(the shortest {waited[0]:.3f}), {model_cpu:.3f} s of the processor in jumok"
    )


def main() -> None:
    """Prints a row for each length, or the line of the live page, or the frames."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--live", nargs=2, metavar=("MODEL", "TEXT"), help="of the live page")
    chosen.add_argument("--frames", action="store_true", help="while the bands glide")
    parser.add_argument("--tokens", type=int, nargs="+", help="of the saved pages")
    parser.add_argument("--rounds", type=int, default=5, help="of each page, and of the last words")
    asked = parser.parse_args()
    with chromium() as browser:
        if asked.live:
            model, text = asked.live
            live(browser, model, text, asked.rounds)
        elif asked.frames:
            frames(browser, asked.tokens or (12, 40, 128))
        else:
            saved(browser, asked.tokens or (128, 512), asked.rounds)


def saved(browser: Browser, lengths: Sequence[int], rounds: int) -> None:
    """Prints a row for each length of a saved page."""
    print(
        "| tokens | file, MB | overview, s (script, CPU) | all heads, s (CPU) "
        "| layer change, s (CPU) |\n"
        "|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for tokens in lengths:
            file = Path(folder) / f"{tokens}.html"
            file.write_text(page(trace(tokens)), encoding="utf-8")
            runs = [astuple(measure(browser, file)) for _ in range(rounds)]
            overview, script, overview_cpu, first, first_cpu, change, change_cpu = (
                median(column) for column in zip(*runs, strict=True)
            )
            size = file.stat().st_size / 1e6
            print(
                f"| {tokens} | {size:.1f} | {overview:.2f} ({script:.2f}, {overview_cpu:.2f}) "
                f"| {first:.2f} ({first_cpu:.2f}) "
                f"| {change:.2f} ({change_cpu:.2f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
