"""Firefox and WebKit open the saved page of every kind of model, and all of its views.

A nightly test: a browser starts for each page. `pytest -m nightly -rs FILE` says what it skips.
"""

import time

import pytest

from jumok.bundle.reading import read_bundle
from jumok.engine.wasm import missing_compiler
from jumok.inspection.page.document import page as html
from jumok.systems.in_page.translator import WebTranslator
from tests.browser.bare import engine_answers
from tests.browser.kinds import VIEWS, whole
from tests.browser.other_browsers import PROGRAMS, opened_page, program

pytestmark = pytest.mark.nightly

WATCH = """
  window.faults = [];
  addEventListener("error", (event) => window.faults.push(event.message));
  addEventListener("unhandledrejection", (event) => window.faults.push(String(event.reason)));
"""
STARTED = "return document.querySelector('#panel') !== null"
TYPE = """
  const field = document.getElementById("text");
  field.value = arguments[0];
  field.dispatchEvent(new Event("input"));
"""
WRITTEN = """
  const shown = (node) => node.textContent.replace(/\\s+/g, "");
  const wanted = arguments[0].replace(/\\s+/g, "");
  const places = document.querySelectorAll("header dd, #panel .stage");
  return [...places].some((node) => shown(node).includes(wanted));
"""
VIEWED = """
  const tabs = () => [...document.querySelectorAll("[role='tab']")];
  const [wanted] = arguments;
  const names = tabs().map((tab) => tab.id);
  if (wanted !== null) tabs().find((tab) => tab.id === wanted)?.click();
  const panel = document.getElementById("panel");
  const drawn = [...panel.querySelectorAll("canvas")].filter((each) => each.width > 0).length;
  return { names, text: panel.textContent.trim().length, drawn, faults: window.faults };
"""


@pytest.fixture(params=PROGRAMS)
def opening(request, tmp_path):
    """Opens a page in each of the browsers that are installed."""
    if program(request.param) is None:
        pytest.skip(f"needs {request.param}: {' or '.join(PROGRAMS[request.param])}")
    page, home = tmp_path / "page.html", tmp_path / "home"
    home.mkdir()

    def opened(content):
        page.write_text(content, encoding="utf-8")
        return opened_page(request.param, page, home)

    return opened


def wait_until(run, script, *arguments):
    end = time.monotonic() + 60
    while not run(script, *arguments):
        assert time.monotonic() < end, run("return document.body.innerText")
        time.sleep(0.1)


@pytest.mark.skipif(missing_compiler() is not None, reason="needs zig")
def test_a_model_in_the_page_translates(opening, tiny_bundle):
    model, texts = WebTranslator(read_bundle(tiny_bundle), "fp32"), ["the cat sat", "a dog"]
    expected = engine_answers(model, texts)
    with opening(model.page("tiny", texts)) as run:
        wait_until(run, STARTED)
        run(WATCH)
        for number, text in enumerate(texts):
            run(TYPE, text)
            written = model.tokenizer.decode(expected[f"{number}/tokens"].tolist())
            wait_until(run, WRITTEN, written)
        assert not run("return window.faults")


@pytest.mark.parametrize("kind", VIEWS)
def test_every_view_opens(opening, kind, folders):
    with opening(html(whole(folders, kind))) as run:
        wait_until(run, STARTED)
        run(WATCH)
        first = run(VIEWED, None)
        assert first["text"] > 50
        opened = set()
        left = list(first["names"])
        while left:
            name = left.pop()
            seen = run(VIEWED, name)
            assert seen["text"] > 20, name
            assert not seen["faults"], name
            opened.add(name)
            left += [each for each in seen["names"] if each not in opened and each not in left]
        assert len(opened) >= len(VIEWS[kind])
