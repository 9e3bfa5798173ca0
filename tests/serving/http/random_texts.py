"""Lines of text as they come: sentences of smallworld with what else is found in real ones."""

import random
from collections.abc import Callable, Iterator
from itertools import islice

from smallworld import pairs

INVISIBLE = ["\u200b", "\u00ad", "\ufeff", "\u200d", "\u2060", "\u00a0", "\u2028", "\x85", "\x0b"]
WORDS = [
    *("3", "1,234.5", "2024-05-06", "2.0.1", "+82 2-123-4567", "50 %", "$5", "10:30"),
    *("{name}", "%d", "%(count)s", "${HOME}", "{{user}}", "&nbsp;", "<b>it</b>", "<br/>", "</i>"),
    *("\U0001f642", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "❤️", "→", "…"),
    *("https://example.org/a?b=c&d=1", "a.b@example.org", "www.example.org", "#tag", "@me"),
    *("고양이", "дом", "猫", "e\u0301", "ﬁ", "zzxqj", "snake_case", "don't", "\t", "  "),
]
BRACKETS = ["({})", "[{}]", '"{}"', "“{}”", "- {}", "1. {}", "* {} *", "({}", "{} [1]", "> {}"]
NOTHING = ["", " ", "\u200b", "...", "---", "42", "\U0001f642", "?!", "\u00a0", "( )", "<b></b>"]


def random_texts(count: int, seed: int) -> list[str]:
    """So many lines; the same for the same seed."""
    chance, sentences = random.Random(seed), (pair.source for pair in pairs("test", seed))
    return [_edited(next(sentences), sentences, chance) for _ in range(count)]


def _edited(text: str, sentences: Iterator[str], chance: random.Random) -> str:
    edits: list[Callable[[str], str]] = [
        lambda line: line,
        lambda line: _with_word(line, chance.choice(WORDS), chance),
        lambda line: _within(line, chance.choice(INVISIBLE), chance),
        lambda line: chance.choice(BRACKETS).format(line),
        lambda line: f"{line} {next(sentences)}",
        lambda line: " ".join([line, *islice(sentences, 8)]),
        str.upper,
        str.title,
        lambda line: line.rstrip("."),
        lambda line: f"  {line} ",
        lambda line: chance.choice(NOTHING),
        lambda line: line.replace(" ", "", chance.randrange(3)),
    ]
    for _ in range(chance.randrange(4)):
        text = chance.choice(edits)(text)
    return text


def _with_word(line: str, added: str, chance: random.Random) -> str:
    words = line.split(" ")
    words.insert(chance.randrange(len(words) + 1), added)
    return " ".join(words)


def _within(line: str, added: str, chance: random.Random) -> str:
    place = chance.randrange(len(line) + 1)
    return line[:place] + added + line[place:]
