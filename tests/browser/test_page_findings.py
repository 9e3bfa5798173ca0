"""What stands out: every sentence is found again, from the arrays and from the model itself."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import jumok
from jumok.inspection.findings import Attributions
from jumok.inspection.hooks.intervene import Change
from jumok.inspection.trace import Step, Trace
from jumok.systems.base import System
from jumok.tracing.forced import trace_with, tracer_of
from jumok.tracing.request import UNCHANGED, Analyses, TraceRequest
from tests.browser.conftest import Reader
from tests.browser.effects import chance, is_shown, says_effect, steps_of_word
from tests.browser.kinds import SHORT, VIEWS, whole
from tests.browser.test_page_overview import opened_at, shown, word_map
from tests.inspection.traces import found, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

ATTRIBUTION = Analyses(ablation=False, search_tree=False, layers=False, walk=False)
UNCERTAIN = re.compile(r"“([^”]*)” \(([\d.]+ %)\)")
DIFFERS = re.compile(
    r"“(.*?)” attended most to “(.*?)” \(([\d.]+ %)\), without which (?:it|the next word) is (.*?);"
    r" but without “(.*?)” it is (.*)\."
)


def finding(reader: Reader, kind: str) -> str:
    item = reader.page.locator(f"#findings .{kind}")
    return item.inner_text() if item.count() else ""


def effects_of(recorded: Trace, keys: str, row: int) -> np.ndarray:
    """The drop of a word's log-probability without each word: the sum over its tokens."""
    facts = recorded.findings.attribution["words"]
    count = len(steps_of_word(recorded, facts.own, row))
    return facts.measures["blank"][keys][row] * count


def differing(recorded: Trace, site, head) -> tuple | None:
    """The word for which the one it attended to and the one that it depends on are farthest."""
    own, read = recorded.axes[site.queries], recorded.axes[site.keys]
    values = word_map(recorded, site, head, recorded.findings.at_input)
    following = site.queries == site.keys
    apart = []
    for row, text in enumerate(own.texts):
        behind = [i for i, word in enumerate(own.words) if word == row]
        if max(behind) < recorded.findings.prompt or not re.search(r"\w", text):
            continue
        after = row + following
        if after >= len(own.texts):
            continue
        seen, costs = int(values[row].argmax()), effects_of(recorded, site.keys, after)
        costs = [float(c) for c in costs[: after if following else len(read.texts)]]
        if not costs or seen >= len(costs):
            continue
        used = int(np.argmax(costs))
        if used != seen and costs[used] - costs[seen] >= math.log(2):
            apart.append((costs[used] - costs[seen], row, after, seen, used, costs))
    return max(apart, default=None, key=lambda each: each[0])


@pytest.mark.parametrize("kind", [each for each in VIEWS if each not in ("CNN", "BERT")])
def test_what_is_uncertain_is_what_the_steps_say(opened, folders, kind):
    recorded = whole(folders, kind)
    reader = opened(recorded, view="overview")
    told = UNCERTAIN.findall(finding(reader, "uncertain"))
    if recorded.task == "text-classification":
        wanted = [(recorded.output, chance(recorded))]
    elif recorded.findings.gaps:
        texts = shown(recorded.axes["text"])
        words = recorded.axes["text"].words
        wanted = [
            (texts[words[gap]], chance(recorded, [step]))
            for step, gap in enumerate(recorded.findings.gaps)
        ]
    else:
        own = "text" if "text" in recorded.axes else "target"
        wanted = [
            (text, chance(recorded, steps))
            for row, text in enumerate(shown(recorded.axes[own]))
            for steps in [
                [s for s in steps_of_word(recorded, own, row) if s >= recorded.findings.prompt]
            ]
            if steps and re.search(r"\w", text)
        ]
    low = sorted((each for each in wanted if each[1] < 0.5), key=lambda each: each[1])
    assert len(told) == min(3, len(low))
    for (text, percent), (word, share) in zip(told, low, strict=False):
        assert text == word
        assert is_shown(percent, share)


def sharper(folders, kind: str, factor: float = 2) -> System:
    """The untrained model with all matrices so many times as large, so that words have effects."""
    system = jumok.load(folders[kind][0], device="cpu")
    with torch.no_grad():
        for parameter in system._modules()[0].parameters():
            if parameter.dim() > 1:
                parameter.mul_(factor)
    return system


