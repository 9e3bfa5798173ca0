"""Texts of one to four clauses of one construction: only their length differs.

Each clause is a sentence of smallworld with four English words, polite, and of a plain
action; a text is some of them in a row, so that a long text has the same words, the same
grammar and the same information per word as a short one.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import smallworld
from jumok_lectures.world import SEED, words
from jumok_lectures.written import Splits, written
from smallworld import LinkedPair

LONGEST, CLAUSE = 4, 4  # clauses of a text, and English words of a clause
PLAIN = frozenset({"polite", "action", "past", "present", "adjective", "giving", "motion"})
HELD_OUT = 5  # one of so many clauses
WORDS = 250  # the commonest of the clauses' words


def write(folder: Path, pool: int = 2_500, training: int = 10_000, bucket: int = 300) -> Path:
    """Writes train and validation, .en and .ko, into folder/clauses, unless they are there.

    Args:
        pool: clauses, of which those with common words are taken.
        training: texts to train on.
        bucket: unseen texts of each length.
    """
    return written(folder / "clauses", lambda: _splits(pool, training, bucket))


def buckets(folder: Path) -> list[tuple[list[str], list[str]]]:
    """Unseen texts of one clause, of two, ...: English and Korean, equally many."""
    home = write(folder)
    sides = [(home / f"validation.{kind}").read_text("utf-8").splitlines() for kind in ("en", "ko")]
    size = len(sides[0]) // LONGEST
    return [
        (sides[0][at : at + size], sides[1][at : at + size])
        for at in range(0, LONGEST * size, size)
    ]


def _splits(pool_size: int, training: int, bucket: int) -> Splits:
    random = Random("clauses")
    pool = list(islice(_clauses(), pool_size))
    counts = Counter(word for pair in pool for word in words(pair))
    known = {word for word, _ in counts.most_common(WORDS)}
    common = list({(pair.source, pair.target): None for pair in pool if words(pair) <= known})
    test = common[::HELD_OUT]
    train = [clause for place, clause in enumerate(common) if place % HELD_OUT]
    lengths = [random.randint(1, LONGEST) for _ in range(training)]
    texts = {
        "train": [random.sample(train, many) for many in lengths],
        "validation": [
            random.sample(test, many) for many in range(1, LONGEST + 1) for _ in range(bucket)
        ],
    }
    return {
        split: {
            "en": [" ".join(english for english, _ in text) for text in chosen],
            "ko": [" ".join(korean for _, korean in text) for text in chosen],
        }
        for split, chosen in texts.items()
    }


def _clauses() -> Iterator[LinkedPair]:
    return (pair for pair in smallworld.pairs("train", SEED, CLAUSE, CLAUSE) if _plain(pair))


def _plain(pair: LinkedPair) -> bool:
    kinds = set(pair.constructions)
    return kinds <= PLAIN and {"polite", "action"} <= kinds and len(pair.source.split()) == CLAUSE
