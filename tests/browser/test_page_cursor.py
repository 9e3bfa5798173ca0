"""One cursor: all views, captions, figures and copied lines name the same word of the same head."""

import random

import pytest

from jumok.inspection.explain import part_sites, readable, usual_site
from jumok.inspection.page.arrays import inlined
from jumok.inspection.page.document import content, document
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Trace
from jumok.plot.cursor import opening
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.browser.conftest import wait_until
from tests.browser.kinds import SHORT, WRITTEN, Folders
from tests.systems.pictures import write_pictures

SENTENCES = 8
MANY = 50
"""In nightly runs."""
STATES = 6
"""Of each sentence, besides the one that a page opens with."""

ENTRY = """
import {{ defaultsOf }} from "{web}/main.js";
import {{ siteOf }} from "{web}/cursor.js";
import {{ pathOf }} from "{web}/path.js";
import {{ State }} from "{web}/state.js";
import {{ captionOf }} from "{web}/taking/caption.js";
import {{ pythonOf }} from "{web}/taking/python.js";
import {{ Trace }} from "{web}/trace.js";
import {{ rowView }} from "{web}/views/row.js";
import {{ walkView }} from "{web}/views/walk.js";
import {{ words }} from "{web}/words.js";
const names = ["overview", "board", "row", "walk"];
const chosen = (view, label) => view.controls.map((each) => each.querySelector("select"))
  .find((select) => select.ariaLabel === label)?.value;
window.found = (raw, fragments) => {{
  const trace = new Trace(raw);
  return fragments.map((fragment) => {{
    const state = new State(fragment, defaultsOf(raw, trace, false), () => {{}});
    const text = words("en", trace.kind);
    const told = (node) => [...node.querySelectorAll("button")].map((each) => each.textContent);
    const path = (name) => pathOf(trace, name, names, state, text).map(told)[0];
    const [row, walk] = [rowView(trace, state, text), walkView(trace, state, text)];
    return {{
      path: path("row"), others: names.map(path), queries: siteOf(trace, state).queries,
      row: chosen(row, text.query),
      walk: chosen(walk, text.walkQuery) ?? chosen(walk, text.walkCell),
      heads: [row, walk].map((view) => chosen(view, text.head)),
      caption: ["board", "row", "walk"].map((name) => captionOf(trace, name, state, text)[0]),
      python: ["row", "walk"].map((name) => pythonOf(trace, name, state, {{}}, text)),
    }};
  }});
}};
document.title = "ready";
"""


@pytest.fixture(scope="module")
def found(browser, tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("cursor")
    entry = home / "cursor.js"
    entry.write_text(ENTRY.format(web=source_folder()), "utf-8")
    file = home / "cursor.html"
    file.write_text(document(str(entry), {}), "utf-8")
    page = browser.new_context().new_page()
    page.goto(file.as_uri())
    wait_until(page, "document.title === 'ready'")
    yield lambda data, states: page.evaluate("(given) => found(...given)", [data, states])
    page.context.close()


def inputs(folders: Folders, kind: str, count: int, chance: random.Random) -> list[str]:
    usual = folders[kind][1]
    if kind in ("captioner", "CNN"):
        return [
            str(file) for file in write_pictures(folders.home / f"{kind} pictures", min(count, 12))
        ]
    words = ["the", "cat", "cats", "sat", "down", "a", "dog", "on", *usual.split()]
    made = []
    while len(made) < count:
        text = " ".join(chance.choices(words, k=chance.randint(1, 7)))
        text = text[:6] if kind == "language model" else text  # which reads 7 tokens
        made.append(text if "[MASK]" not in usual or "[MASK]" in text else f"{text} [MASK]")
    return made


def fragment(trace: Trace, chance: random.Random) -> str:
    site = chance.choice(trace.sites)
    heads = ["mean", "max", *map(str, range(len(site.weights)))]
    parts = {
        "part": site.part, "layer": site.layer, "head": chance.choice(heads),
        "unit": chance.choice(["words", "pieces"]), "reading": chance.choice(["writes", "reads"]),
    }  # fmt: skip
    rows, columns = site.weights.shape[1:]
    if chance.random() < 0.7:
        parts["query"] = chance.randrange(rows)
        if chance.random() < 0.5:
            parts["key"] = chance.randrange(columns)
    return "&".join(f"{name}={value}" for name, value in parts.items())


@pytest.mark.parametrize("count", [SENTENCES, pytest.param(MANY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", ["Transformer", *WRITTEN])
def test_every_view_is_at_the_same_word_and_head(found, folders, kind, count):
    chance = random.Random(kind)
    family = load_family(folders[kind][0], device="cpu")
    extras = Analyses(attribution=False, ablation=False, search_tree=False, layers=False)
    for given in inputs(folders, kind, count, chance):
        trace = family.trace(given, options=SHORT, extras=extras)
        if trace.copied:  # "a" alone numbers a list
            continue
        states = ["", *(fragment(trace, chance) for _ in range(STATES))]
        for state, at in zip(states, found(inlined(content(trace)), states), strict=True):
            check(trace, given, state, at)
        site = usual_site(trace, part_sites(trace))
        at = found(inlined(content(trace)), [""])[0]
        assert opening(trace, site) == (int(at["row"] or at["walk"]), int(at["heads"][1])), given


def check(trace: Trace, given: str, state: str, at: dict) -> None:
    where = f"{given!r} #{state}: {at}"
    word, other = (each[each.index("“") : each.rindex("”") + 1] for each in at["path"][2:])
    named = "query=" in state
    if at["row"] is not None:
        assert at["row"] == at["walk"], where
        assert at["heads"][0] == at["heads"][1], where
    for path in at["others"] if not named else at["others"][2:]:
        assert path == at["path"], where
    if not named:  # a named token may be none of the map, such as END
        assert f"{word} → {other}" in at["caption"][0], where
    query, head = int(at["walk"]), int(at["heads"][1])
    assert all(f"row(trace, {query}, " in code and f"head={head})" in code for code in at["python"])
    assert all(f"head {head + 1}" in caption for caption in at["caption"][1:]), where
    assert at["caption"][1].split(": ")[1:] == at["caption"][2].split(": ")[1:], where
    read = readable(trace.axes[at["queries"]].tokens[query])
    if read.isalnum():  # others have a visible form
        assert f"“{read}” →" in at["caption"][1] or f"reads {read} →" in at["caption"][1], where
