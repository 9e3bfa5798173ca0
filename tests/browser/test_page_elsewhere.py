"""The pages of traces that come from elsewhere: every view opens, and shows the right words."""

import numpy as np
import pytest

import jumok
from jumok.inspection.trace import grid_axis
from tests.browser.conftest import open_controls
from tests.tracing import huggingface as small

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

WORDS, SOURCE = ["le", "chat", "dort"], ["the", "cat", "is", "asleep"]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).dirichlet(np.ones(shape[-1]), size=shape[:-1])


def crossing() -> jumok.Trace:
    given = {
        "cross": drawn(2, 3, 3, 4), "encoder": drawn(2, 3, 4, 4), "decoder": drawn(2, 3, 3, 3)
    }  # fmt: skip
    return jumok.trace_of(given, WORDS, SOURCE)


def told(family: str, text: str, target: str | None = None) -> jumok.Trace:
    model, tokenizer = getattr(small, family)()
    return jumok.from_transformers(model, tokenizer, text, target, max_new_tokens=3)


TEXT = "the cat sat on the mat"
TRACES = {
    "cross": (crossing, {"board", "grid"}),
    "self": (lambda: jumok.trace_of(drawn(2, 3, 3, 3), WORDS), {"board", "grid"}),
    "image": (lambda: jumok.trace_of(drawn(1, 2, 3, 6), WORDS, grid_axis(2, 3)), {"board", "grid"}),
    "gpt2": (lambda: told("gpt2", TEXT), {"board", "grid", "beam"}),
    "t5": (lambda: told("t5", TEXT, "a dog barked"), {"board", "grid", "beam"}),
    "bert": (lambda: told("bert", "the [MASK] sat on the mat"), {"board", "grid", "beam"}),
}


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("name", TRACES)
def test_every_view_of_a_trace_from_elsewhere_opens(opened, name, language):
    make, least = TRACES[name]
    trace = make()
    reader = opened(trace, language)  # no message of the browser's: asserted when it is closed
    views = set()
    for view in reader.views():
        views.add(view)
        expect(reader.page.locator("#panel")).not_to_be_empty()
    assert views >= least
    assert not views & {"row", "theatre"}, "there are no vectors, and no search"


def test_a_click_on_a_cell_stays_on_the_map(opened):
    """It opens the row of the cell, where there are vectors."""
    reader = opened(jumok.trace_of(drawn(1, 2, 3, 4), WORDS, SOURCE))
    reader.page.locator("#panel canvas").first.click()
    expect(reader.page.locator("#tab-board")).to_have_attribute("aria-selected", "true")
    expect(reader.page.locator("#panel canvas").first).to_be_visible()


def test_the_map_has_the_rows_and_the_weights_that_were_given(opened):
    given = drawn(1, 1, 3, 4)
    reader = opened(jumok.trace_of(given, WORDS, SOURCE))
    open_controls(reader.page)
    reader.page.get_by_label("Show as", exact=True).select_option(label="table")
    head, *rows = reader.table()
    assert [row[0] for row in rows[:3]] == WORDS
    assert head[1:5] == SOURCE
    found = np.array([[float(cell) for cell in row[1:5]] for row in rows[:3]])
    assert np.allclose(found, given[0, 0], atol=0.006)
