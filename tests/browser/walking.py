"""Somebody who walks through the view "The walk", and a model to walk through."""

import re

import numpy as np
import torch

import jumok
from jumok.data.tokenizer import END, START
from jumok.inspection.trace import Trace
from jumok.tracing.request import Analyses
from tests.browser.by_hand import block

ONLY = Analyses(ablation=False, attribution=False, search_tree=False, layers=False)
DIGITS = 6e-4
"""Three decimals are displayed."""
REDONE = 5e-3
"""What is redone from 48 displayed numbers differs by the sum of their rounding."""

SAYS = """(walk, op) => {
  const [says, slider] = ["walk-says", "walk-at"].map((id) => document.getElementById(id));
  for (let at = 0; at <= Number(slider.max); at++) {
    slider.value = String(at);
    slider.dispatchEvent(new Event("input"));
    if (says.dataset.op === op) return says.textContent;
  }
  throw new Error(`the walk has no ${op}`);
}"""
"""Goes to the first moment of an operation, as it ends."""
OPS = """(slider) => [...new Set(Array.from({ length: Number(slider.max) + 1 }, (_, at) => {
  slider.value = String(at);
  slider.dispatchEvent(new Event("input"));
  return document.getElementById("walk-says").dataset.op;
}))]"""
ONWARD = """(next, count) => Array.from({ length: count }, () => {
  const said = document.getElementById("walk-says").textContent;
  next.click();
  return said;
})"""


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("∞", "inf"))


def numbers(text: str) -> list[float]:
    """The numbers with decimals, in their order."""
    return [number(each) for each in re.findall(r"−?\d+\.\d+", text)]


def near(found: object, wanted: object, atol: float = DIGITS) -> None:
    wanted = wanted.detach().numpy() if isinstance(wanted, torch.Tensor) else wanted
    np.testing.assert_allclose(found, wanted, atol=atol)


class Walk:
    """The view as somebody walks through it."""

    def __init__(self, reader: object, **state: object) -> None:
        self.page = reader.page
        fragment = "&".join(f"{key}={value}" for key, value in {"view": "walk", **state}.items())
        self.page.evaluate(f"location.hash = '{fragment}'")
        self.page.locator("#walk").wait_for()

    def says(self, op: str) -> str:
        """The sentence of an operation; one message to the browser, as hundreds are asked for."""
        return self.page.locator("#walk").evaluate(SAYS, op)

    def ops(self) -> list[str]:
        """The operations in their order."""
        return self.page.locator("#walk-at").evaluate(OPS)

    def says_onward(self, count: int) -> list[str]:
        """So many sentences from here on, each before a step further."""
        return self.page.locator("#walk-next").evaluate(ONWARD, count)

    def vectors(self) -> dict[str, list[float]]:
        """Every vector that is shown as numbers."""
        self.page.locator("#walk-vectors summary").click()
        lines = self.page.locator("#walk-vectors p")
        lines.first.wait_for()
        pairs = (line.rsplit(": ", 1) for line in lines.all_text_contents())
        return {name: [number(each) for each in text.split()] for name, text in pairs}

    def columns(self, after: str) -> dict[str, list[float]]:
        """The columns when the weighted sum is complete, before the operation `after`."""
        self.says(after)
        self.page.locator("#walk-back").click()
        found = {}
        for name in ("product", "score", "power", "weight"):
            texts = self.page.locator(f'.walk-key [data-cell="{name}"]').all_text_contents()
            found[name] = [number(text) for text in texts if text]
        return found

    def entries(self) -> list[tuple[str, float, float]]:
        """The most probable tokens, with their logits and probabilities."""
        self.says("next")
        self.page.locator('#walk [data-cell="probability"]').last.filter(has_text=".").wait_for()
        rows = self.page.locator(".walk-entry-row:not(.walk-head)").all()
        names = [row.locator(".walk-name").text_content() for row in rows]
        cells = [row.locator(".walk-cell").all_text_contents() for row in rows]
        return [(name, *map(number, cell)) for name, cell in zip(names, cells, strict=True)]


def translated_by_hand(folder: object) -> tuple[Trace, list[dict[str, dict]], torch.Tensor]:
    """A translator of three layers and its trace, with every block by hand."""
    translator = jumok.load(folder, device="cpu", engine="torch")
    trace = jumok.trace(translator, "the cat sat", "개가 짖었다", extras=ONLY)
    model, decoder = translator.models[0], translator.models[0].decoder
    with torch.no_grad():
        source = torch.tensor([[*translator.tokenizer.encode("the cat sat"), END]])
        memory = model.encode(source).states[0]
        state = decoder.embedding(torch.tensor([[START, *trace.findings.written]]))[0]
        read = decoder.first_norm(state)
        layers = []
        for each in decoder.blocks:
            facts, state, read = block(each, state, read, memory, causal=True)
            layers.append(facts)
    return trace, layers, (read @ decoder.output.weight.T).detach()
