"""What the page says in sentences, for every kind of model: each number is computed again.

The walk's sentences are redone from the vectors that it shows, which test_page_walk.py redoes from
the weights; those of the tours and games from the trace.
"""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from jumok.inspection.page import document as page_module
from jumok.inspection.page.tours import built_in, unmet
from jumok.inspection.trace import Site, Trace
from tests.browser.conftest import Reader, open_view
from tests.browser.effects import EFFECT, chance, says_effect, steps_of_word
from tests.browser.kinds import VIEWS
from tests.browser.test_page_games import ablated
from tests.browser.test_page_overview import percent, shown, word_map
from tests.browser.walking import Walk, near, number, numbers

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

ROUNDED = 4e-3
"""What is summed up from numbers that are rounded to three decimals is off by so much."""


def length(values: list[float]) -> float:
    return float(np.linalg.norm(values))


def of_norm(values: list[float], said: str) -> list[float]:
    """The numbers of a norm's sentence: mean and standard deviation, or the root mean square."""
    array = np.array(values)
    if "root mean square" in said:
        return [float(np.sqrt((array**2).mean()))]
    return [float(array.mean()), float(array.std())]


def shares(said: str) -> list[float]:
    return [number(each) / 100 for each in re.findall(r"([\d.]+) %", said)]


class Told:
    """A walk, its vectors, and the columns of its keys."""

    def __init__(self, walk: Walk, site: Site, head: int, query: int) -> None:
        self.walk, self.site, self.head, self.query = walk, site, head, query
        self.vectors = walk.vectors()
        self.ops = walk.ops()
        energy = None if site.energy is None else np.asarray(site.energy)
        asked, keys = site.query[head, query], site.key[head]
        terms = asked * keys if energy is None else energy * np.tanh(asked + keys)
        self.products = terms.sum(1)
        self.scores = self.products * site.scale
        if site.allowed is not None:
            self.scores = np.where(site.allowed[query], self.scores, -np.inf)
        self.powers = np.exp(self.scores - self.scores.max())
        self.weights = self.powers / self.powers.sum()
        self.best = int(self.weights.argmax())

    def says(self, op: str) -> str:
        return self.walk.says(op)


def check_scores(told: Told) -> None:
    """From the products to the weights: of the key with the largest weight."""
    if "scale" in told.ops:
        before, after = numbers(told.says("scale"))[-2:]
        near([before, after], [told.products[told.best], told.scores[told.best]], ROUNDED)
    hidden = int(np.isinf(told.scores).sum())
    said = told.says("mask")
    assert (f"hides {hidden} of the {len(told.scores)} keys" in said) or hidden == 0
    near(numbers(told.says("exp")), [told.scores.max(), told.powers.sum()], ROUNDED)
    said = told.says("weights")
    power, total, weight = numbers(said)[:3]
    near([power, total], [1.0, told.powers.sum()], ROUNDED)
    near(weight, told.weights[told.best], ROUNDED)
    assert shares(said)[0] == pytest.approx(told.weights[told.best], abs=0.0051)
    near(told.weights, told.site.weights[told.head, told.query], 1e-5)


def check_keys(told: Told) -> None:
    """Moment by moment: every product, and every weight with what is spent so far."""
    page, spent = told.walk.page, 0.0
    for op, values in (("products", told.products), ("sum", told.weights)):
        told.says(op)
        rows = page.locator(".walk-key[data-key]").evaluate_all("e => e.map(x => x.dataset.key)")
        alone = [int(each) for each in rows if each != "others"]
        *sentences, last = told.walk.says_onward(len(alone) + 1)
        for key, said in zip(alone, sentences, strict=True):
            where = -1 if op == "products" else 0
            assert numbers(said)[where] == pytest.approx(values[key], abs=ROUNDED)
            if op == "sum":
                spent += values[key]
                assert shares(said)[-1] == pytest.approx(spent, abs=0.0055)
        if "others" in rows:
            left = [values[key] for key in range(len(values)) if key not in alone]
            ends = [min(left), max(left)] if op == "products" else [sum(left)]
            near(numbers(last)[: len(ends)], ends, ROUNDED)


