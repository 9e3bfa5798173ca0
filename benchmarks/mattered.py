"""How far attribution methods agree with occlusion, over sentences of a corpus.

    python -m benchmarks.mattered MODEL FILE            # the first 100 lines of FILE

Each sentence is translated (beam 5). For each word of a translation the source words are ranked by
every method, and by occlusion: the drop of the word's log-probability without them. The tables have
the mean Spearman rank correlation of the two, how often both rank the same word first, and the
share of the source by fifths of the sentence.
"""

import argparse
import sys
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
import torch

from jumok.inspection.findings import Attributions
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses

WORDS = Analyses(ablation=False, attribution=True, search_tree=False)
FIFTHS = 5


def found_of(model: Path, texts: list[str]) -> list[Attributions]:
    """The attributions of each translation, by words; one without a word has none."""
    family = load_family(model, device="cpu")
    traces = (family.trace(text, level="weights", extras=WORDS) for text in texts)
    attributions = (trace.findings.attribution for trace in traces)
    return [each["words"] for each in attributions if each is not None]


def agreement(ranked: list[Attributions]) -> list[tuple[str, float, float]]:
    """Each method's mean rank correlation with occlusion, and how often the first is the same."""
    names = list(ranked[0].measures)
    tables = np.array([row for each in ranked for row in each.ranks])
    correlations = np.nanmean(tables, axis=0)[:, names.index("blank")]
    first = {
        name: [
            int(np.abs(row).argmax()) for each in ranked for row in each.measures[name][each.read]
        ]
        for name in names
    }
    same = [np.mean(np.equal(first[name], first["blank"])) for name in names]
    return list(zip(names, map(float, correlations), map(float, same), strict=True))


def shares(ranked: list[Attributions]) -> dict[str, list[float]]:
    """The source's mean share in each fifth of the sentences, by measure."""
    means = {}
    for name in ranked[0].shares:
        fifths: list[list[float]] = [[] for _ in range(FIFTHS)]
        for each in ranked:
            for place, share in enumerate(each.shares[name]):
                fifths[place * FIFTHS // len(each.shares[name])].append(share)
        means[name] = [float(np.mean(fifth)) for fifth in fifths]
    return means


def main() -> None:
    """Prints the two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mattered", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with arguments.file.open(encoding="utf-8") as lines:
        texts = [line.strip() for line in islice(lines, arguments.sentences)]
    start = process_time()
    ranked = found_of(arguments.model, texts)
    if not ranked:
        sys.exit("benchmarks.mattered: no translation has a word")
    words = sum(len(each.ranks) for each in ranked)
    print(f"{len(ranked)} sentences, {words} words, {process_time() - start:.0f} CPU-seconds\n")
    print("| measure | Spearman with occlusion | same word first |\n| --- | --- | --- |")
    for name, correlation, same in agreement(ranked):
        print(f"| {name} | {correlation:.2f} | {100 * same:.0f} % |")
    print("\n| share of the source | 1st fifth | 2nd | 3rd | 4th | 5th |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, fifths in shares(ranked).items():
        print(f"| {name} | " + " | ".join(f"{100 * share:.0f} %" for share in fifths) + " |")


if __name__ == "__main__":
    main()