def sharp_trace(system: System, change: Change = UNCHANGED) -> Trace:
    request = TraceRequest(SHORT, "고양이가 앉았다 개가 매트", change=change, extras=ATTRIBUTION)
    return trace_with(tracer_of(system), system, "the cat sat on a mat", request)


@pytest.mark.parametrize("kind", ["Transformer", "Bahdanau's RNN"])
def test_attention_that_is_not_effect_is_found(opened, folders, kind):
    """The word, the one it attended to, the one it depends on; both effects by the model again."""
    system = sharper(folders, kind)
    recorded = sharp_trace(system)
    reader = opened(recorded, view="overview")
    site, head = opened_at(recorded, reader)
    _, row, after, seen, used, costs = differing(recorded, site, head)
    own, read = recorded.axes[site.queries].texts, recorded.axes[site.keys]
    match = DIFFERS.search(finding(reader, "differs"))
    word, attended, share, without, needed, most = match.groups()
    assert (word, attended, needed) == (own[row], read.texts[seen], read.texts[used])
    values = word_map(recorded, site, head, recorded.findings.at_input)
    assert is_shown(share, values[row, seen])
    steps = steps_of_word(recorded, site.queries, after)
    before = chance(recorded, steps)
    for column, said in ((seen, without), (used, most)):
        assert says_effect(said, costs[column], before)
        blank = tuple(i for i, of_word in enumerate(read.words) if of_word == column)
        changed = sharp_trace(system, Change(blank=blank))
        assert says_effect(said, math.log(before / chance(changed, steps)), before)
    reader.page.locator("#finding-differs-0").click()
    expect(reader.page.locator(f"#row-{row}")).to_have_attribute("aria-pressed", "true")
    expect(reader.page.locator(f"#key-{used}")).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("factor", [1, 1.5, 2])
@pytest.mark.parametrize("kind", ["Transformer", "Bahdanau's RNN"])
def test_words_left_out_and_added_are_those_of_the_weights_and_the_model(
    opened, folders, kind, factor
):
    """Weights from the arrays, and every word's effects by the model again, without its vectors."""
    system = sharper(folders, kind, factor)
    recorded = sharp_trace(system)
    reader = opened(recorded, view="overview")
    site, head = opened_at(recorded, reader)
    own, read = recorded.axes[site.queries], recorded.axes[site.keys]
    values = word_map(recorded, site, head, recorded.findings.at_input)
    steps = [steps_of_word(recorded, site.queries, row) for row in range(len(own.texts))]
    needed = np.zeros((len(own.texts), len(read.texts)), bool)
    for column in range(len(read.texts)):
        blank = tuple(i for i, of_word in enumerate(read.words) if of_word == column)
        changed = sharp_trace(system, Change(blank=blank))
        for row, own_steps in enumerate(steps):
            lost = math.log(chance(recorded, own_steps) / chance(changed, own_steps))
            needed[row, column] = lost / len(own_steps) >= 0.1
    best = values.argmax(1)
    left_out = [
        text
        for column, text in enumerate(read.texts)
        if column not in best
        and column not in recorded.findings.frequent
        and not needed[:, column].any()
    ]
    even = np.array([read.words.count(column) / len(read.tokens) for column in best])
    unfocused = (values.max(1) < 2 * even) | (values.max(1) < 1 - values.sum(1))
    added = [own.texts[row] for row in np.flatnonzero(unfocused & ~needed.any(1))]
    for name, words in (("dropped", left_out), ("added", added)):
        said = finding(reader, name)
        assert re.findall("“([^”]*)”", said) == words[:3], (name, said)
        assert (f"{len(words) - 3} more" in said) == (len(words) > 3), said


def attended(rows: list[list[float]], costs: list[list[float]], frequent=()) -> Trace:
    """Two written words over three of the source and END, with these weights and effects."""
    recorded = trace()
    sites = tuple(
        replace(site, weights=np.array([[*rows, [0.1, 0.1, 0.1, 0.7]]] * 3, dtype=np.float32))
        if site.part == "cross" else site for site in recorded.sites
    )  # fmt: skip
    cost = np.array(costs, dtype=float)
    facts = Attributions(
        "source", "target",
        {"weights": {"source": np.array(rows)[:, :3]},
         "blank": {"source": cost, "target": np.zeros((2, 2))}},
        (np.eye(2), np.eye(2)), np.eye(2), {},
    )  # fmt: skip
    return found(
        replace(recorded, sites=sites),
        attribution={"words": facts, "pieces": facts},
        frequent=frequent,
    )