def check_after(told: Told) -> None:
    """Projection, residual connection, norms, feed-forward layer."""
    vectors = told.vectors
    if "input" in told.ops:
        said = told.says("input")
        near(numbers(said), of_norm(vectors["state"], said), ROUNDED)
    if "output" in told.ops:
        near(numbers(told.says("output")), [length(vectors["output"])], ROUNDED)
    if "residual" in told.ops:
        said = numbers(told.says("residual"))
        gate = 1.0 if told.site.residual_gate is None else told.site.residual_gate
        first, last = vectors["state"][0], vectors["state"][0] + gate * vectors["output"][0]
        near([said[0 if gate == 1.0 else 1], said[-1]], [first, last], ROUNDED)
    if "norm" in told.ops:
        said = told.says("norm")
        near(numbers(said)[:2], of_norm(vectors["sum"], said), ROUNDED)
    if "hidden" in told.ops:
        active = sum(value > 0 for value in vectors["hidden"])
        said = told.says("hidden")
        counted = int(re.search(r": (\d+) of its", said)[1])
        rounded_away = sum(value == 0 for value in vectors["hidden"])
        assert active <= counted <= active + rounded_away
        assert f"{len(vectors['hidden'])} hidden units" in said
    if "fed" in told.ops:
        near(numbers(told.says("fed")), [length(vectors["fed"])], ROUNDED)
        first, _, last = numbers(told.says("fedSum"))
        near(last, vectors["fedSum"][0])
        near(first + vectors["fed"][0], last, ROUNDED)
        said = told.says("fedNormed")
        near(numbers(said)[:2], of_norm(vectors["fedSum"], said), ROUNDED)


def check_prediction(told: Told, recorded: Trace) -> None:
    """The logit less the normalizer is the recorded log-probability."""
    entries = told.walk.entries()
    gaps = recorded.findings.gaps
    at = 0 if len(recorded.steps) == 1 else gaps.index(told.query) if gaps else told.query
    step = recorded.steps[at]
    logit, total, probability, *written = numbers(told.says("next"))
    near(entries[0][1], logit)
    assert logit - total == pytest.approx(step.best[0][1], abs=2e-3)
    assert probability == pytest.approx(math.exp(step.best[0][1]), abs=6e-4)
    near([share for *_, share in entries], [math.exp(each) for _, each in step.best])
    near(numbers(told.says("logits")), [logit])
    if step.token != step.best[0][0]:
        assert written[-1] == pytest.approx(math.exp(step.log_probability), abs=6e-4)


@pytest.mark.parametrize("kind", VIEWS)
def test_every_sentence_of_the_walk_is_redone(opened, traces, kind):
    check_walks(opened, traces(kind))


@pytest.mark.parametrize("kind", ["Transformer", "Bahdanau's RNN"])
def test_sentences_of_long_texts_are_true_with_16_bits(opened, traces, kind, monkeypatch):
    """Vectors, and weights, are sent as those of a text of many words."""
    for name in ("FEW", "FEW_IN_VECTORS"):
        monkeypatch.setattr(page_module, name, 10)
    check_walks(opened, traces(kind))


def check_walks(opened: Callable[..., Reader], recorded: Trace) -> None:
    """Every sentence of a walk in each part of the model."""
    reader = opened(recorded, view="overview")
    reader.page.emulate_media(reduced_motion="reduce")  # what moves is not what is said
    for part in dict.fromkeys(site.part for site in recorded.sites):
        site = [each for each in recorded.sites if each.part == part][-1]
        gaps = recorded.findings.gaps
        head = len(site.weights) - 1
        query = gaps[0] if gaps else min(1, site.weights.shape[1] - 1)
        open_view(reader.page, "overview")
        walk = Walk(reader, part=part, layer=site.layer, head=head, query=query)
        told = Told(walk, site, head, query)
        check_scores(told)
        check_keys(told)
        check_after(told)
        if "next" in told.ops:
            check_prediction(told, recorded)
        for op in told.ops:
            assert not re.search(r"undefined|NaN|null", told.says(op)), op


