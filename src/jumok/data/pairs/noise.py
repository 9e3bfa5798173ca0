"""Noise on source sentences, as people write them, so that a model learns to read it.

The target stays as it is: of a sentence in capitals it is the usual translation.

Source: Belinkov and Bisk 2018, "Synthetic and natural noise both break neural machine translation".
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from random import Random

from jumok.config.data import NoiseConfig

NOISE_MARKS = ".,;:!?…。、，！？"
FIRST_EMOJI, LAST_EMOJI = 0x1F300, 0x1F64F

TextChange = Callable[[str, Random], str]


def noised(text: str, noise: NoiseConfig, random: Random) -> str:
    """The text with each kind of noise as likely as `noise` says."""
    for name, change in CHANGES.items():
        if random.random() < getattr(noise, name):
            text = change(text, random)
    return text


def cases_seen(lines: Iterable[str], noise: NoiseConfig | None, seed: int) -> Iterator[str]:
    """The lines to train a tokenizer on, with the noise in their case: of a tokenizer without it,
    a word in capitals is as many tokens as letters.
    """
    random = Random(seed)
    for line in lines:
        changed = noise is not None and random.random() < noise.case
        yield other_case(line, random) if changed else line


def other_case(text: str, random: Random) -> str:
    """In capitals, Every Word With One, or in small letters."""
    return random.choice((str.upper, str.upper, title, title, str.lower))(text)


def title(text: str) -> str:
    """Every Word With A Capital; its other letters stay."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))


def typo(text: str, random: Random) -> str:
    """One letter swapped with the next of its word, left out, doubled, or another of the text."""
    kind, spans = (
        random.choice(("swapped", "swapped", "missing", "doubled", "other")),
        letters(text),
    )
    if kind == "swapped" or len(spans) < 2:
        return swapped(text, random)
    (start, end), (first, last) = random.choice(spans), random.choice(spans)
    letter = text[start:end]
    other = {"missing": "", "doubled": letter * 2, "other": text[first:last]}[kind]
    return text[:start] + other + text[end:]


def swapped(text: str, random: Random) -> str:
    """Two neighbouring letters of a word change places; a text without two different ones stays."""
    spans = letters(text)
    neighbours = [
        (start, middle, end)
        for (start, middle), (second, end) in pairwise(spans)
        if middle == second and text[start:middle] != text[second:end]
    ]
    if not neighbours:
        return text
    start, middle, end = random.choice(neighbours)
    return text[:start] + text[middle:end] + text[start:middle] + text[end:]


def letters(text: str) -> list[tuple[int, int]]:
    """The span of each letter, with the combining marks that follow it."""
    spans: list[tuple[int, int]] = []
    for at, char in enumerate(text):
        kind = unicodedata.category(char)[0]
        if kind == "L":
            spans.append((at, at + 1))
        elif kind == "M" and spans and spans[-1][1] == at:
            spans[-1] = spans[-1][0], at + 1
    return spans


def less_punctuation(text: str, random: Random) -> str:
    """Without the mark at the end, or without those at the ends of all words."""
    ended = text.rstrip()
    if random.random() < 0.5:
        words = text.split(" ")
        ended = " ".join(word.rstrip(NOISE_MARKS) for word in words)
    return ended.rstrip(NOISE_MARKS) or text


def other_spaces(text: str, random: Random) -> str:
    """Without one of the spaces between words, or with one more within a word."""
    spaces = [at for at, char in enumerate(text) if char == " "]
    inside = [end for start, end in letters(text) if text[end : end + 1].isalpha()]
    if spaces and (not inside or random.random() < 0.5):
        at = random.choice(spaces)
        return text[:at] + text[at + 1 :]
    if not inside:
        return text
    at = random.choice(inside)
    return f"{text[:at]} {text[at:]}"


def with_emoji(text: str, random: Random) -> str:
    """With an emoji after one of its words."""
    ends = [at for at, char in enumerate(text) if char == " "] + [len(text)]
    at = random.choice(ends)
    return f"{text[:at]} {chr(random.randint(FIRST_EMOJI, LAST_EMOJI))}{text[at:]}"


CHANGES: dict[str, TextChange] = {
    "punctuation": less_punctuation,
    "spaces": other_spaces,
    "typos": typo,
    "case": other_case,
    "emoji": with_emoji,
}
"""By their names in [data.noise], in the order in which they are applied."""