ATTENDED = [[0.1, 0.8, 0.05, 0.05], [0.1, 0.8, 0.05, 0.05]]


def test_a_word_that_nothing_was_made_of_is_found(opened):
    """`ran` is attended to by none, and has no effect; `a` is a word of every text."""
    costs = [[0.0, 2.0, 0.05], [0.09, 2.0, -1.0]]
    reader = opened(attended(ATTENDED, costs, frequent=(0,)), view="overview")
    assert finding(reader, "dropped").startswith("No written word attended most to “ran”")
    reader.page.locator("#finding-dropped-0").click()
    expect(reader.page.locator("#key-2")).to_have_attribute("aria-pressed", "true")
    both = opened(attended(ATTENDED, costs), view="overview")
    assert "“a”, “ran”" in finding(both, "dropped")


@pytest.mark.parametrize("costs", [[[0, 2, 0.2], [0, 2, 0]], [[0, 2, 0], [0, 2, 0.11]]])
def test_a_word_with_an_effect_was_not_left_out(opened, costs):
    recorded = attended(ATTENDED, costs, frequent=(0,))
    assert finding(opened(recorded, view="overview"), "dropped") == ""


def test_without_occlusion_nothing_is_said_of_words_that_were_left_out(opened):
    recorded = found(attended(ATTENDED, [[0, 2, 0], [0, 2, 0]]), attribution=None)
    reader = opened(recorded, view="overview")
    assert finding(reader, "dropped") == finding(reader, "added") == ""


def test_a_word_that_came_from_nowhere_is_found(opened):
    """The second word attended to END most, and no word made it more probable."""
    rows = [[0.1, 0.8, 0.05, 0.05], [0.15, 0.2, 0.15, 0.5]]
    reader = opened(attended(rows, [[0, 2, 0], [0.05, 0.01, 0]]), view="overview")
    assert finding(reader, "added").startswith("“뛰었다” attended to no word in particular")
    reader.page.locator("#finding-added-0").click()
    expect(reader.page.locator("#row-1")).to_have_attribute("aria-pressed", "true")
    needed = opened(attended(rows, [[0, 2, 0], [0.05, 0.3, 0]]), view="overview")
    assert finding(needed, "added") == ""


def test_a_letter_without_a_token_is_found(opened):
    recorded = trace()
    axis = recorded.axes["source"]
    axes = {**recorded.axes, "source": replace(axis, tokens=("a", "<unk>", "ran", "</s>"))}
    reader = opened(replace(recorded, axes=axes), view="overview")
    assert finding(reader, "unknown") == "“cat” has letters that the model has no token for."


def test_the_bound_of_uncertainty_is_one_half(opened):
    recorded = trace()
    low, high = (Step("w", math.log(p), (("w", math.log(p)),)) for p in (0.49, 0.51))
    reader = opened(replace(recorded, steps=(low, high, high)), view="overview")
    assert UNCERTAIN.findall(finding(reader, "uncertain")) == [("고양이가", "49 %")]
    assert "“고양이가”" in finding(reader, "uncertain")
    reader.page.locator("#finding-uncertain-0").click()
    expect(reader.page.locator("#row-0")).to_have_attribute("aria-pressed", "true")


def test_what_stands_out_stays_where_heads_change(opened):
    """The findings are those of the page's opening map, whatever is chosen."""
    reader = opened(attended(ATTENDED, [[0, 2, 0], [0, 2, 0]]), view="overview")
    before = reader.page.locator("#findings").inner_text()
    reader.page.locator('[id="head-cross.1-2"]').click()
    assert reader.page.locator("#findings").inner_text() == before


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("ko-KR", "dark")])
def test_what_stands_out_is_for_everybody(opened, folders, language, theme):
    recorded = attended(ATTENDED, [[0, 2, 0], [0, 2, 0]])
    reader = opened(recorded, language, view="overview")
    reader.page.emulate_media(color_scheme=theme)
    for width in (1280, 400):
        reader.page.set_viewport_size({"width": width, "height": 800})
        assert reader.serious() == []
        assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "증거는 아니며" in reader.page.locator("#findings").inner_text() or language == "en-US"