def head_effects(recorded: Trace) -> dict[tuple[str, int, int], float]:
    return {
        (site.part, site.layer, head): float(sum(drops))
        for site in recorded.sites
        for head, drops in enumerate(recorded.findings.ablation.get(site.name, ()))
    }


def compared_words(recorded: Trace) -> list[tuple[int, int, int, float, float]]:
    """For each written word that could choose: the words that attention and occlusion name."""
    facts = recorded.findings.attribution["words"]
    seen, used = (facts.measures[name][facts.read] for name in ("weights", "blank"))
    own, axis = facts.own == facts.read, recorded.axes[facts.own]
    first = axis.words[recorded.findings.prompt + 1] if own else 0
    found = []
    for row in range(first or 0, len(axis.texts)):
        end = row if own else len(recorded.axes[facts.read].texts)
        columns = [c for c in range(end) if np.isfinite(used[row][c])]
        if len(columns) < 2:
            continue
        top = max(columns, key=lambda c, r=row: seen[r][c])
        cost = max(columns, key=lambda c, r=row: used[r][c])
        count = len(steps_of_word(recorded, facts.own, row))
        found.append((row, top, cost, used[row][top] * count, used[row][cost] * count))
    return found


def said_in(reader: Reader, name: str, step: int) -> str:
    """The text of a step, opened by its short link."""
    reader.page.evaluate("location.hash = ''")
    reader.page.evaluate(f"location.hash = 'tour={name}&step={step}'")
    expect(reader.page.locator("#tour .tour-count")).to_have_text(f"{step} of 5")
    reader.page.wait_for_timeout(100)  # the step opens its own link a moment later
    return reader.page.locator("#tour-text").inner_text()


@pytest.mark.parametrize("kind", [kind for kind in VIEWS if kind not in ("captioner", "BERT")])
def test_every_number_of_every_tour_is_redone(opened, traces, kind):
    """The strongest and the weakest head, the mask, agreement, differing words, vectors."""
    recorded = traces(kind)
    reader = opened(recorded, view="overview")
    for tour in (each for each in built_in() if unmet(each, recorded) is None):
        for number_of, step in enumerate(tour.steps, start=1):
            text = step.text["en"]
            said = said_in(reader, tour.name, number_of)
            for place, best, most in (("{strongest}", min, "most"), ("{weakest}", least, "least")):
                if place in text:
                    effects = head_effects(recorded)
                    found = best(effects, key=effects.get)
                    assert f"head {found[2] + 1} of layer {found[1] + 1}" in said
                    told = said.partition(f"depends {most} on ")[2]
                    assert says_effect(told, -effects[found], chance(recorded))
            if "{mask}" in text:
                site = [each for each in recorded.sites if each.part == "decoder"][-1]
                closed = int((~np.asarray(site.allowed, dtype=bool)).sum())
                rows, columns = site.weights.shape[1:]
                assert f"forbids {closed} of the {rows} × {columns} pairs" in said
            if "{agree}" in text:
                compared = compared_words(recorded)
                same = sum(seen == used for _, seen, used, *_ in compared)
                assert not compared or f"For {same} of {len(compared)} words" in said
            if "{differs}" in text:
                check_differing(recorded, said)
            if "{vectors}" in text:
                site = next(each for each in recorded.sites if each.part == "cross")
                heads, count, width = site.value.shape
                assert (
                    f"{count} vectors of {heads * width} numbers ({heads * width * count:,}" in said
                )


def least(effects: dict, key: object) -> tuple[str, int, int]:
    """The head whose ablation changes least, in either direction."""
    return min(effects, key=lambda head: abs(effects[head]))


