"""How often a word that the page calls left out was left out: against the reference's alignment.

    python -m benchmarks.findings demo/smallworld-en-ko --sentences 400

A word of the source is left out if its reference has words for it (by the gold alignment of
smallworld) and the translation has none that begins alike (two letters: Korean endings differ).
Listed is what web/overview/findings.js lists: no written word attended most to it, none is less
probable without it by 10 %, and it is not a word of every text.
"""

import argparse
import re
from pathlib import Path

import numpy as np

from jumok.inspection.trace import Trace
from jumok.plot.board import HeadChoice, board, matrix
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses

UNCHANGED = 0.1
ONLY_ATTRIBUTION = Analyses(ablation=False, search_tree=False, layers=False, walk=False)


def main() -> None:
    """Trace the sentences of the test split, and count."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--sentences", type=int, default=400)
    arguments = parser.parse_args()
    test = arguments.run / "smallworld" / "test"
    sides = [test.with_suffix(f".{kind}").read_text("utf-8").splitlines() for kind in SIDES]
    family = load_family(arguments.run / "model", device="cpu")
    counts = {"words": 0, "left out": 0}
    rules: dict[str, list[bool]] = {"attention alone": [], "occlusion alone": [], "all three": []}
    for source, reference, links in list(zip(*sides, strict=True))[: arguments.sentences]:
        trace = family.trace(source, None, family.options, extras=ONLY_ATTRIBUTION)
        if trace.segments > 1 or len(trace.axes["source"].texts) != len(source.split()):
            continue
        left = _left_out(trace, reference.split(), links)
        attended, effect, frequent = _facts(trace)
        counts["words"] += len(left)
        counts["left out"] += sum(left)
        for column, truth in enumerate(left):
            if not attended[column]:
                rules["attention alone"].append(truth)
            if effect[column] < UNCHANGED:
                rules["occlusion alone"].append(truth)
            if not (attended[column] or effect[column] >= UNCHANGED or frequent[column]):
                rules["all three"].append(truth)
    print(", ".join(f"{name}: {count:,}" for name, count in counts.items()))
    for name, found in rules.items():
        print(f"{name}: {len(found)} listed, {sum(found)} of them left out")


SIDES = ("en", "ko", "align")


def _left_out(trace: Trace, reference: list[str], links: str) -> list[bool]:
    pairs = [tuple(map(int, re.split("[-p]", link)[:2])) for link in links.split()]
    found = []
    for column in range(len(trace.axes["source"].texts)):
        own = [reference[b] for a, b in pairs if a == column and b < len(reference)]
        found.append(bool(own) and not any(_stem(word) in trace.output for word in own))
    return found


def _stem(word: str) -> str:
    return word.strip(".,?!")[:2]


def _facts(trace: Trace) -> tuple[list[bool], list[float], list[bool]]:
    """Of each word of the source: attended to most by one, its largest effect, in every text."""
    setting = trace.findings.setting
    assert setting is not None
    assert trace.findings.attribution is not None
    sites = [each for each in trace.sites if each.part == "cross"]
    site = next(each for each in sites if each.layer == setting.layer)
    head: HeadChoice = "mean" if setting.head is None else setting.head
    weights = board(trace, site, matrix(site, head), "words").values
    tops = set(weights.argmax(axis=1))
    drops = trace.findings.attribution["words"].measures["blank"]["source"]
    columns = range(weights.shape[1])
    return (
        [column in tops for column in columns],
        np.asarray(drops.max(axis=0)).tolist(),
        [column in trace.findings.frequent for column in columns],
    )


if __name__ == "__main__":
    main()
