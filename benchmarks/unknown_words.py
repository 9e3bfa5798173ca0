"""How many of a test set's new words `unknown-words` names, and how many others.

    python -m benchmarks.unknown_words TRAIN TEST

TRAIN: the sources of the training data, one a line; .gz is read, too. TEST: others.
"""

import argparse
from collections import Counter
from itertools import islice
from pathlib import Path

from jumok.bundle.profile import SEEN, Profile, stripped
from jumok.data.files.reading import read_lines
from jumok.data.tokenizer import normalize, plain_words
from jumok.training.tasks.translation import PROFILED_LINES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    given = parser.parse_args()
    train, test = _lines(given.train), _lines(given.test)
    counts = Counter(_plain(word) for line in train for word in plain_words(line))
    profile = Profile.of(train, test, ratio=1.0)
    named: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for line in test:
        unknown = set(profile.unknown_words(plain_words(line)))
        for at, word in enumerate(plain_words(line)):
            seen = counts[_plain(word)]
            kind = "never seen" if not seen else "seen rarely" if seen < SEEN else "known"
            words[kind] += 1
            named[kind] += at in unknown
    for kind in ("never seen", "seen rarely", "known"):
        print(f"{kind}: {words[kind]:,} words, of which {named[kind]:,} are named")


def _lines(file: Path) -> list[str]:
    return [normalize(line) for line in islice(read_lines(file), PROFILED_LINES)]


def _plain(word: str) -> str:
    return stripped(word).casefold()


if __name__ == "__main__":
    main()
