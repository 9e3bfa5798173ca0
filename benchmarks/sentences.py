"""How many sentence boundaries the splitter misses, and how many it invents, on real sentences.

    python -m benchmarks.sentences FOLDER [PEERS]

FOLDER holds tatoeba, multi30k and enko as `recipes/` expect them. Three single sentences at a time
are joined by spaces; a boundary is correct between two of them. A line counts as a single sentence
if its translation has no punctuation mark inside; no splitter decides this. PEERS is a folder with
sentencex, pysbd and sentence-splitter (pip install --target), which are then measured on the same
lines.
"""

import gzip
import importlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from jumok.systems.translation.sentences import sentences

Split = Callable[[str], list[str]]
INSIDE = re.compile(r"[.!?…]+[\"'”’»)]*\s+\S|[.!?…][\"'”’»)]*\s*[–—]\s")
WHOLE = re.compile(r"[.!?…][\"'”’»)]*\Z")
GROUPS, SIZE = 3000, 3


def pairs(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """(name and language, (sentence, its translation)) of every corpus."""
    with gzip.open(folder / "tatoeba" / "eng-fra.tsv.gz", "rt", encoding="utf-8") as stream:
        tatoeba = [tuple(line.rstrip("\n").split("\t")[:2]) for line in stream]
    yield "tatoeba en", [(english, french) for english, french in tatoeba]
    yield "tatoeba fr", [(french, english) for english, french in tatoeba]
    german, english = (
        (folder / "multi30k" / f"val.{code}").read_text("utf-8").splitlines()
        + (folder / "multi30k" / f"test_2016_flickr.{code}").read_text("utf-8").splitlines()
        for code in ("de", "en")
    )
    yield "multi30k de", list(zip(german, english, strict=True))
    yield "multi30k en", list(zip(english, german, strict=True))
    with gzip.open(folder / "enko" / "train.tsv.gz", "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    for part in ("pydocs", "tatoeba", "gnome_help"):
        chosen = [(row[1], row[2]) for row in rows if row[0] == part]
        yield f"{part} en", chosen
        yield f"{part} ko", [(korean, english) for english, korean in chosen]


def groups(rows: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Three single sentences each."""
    single = sorted(
        {
            text
            for text, witness in rows
            if WHOLE.search(text) and WHOLE.search(witness) and not INSIDE.search(witness)
        }
    )
    random = Random(0)
    return [random.sample(single, SIZE) for _ in range(min(GROUPS, len(single)))]


def measure(split: Split, lines: list[list[str]]) -> tuple[float, float, float]:
    """Percent of the ends missed, wrong ends per 100 sentences, microseconds a sentence."""
    missed = wrong = 0
    started = time.perf_counter()
    splits = [split(" ".join(group)) for group in lines]
    seconds = time.perf_counter() - started
    for group, parts in zip(lines, splits, strict=True):
        right, here = ends(group), ends(parts)
        missed += len(right - here)
        wrong += len(here - right)
    count = len(lines) * SIZE
    return 100 * missed / (len(lines) * (SIZE - 1)), 100 * wrong / count, 1e6 * seconds / count


def ends(parts: Iterable[str]) -> set[int]:
    """Where all parts but the last end, counted in characters that are no spaces."""
    total, places = 0, set()
    for part in parts:
        total += len("".join(part.split()))
        places.add(total)
    return places - {total}


def ours(code: str) -> Split:
    return lambda text: [text[start:end] for start, end in sentences(text, code)]


def peers(code: str, folder: str) -> Iterator[tuple[str, Split]]:
    """What other libraries make of the same language; what they do not know is left out."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sentencex = importlib.import_module("sentencex")
    yield "sentencex", lambda text: list(sentencex.segment(code, text))
    if code in ("en", "de", "fr"):
        segmenter = importlib.import_module("pysbd").Segmenter(language=code, clean=False)
        yield "pysbd", segmenter.segment
        splitter = importlib.import_module("sentence_splitter").SentenceSplitter(code)
        yield "sentence-splitter", splitter.split


def main(folder: str, other: str = "") -> None:
    print(f"{'lines':18}{'splitter':20}{'missed %':>10}{'wrong / 100':>13}{'us':>8}")
    for name, rows in pairs(Path(folder)):
        code = name.split()[1]
        lines = groups(rows)
        splitters = [("jumok", ours(code)), *(peers(code, other) if other else ())]
        for splitter, split in splitters:
            missed, wrong, microseconds = measure(split, lines)
            print(f"{name:18}{splitter:20}{missed:10.2f}{wrong:13.2f}{microseconds:8.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