def check_differing(recorded: Trace, said: str) -> None:
    """The word in which attention and occlusion differ most, with both effects."""
    compared = compared_words(recorded)
    facts = recorded.findings.attribution["words"]
    apart = [each for each in compared if each[1] != each[2]]
    if not compared:
        return
    row, seen, used, without, most = (
        max(apart, key=lambda each: each[4] - each[3])
        if apart
        else max(compared, key=lambda each: each[4])
    )
    read = shown(recorded.axes[facts.read])
    share = f"{percent_of(facts.measures['weights'][facts.read][row][seen])}"
    assert f"gave “{read[seen]}” {share} of its attention" in said
    steps = steps_of_word(recorded, facts.own, row)
    told = said.rpartition(f"without “{read[used]}” it is ")[2]
    assert says_effect(told, most, chance(recorded, steps))
    if apart:
        first = said.partition(f"without “{read[seen]}” it is ")[2]
        assert says_effect(first, without, chance(recorded, steps))


def percent_of(share: float) -> str:
    value = 100 * share
    if value >= 99.95 or 1 <= value <= 99:
        return f"{value:.0f} %"
    return "0 %" if value < 0.05 else f"{value:.1f} %"


@pytest.mark.parametrize("kind", VIEWS)
def test_every_number_of_every_game_is_redone(opened, traces, kind):
    """What the verdict says of the right answer and of the guess."""
    recorded = traces(kind)
    page = opened(recorded, view="overview").page
    page.locator("#tours").click()
    games = page.locator("[id^=start-game-]").evaluate_all("e => e.map(({ id }) => id.slice(11))")
    page.keyboard.press("Escape")
    for game in set(games) & {"head", "next", "look"}:
        page.evaluate("location.hash = ''")
        page.evaluate(f"location.hash = 'game={game}'")
        total = int(page.locator("#game .tour-count").inner_text().split()[-1])
        for asked in range(total):
            option = page.locator(".options button").first
            guess = int(option.get_attribute("id").removeprefix("option-"))
            option.click()
            said = page.locator("#game-verdict").inner_text()
            if game == "next":
                first = recorded.findings.prompt if recorded.task == "language-model" else 0
                best = recorded.steps[min(first, len(recorded.steps) - 1) + asked].best
                top = math.exp(max(each for _, each in best))
                told = shares(said)
                assert told[0] == pytest.approx(top, abs=0.0051)
                if len(told) > 1:
                    assert told[-1] == pytest.approx(math.exp(best[guess][1]), abs=0.0051)
            elif game == "head":
                check_heads_verdict(recorded, asked, guess, said)
            else:
                check_look_verdict(page, recorded, said)
            if asked < total - 1:
                page.locator("#game-next").click()


def check_heads_verdict(recorded: Trace, asked: int, guess: int, said: str) -> None:
    order = ["cross", "encoder", "decoder", "image"]
    sites = sorted(
        (site for site in recorded.sites if len(site.weights) > 1),
        key=lambda site: order.index(site.part),
    )
    sums = recorded.findings.ablation[sites[asked].name].sum(1)
    right = int(sums.argmin())
    told = re.finditer(rf"(?:Without|without) head (\d+),.*? is ({EFFECT.pattern})", said)
    heads = {int(each[1]) - 1: each[2] for each in told}
    assert right in heads or right in ablated(recorded, asked)
    assert guess in heads or guess in ablated(recorded, asked)
    for head, change in heads.items():
        assert says_effect(change, -sums[head], chance(recorded))


def check_look_verdict(page: object, recorded: Trace, said: str) -> None:
    pressed = page.locator('#strip [aria-pressed="true"]')
    name, head = (
        pressed.get_attribute("id").removeprefix("head-").rsplit("-", 1)
        if pressed.count()
        else (recorded.sites[0].name, "0")
    )
    site = next(each for each in recorded.sites if each.name == name)
    values = word_map(
        recorded, site, None if head == "mean" else int(head), recorded.findings.at_input
    )
    row = int(page.locator(".rows [aria-pressed=true]").get_attribute("id")[4:])
    share = percent(re.search(r"\(([\d.]+ %)", said)[1])
    assert share == pytest.approx(values[row].max(), abs=0.0051)