@pytest.mark.parametrize("largest", [0.03, 2.0])
def test_the_label_of_an_image_opens_with_what_made_it(opened, folders, largest):
    """The strongest cell by the effect of covering its pixels, and the cell under the mouse."""
    recorded = whole(folders, "CNN")
    both = recorded.findings.attribution
    facts = both["words"]
    patch = facts.measures["patch"][facts.read]
    patch = patch * (largest / patch[0].max())
    drops = patch[0]
    measures = facts.measures | {"patch": facts.measures["patch"] | {facts.read: patch}}
    both = both | {"words": replace(facts, measures=measures)}
    recorded = replace(recorded, findings=replace(recorded.findings, attribution=both))
    columns = recorded.axes[facts.read].grid[1]
    reader = opened(recorded, view="overview")
    said = reader.page.locator("#label-sentence")
    best = int(np.argmax(drops))
    row, column = divmod(best, columns)
    if largest > 0.05:
        assert f"(row {row + 1}, column {column + 1})" in said.inner_text()
        assert says_effect(said.inner_text(), drops[best], chance(recorded))
    else:
        assert "depends on no single place" in said.inner_text()
    box = reader.page.locator("#label-image").bounding_box()
    reader.page.mouse.move(box["x"] + box["width"] / columns / 2, box["y"] + 2)
    assert "(row 1, column 1)" in said.inner_text()
    assert says_effect(said.inner_text(), drops[0], chance(recorded))
    assert reader.serious() == []


def test_the_label_opens_with_what_made_it(opened, folders):
    """Every word's effect by the model again, with the word's vectors set to 0."""
    system = sharper(folders, "text classifier")
    extras = replace(ATTRIBUTION, attribution=True)

    def traced(change: Change = UNCHANGED) -> Trace:
        request = TraceRequest(SHORT, [0], change=change, extras=extras)
        return trace_with(tracer_of(system), system, "the cat sat", request)

    recorded = traced()
    before, axis = chance(recorded), recorded.axes["text"]
    reader = opened(recorded, view="overview")
    drops = []
    for column, word in enumerate(axis.texts):
        blank = tuple(i for i, of_word in enumerate(axis.words) if of_word == column)
        drops.append(math.log(before / chance(traced(Change(blank=blank)))))
        button = reader.page.locator(f"#made-{column}")
        button.hover()
        said = reader.page.locator("#label-sentence").inner_text()
        assert f"“{word}”" in said
        assert says_effect(said, drops[-1], before)
        assert says_effect(button.get_attribute("aria-label"), drops[-1], before)
    reader.page.locator("h1").hover()
    said = reader.page.locator("#label-sentence").inner_text()
    best = int(np.argmax(drops))
    on = f"most on “{axis.texts[best]}”" if drops[best] >= 0.05 else "on no single word"
    assert said.startswith(f"“{recorded.output}” ({100 * before:.0f} %) depends {on}")
    largest = max(map(abs, drops))
    least = max(0.05, 0.02 * largest)  # 5 %: about as probable as before
    for column, drop in enumerate(drops):
        button = reader.page.locator(f"#made-{column}")
        kind = "for" if drop >= least else "against" if drop <= -least else ""
        assert button.get_attribute("class") == f"word {kind}".strip()
        if kind == "for":
            share = button.evaluate("node => node.style.getPropertyValue('--share')")
            assert float(share) == pytest.approx(drop / largest, abs=0.002)
    for theme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=theme)
        for width in (1280, 400):
            reader.page.set_viewport_size({"width": width, "height": 800})
            assert reader.serious() == []


def test_words_that_the_training_data_did_not_have_are_named(opened):
    """By the trace alone: the browser's own rule is compared in test_page_exported.py."""
    recorded = trace()
    texts = shown(recorded.axes["source"])
    for unseen, said in (
        ((1,), f"The training data did not have “{texts[1]}”: the model does not know this word."),
        ((), ""),
    ):
        told = replace(recorded, findings=replace(recorded.findings, unseen=unseen))
        assert finding(opened(told, view="overview"), "unseen") == said
