"""Measured figures in the documents: where they are, and what measures them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.documented import COMMAND, INLINE, block_commands, unknown

UNITS = {
    "µs": r"µs|(?:CPU-)?microseconds?|마이크로초",
    "ms": r"(?:CPU-)?ms|milliseconds?|밀리초",
    "s": r"(?:(?:processor|CPU)[ -])?seconds?|CPU-s|s|(?:프로세서 |CPU ?)?초(?![가-힣]*기)",
    "min": r"(?:processor )?min(?:utes?)?|(?:프로세서 )?분(?!의|할|류|포|산|석)",
    "h": r"hours?|시간",
    "kB": r"kB|KB|KiB",
    "MB": r"MB|MiB|megabytes?",
    "GB": r"GB|GiB",
    "%": r"%|percent|퍼센트",
    "x": r"x(?! \d)|times(?! the)|배(?!치|열|포)",
    "rate": r"(?:(?:target )?tokens|requests|sentences|lines|pairs) (?:a|per) (?:CPU-)?second"
    r"|frames per second|(?:tokens|lines|pairs|토큰|줄|쌍)/s|[TG]FLOP(?:/s)?",
    "nats": r"nats?|내트",
    "bits": r"bits per byte|바이트당 비트",
    "score": r"BLEU|chrF",
}
NUMBER = r"(?<![\w.,:/^-])(?<!\d시 )[-+−]?\d(?:[\d,]*\d)?(?:\.\d+)?(?!\d)"
JOIN = r"(?:,? (?:and|to|or|instead of|against) |, |; |; | ± | → |~|–|에서 |과 |와 | )"
CHAIN = rf"{NUMBER}(?:{JOIN}{NUMBER})*"
ONE_OF = "|".join(f"(?P<u{place}>{words})" for place, words in enumerate(UNITS.values()))
BEFORE = re.compile(rf"(?P<numbers>{CHAIN})(?: \n| |-)?(?:{ONE_OF})(?![A-Za-z])")
SCORE = r"(?:BLEU(?:-4)?|chrF2?|CIDEr-D|[Pp]erplexity|[Aa]ccuracy|퍼플렉서티|정확도)"
AFTER = re.compile(rf"{SCORE},?(?: of| is| was|는|가|:)? (?P<numbers>{CHAIN})")
HEADED = re.compile(rf"\b(?:{SCORE}|{'|'.join(UNITS.values())})(?![A-Za-z])|ratio|비율")
MEASURING = re.compile(
    r"python -m |make (?:bench|lab|attack)"
    r"|jumok (?:demo|(?:align|evaluate|heads|lab|plan|quantize|train) \S)"
)
WORDS = {
    r"a quarter\s+of\s+an\s+hour": "15 minutes",
    r"half\s+an\s+hour": "30 minutes",
    r"half\s+a\s+minute": "30 seconds",
    r"half\s+a\s+second": "0.5 seconds",
    r"\bten(?=\s+(?:second|minute))": "10",
} | {
    rf"\b{word}(?=\s+(?:second|minute|hour))": str(number)
    for number, word in enumerate(["[Oo]ne", "[Tt]wo", "[Tt]hree", "four", "five", "six"], 1)
}
"""Figures in words, which the other language has in digits."""
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d+ [A-Z][a-z]+ \d{4}")


LINK = re.compile(r"\]\(([\w./-]+\.md)")
GENERATED = re.compile(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)
TOGETHER = re.compile(r"\||[-*] |\d\. |```| {4}")
"""How a table, a list or a code block begins, which belongs to the paragraphs around it."""


@dataclass(frozen=True)
class Figure:
    """A number without thousands' commas, and its unit; "" below a table's head, which names it."""

    number: str
    unit: str

    def __str__(self) -> str:
        return f"{self.number} {self.unit}".strip()


@dataclass(frozen=True)
class Passage:
    """Blocks that belong together: a table, list or code block with the paragraphs around it."""

    blocks: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(["", *self.blocks, ""])

    def figures(self) -> set[Figure]:
        return {figure for block in self.blocks for figure in figures(block)}

    def commands(self) -> list[str]:
        """The commands that measure something, and exist."""
        inline = (re.sub(r"\s+", " ", each).strip() for each in INLINE.findall(self.text))
        named = [each for each in inline if COMMAND.match(each)] + block_commands(self.text)
        return [each for each in named if MEASURING.match(each) and not unknown(each)]

    def linked(self, document: Path) -> set[Figure]:
        """The figures, and cells of tables, of the pages that this passage links to."""
        found = ((document.parent / link).resolve() for link in LINK.findall(self.text))
        pages = [page for page in found if page.exists()]
        return {each for page in pages for each in (*figures_of(page), *cells_of(page))}


def passages(document: Path) -> list[Passage]:
    """The passages of a document outside of its generated tables; a heading ends one."""
    text = GENERATED.sub("", document.read_text("utf-8"))
    text = re.sub(r"^(#+ .*)$", r"\n\1\n", text, flags=re.MULTILINE)
    for code in re.findall(r"^```.*?^```", text, flags=re.DOTALL | re.MULTILINE):
        text = text.replace(code, re.sub(r"\n\s*\n", "\n", code))
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text) if block.strip()]
    found: list[list[str]] = []
    for before, block in zip(["#", *blocks], blocks, strict=False):
        heading = before.startswith("#") or block.startswith("#")
        if heading or not (TOGETHER.match(before) or TOGETHER.match(block)):
            found.append([])
        found[-1].append(block)
    return [Passage(tuple(each)) for each in found]


@cache
def figures_of(document: Path) -> frozenset[Figure]:
    """All figures of a document, its generated tables included."""
    text = document.read_text("utf-8")
    return frozenset(figure for block in re.split(r"\n\s*\n", text) for figure in figures(block))


@cache
def cells_of(document: Path) -> frozenset[Figure]:
    """Every number of two digits and more in the tables of a document."""
    cells = re.findall(r"(?<=\|)[^|\n]+(?=\|)", document.read_text("utf-8"))
    numbers = {each.replace(",", "") for cell in cells for each in re.findall(NUMBER, cell)}
    return frozenset(Figure(each, "") for each in numbers if len(each) > 1)


def figures(block: str) -> Iterator[Figure]:
    """The figures of a block of Markdown, outside of code."""
    if block.startswith(("```", "    ")):
        return
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|<sup>.*?</sup>", " ", block, flags=re.DOTALL)
    text = in_digits(text)
    text = re.sub(r"[ ]{2,}", " ", DATE.sub(" ", text).replace("**", "").replace("\n", " \n"))
    if block.startswith("|"):
        yield from _of_columns(text)
    for found in BEFORE.finditer(text):
        (place,) = [place for place, _ in enumerate(UNITS) if found[f"u{place}"]]
        for number in re.findall(NUMBER, found["numbers"]):
            yield Figure(number.replace(",", ""), [*UNITS][place])
    for found in AFTER.finditer(text):
        for number in re.findall(NUMBER, found["numbers"]):
            yield Figure(number.replace(",", ""), "score")


def in_digits(text: str) -> str:
    for words, digits in WORDS.items():
        text = re.sub(words, digits, text)
    return text


def _of_columns(table: str) -> Iterator[Figure]:
    """The numbers below a head that names a unit or a score."""
    head, _, *rows = [line.strip().strip("|").split("|") for line in table.splitlines()]
    for column, name in enumerate(head):
        if HEADED.search(name):
            for row in rows:
                for number in re.findall(NUMBER, row[column] if column < len(row) else ""):
                    yield Figure(number.replace(",", ""), "")


def same(figure: Figure, other: Figure) -> bool:
    """Whether `figure` is `other`, or rounded from it to its own digits."""
    if figure.unit and other.unit and figure.unit != other.unit:
        return False
    written, value = (each.number.lstrip("+").replace("−", "-") for each in (figure, other))
    _, _, digits = written.partition(".")
    return written == f"{float(value):.{len(digits)}f}" or float(written) == float(value)
