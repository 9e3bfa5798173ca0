"""Pairs for `jumok prepare`: those of Tatoeba, two in a pair, and some that filters take away."""

import gzip
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

RECIPE = """name = "cleaned"
[data]
source_language = "en"
target_language = "fr"
[data.clean]
language = 0.8
[[data.train]]
file = "pairs.tsv"
[tokenizer]
kind = "bpe"
size = 16000
"""
AT_ONCE = 100_000


def write_corpus(folder: Path, tatoeba: Path, pairs: int) -> Path:
    """Writes pairs.tsv and a recipe for it; the recipe's path.

    Of a hundred pairs, one is an earlier one again, one has the same text on both sides, one has a
    tag, and one has its sides swapped.

    Args:
        tatoeba: eng-fra.tsv.gz, English and French in its first columns.
    """
    with gzip.open(tatoeba, "rt", encoding="utf-8") as lines:
        known = [tuple(line.rstrip("\n").split("\t")[:2]) for line in lines]
    made = _pairs([(one, other) for one, other in known])
    with (folder / "pairs.tsv").open("w", encoding="utf-8") as file:
        for start in range(0, pairs, AT_ONCE):
            some = islice(made, min(AT_ONCE, pairs - start))
            file.write("".join(f"{source}\t{target}\n" for source, target in some))
    recipe = folder / "cleaned.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


def _pairs(known: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    draw = random.Random(1)
    source, target = known[0]
    while True:
        for number in range(100):
            if number != 96:
                one, two = draw.choice(known), draw.choice(known)
                source, target = f"{one[0]} {two[0]}", f"{one[1]} {two[1]}"
            if number == 97:
                yield source, source
            elif number == 98:
                yield f"<p>{source}</p>", target
            elif number == 99:
                yield target, source
            else:
                yield source, target
