"""Exact-match and character accuracy: for transliteration, grapheme-to-phoneme and short outputs.

    accuracy            the share of lines that are correct in every character
    character accuracy  1 - CER; CER is the edit distance of all lines over their references' length

Source: the character error rate of optical character and speech recognition; the word accuracy of
the NEWS shared tasks on transliteration (Chen et al. 2018).
"""

import unicodedata
from collections.abc import Sequence

from jumok.bundle.card import Score
from jumok.errors import DataError


def score_spelling(hypotheses: Sequence[str], references: Sequence[str]) -> list[Score]:
    """Accuracy and character accuracy, in percent; one reference a line.

    A Korean syllable is one character: texts are compared in NFC, without outer spaces. Character
    accuracy is below 0 where there are more errors than characters in the references.

    Raises:
        DataError: no line, different numbers of lines, or only empty references.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            "every output needs its reference.",
            expected=f"{len(references):,} lines, as many as references",
            got=f"{len(hypotheses):,} lines",
            do="give two files of the same lines in the same order",
        )
    outputs, right = ([_in_nfc(text) for text in texts] for texts in (hypotheses, references))
    length = sum(map(len, right))
    if not length:
        raise DataError("there is nothing to compare with.", do="give at least one reference")
    same = sum(one == other for one, other in zip(outputs, right, strict=True))
    edits = sum(edit_distance(one, other) for one, other in zip(outputs, right, strict=True))
    return [
        Score("accuracy", 100 * same / len(right), signature="lines|case:mixed|nfc"),
        Score("character accuracy", 100 * (1 - edits / length), signature="1-CER|case:mixed|nfc"),
    ]


def edit_distance(left: str, right: str) -> int:
    """The fewest insertions, deletions and replacements of characters.

    Source: Levenshtein 1966; Wagner and Fischer 1974.
    """
    above = list(range(len(right) + 1))
    for row, character in enumerate(left, start=1):
        row_costs = [row]
        for column, other in enumerate(right, start=1):
            replaced = above[column - 1] + (character != other)
            row_costs.append(min(replaced, above[column] + 1, row_costs[-1] + 1))
        above = row_costs
    return above[-1]


def _in_nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()
