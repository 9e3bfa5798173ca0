"""`python docs/lectures.py`: lectures.md and lectures.ko.md, from lectures.toml."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jumok.environment import Language
from jumok_lectures.course.chapters import find
from jumok_lectures.experiments import errata
from jumok_lectures.findings import Setting
from jumok_lectures.text import Text

DOCS = Path(__file__).parent
TOML, WEB = DOCS / "lectures.toml", DOCS.parent / "web"
ENGLISH, KOREAN = DOCS / "lectures.md", DOCS / "lectures.ko.md"
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)

NOTES = {
    "000": (
        "Computational linguistics, lecture 22 (Suzi Park, Seoul National University 2022)",
        "컴퓨터언어학 22강 (박수지, 서울대학교 2022)",
    ),
    "001": ("Slides on the Transformer", "트랜스포머 발표 자료"),
    "002": ("Notes on KAIST's AI504", "KAIST AI504 강의 정리"),
    "003": ("A blog post on query, key and value", "쿼리, 키, 값에 관한 블로그 글"),
    "004": ("Notes on Stanford's CS231n, lecture 11", "스탠퍼드 CS231n 11강 정리"),
}

INTRODUCTION = {
    "en": """# The lectures, line by line

[한국어](lectures.ko.md)

This page is for readers of the five Korean lecture notes on attention that jumok covers. Each row
gives some lines of a note, what they state, and the places in jumok that explain, compute or test
the statement:

- course: chapters of the [course](course/README.md)
- example: `jumok explain --lecture 002:15` recomputes the numbers of a note, step by step;
  `--save page.html` shows the attention on a page. If a note contains only symbols, the example
  uses chosen numbers and marks them as chosen.
- lab: `jumok lab NAME` tests a claim by experiment. The links lead to [the results](lab.md).
- a command: MODEL is the folder of a trained model, VECTORS a file of word vectors, and LINKS a
  file of gold alignments. Some recipes need [data](data.md).
- view: a view of `jumok look MODEL "..."` ([all views](look.md))
- a class, a function or a file of the source code
- error: the note is wrong or incomplete, or contradicts itself. The correction follows;
  `jumok lab errata` computes the line as written and as corrected, in the row with this number.

Titles, authors, page decoration and links to pictures are left out. Quotations keep the spelling of
the notes.
""",
    "ko": """# 강의 노트 한 줄 한 줄

[English](lectures.md)

jumok이 다루는 한국어 어텐션 강의 노트 다섯 편을 읽는 사람을 위한 문서입니다. 표의 각 행에는
노트의 줄과 그 내용, 그리고 그 내용을 jumok에서 설명하거나 계산하거나 시험하는 곳이 있습니다.

- 강좌: [강좌](course/README.ko.md)의 장
- 예제: `jumok explain --lecture 002:15 --lang ko`는 노트의 숫자를 단계마다 다시 계산합니다.
  `--save page.html`을 붙이면 어텐션을 페이지로 보여 줍니다. 노트에 기호만 있으면 예제의 숫자를
  임의로 정하고 그렇게 표시합니다.
- 실험: `jumok lab NAME --lang ko`는 주장을 실험으로 검증합니다. 링크는 [결과](lab.ko.md)로
  이어집니다.
- 명령: MODEL은 학습한 모델의 폴더, VECTORS는 단어 벡터 파일, LINKS는 정답 정렬 파일입니다. 일부
  레시피에는 [데이터](data.ko.md)가 필요합니다.
- 화면: `jumok look MODEL "..."`의 화면([모든 화면](look.ko.md))
- 소스 코드의 클래스, 함수, 파일
- 오류: 노트가 틀렸거나 불완전하거나 서로 어긋나는 곳과 바른 설명. `jumok lab errata --lang ko`는
  이 번호의 행에서 적힌 식과 올바른 식을 각각 계산합니다.

제목과 저자, 페이지 장식, 그림 링크는 제외했습니다. 인용문은 노트의 맞춤법을 그대로 따릅니다.
""",
}
REFERENCES = 342  # the line of note 004 that has the first of them
HEADINGS = {
    "en": ("lines", "quotation", "statement", "in jumok"),
    "ko": ("줄", "인용", "내용", "jumok에서"),
}
LABELS = {
    "en": {"course": "course", "example": "example", "lab": "lab", "views": "view"},
    "ko": {"course": "강좌", "example": "예제", "lab": "실험", "views": "화면"},
}
SLIP = {"en": "*Error* ({}): {}.", "ko": "*오류*({}): {}."}
READING = {
    "en": "## Further reading\n\nReferences of note 004:\n",
    "ko": "## 더 읽기\n\n노트 004의 참고 자료입니다.\n",
}
FOLLOWED = {
    "en": "\nSources of jumok's code, with the related lines of the notes:\n",
    "ko": "\njumok 코드의 출처입니다. 괄호 안은 노트의 관련된 줄입니다.\n",
}


@dataclass(frozen=True, kw_only=True)
class NoteLine:
    """Some lines of a note, and what answers them; lectures.toml explains the keys."""

    at: str
    quote: str
    en: str
    ko: str
    line: int = 0
    also: str = ""
    course: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()
    labs: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    docs: tuple[str, ...] = ()
    slip: str = ""
    note_en: str = ""
    note_ko: str = ""

    @property
    def lecture(self) -> str:
        return self.at[:3]

    @property
    def lines(self) -> str:
        return self.at[4:]

    @property
    def quoted(self) -> int:
        """The line of the quote."""
        return self.line or numbers(self.lines)[0]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A text to read on."""

    source: str
    title: str
    at: str
    en: str
    ko: str


@dataclass(frozen=True)
class Lectures:
    """All of lectures.toml.

    Attributes:
        apart: by note, the lines that state nothing.
        references: title and address of what note 004 refers to, from its line REFERENCES on.
    """

    lines: tuple[NoteLine, ...]
    apart: dict[str, str]
    readings: tuple[Reading, ...]
    references: tuple[tuple[str, str], ...]


def load(path: Path = TOML) -> Lectures:
    """The file.

    Raises:
        TypeError: an entry has a key that does not exist, or lacks one.
    """
    with path.open("rb") as file:
        found = tomllib.load(file)

    def as_line(entry: dict[str, Any]) -> NoteLine:
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        return NoteLine(**{**entry, **lists})

    return Lectures(
        tuple(as_line(entry) for entry in found["line"]),
        found["apart"],
        tuple(Reading(**entry) for entry in found["read"]),
        tuple((entry["title"], entry["url"]) for entry in found["reference"]),
    )


def numbers(ranges: str) -> list[int]:
    """ "4-6, 9" are 4, 5, 6 and 9."""
    found: list[int] = []
    for part in filter(None, ranges.split(",")):
        first, _, last = part.strip().partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def view_names() -> dict[str, dict[str, str]]:
    """By language and id, the titles of the views in the page's own words."""
    catalog = (WEB / "views" / "catalog.js").read_text("utf-8")
    ids = re.findall(r"\b(\w+): \w+View\b", catalog)
    words = "".join(path.read_text("utf-8") for path in sorted(WEB.glob("words*.js")))
    words = re.sub(r"^ +tabShows: \{.*?\},$", "", words, flags=re.M | re.S)  # has the same ids
    titles = {each: re.findall(rf'^ +{each}: "([^"]+)",$', words, re.M) for each in ids}
    return {"en": {i: t[0] for i, t in titles.items()}, "ko": {i: t[1] for i, t in titles.items()}}


def slug(heading: str) -> str:
    """The anchor that a heading has on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def section(target: str, language: str) -> str:
    """A link to "look.md#the-walk" in this language.

    Raises:
        ValueError: the document has no such heading.
    """
    name, _, anchor = target.partition("#")
    twin = name.replace(".md", ".ko.md")
    shown = twin if language == "ko" else name
    if not anchor:
        return f"[{shown}]({shown})"
    if name == ENGLISH.name:
        heading = HEADING.search(READING[language])
        assert heading is not None
        return f"[{heading[1]}](#{slug(heading[1])})"
    headings = HEADING.findall((DOCS / name).read_text("utf-8"))
    place = [slug(each) for each in headings].index(anchor)
    title = HEADING.findall((DOCS / shown).read_text("utf-8"))[place]
    return f"[{shown}: {title}]({shown}#{slug(title)})"


@cache
def slips() -> dict[str, Text]:
    """What is right, by the first place of each row of the lab `errata`."""
    rows = errata.run(Setting(seeds=(1,), full=False, cache=DOCS)).rows
    return {str(place).partition(",")[0]: right for place, _, right, _ in rows}


def code_links(places: Iterable[str]) -> str:
    """ "attention/core.py:attend" as a link from the name to the file."""
    parts = (place.partition(":") for place in places)
    return ", ".join(f"[`{symbol or file}`](../src/jumok/{file})" for file, _, symbol in parts)


def chapter_links(numbers: Iterable[str], language: Language) -> str:
    """Chapters of the course, as links."""
    suffix = ".ko.md" if language == "ko" else ".md"
    return ", ".join(f"[{each}](course/{find(each).name}{suffix})" for each in numbers)


def lab_links(names: Iterable[str], language: Language) -> str:
    """The results of labs, as links."""
    page = "lab.ko.md" if language == "ko" else "lab.md"
    return ", ".join(f"[{each}]({page}#{each})" for each in names)


def answers(line: NoteLine, language: Language, views: dict[str, str]) -> str:
    """The last cell of a row."""
    labelled = {
        "course": chapter_links(line.course, language),
        "example": ", ".join(line.worked),
        "lab": lab_links(line.labs, language),
        "views": ", ".join(f"*{cell(views[each])}*" for each in line.views),
    }
    given = {key: value for key, value in labelled.items() if value}
    parts = ["; ".join(f"{LABELS[language][key]}: {value}" for key, value in given.items())]
    parts.append(", ".join(f"`{each}`" for each in line.run))
    parts.append(code_links(line.code))
    parts.append(", ".join(section(each, language) for each in line.docs))
    if line.slip:
        right = cell(slips()[line.slip].of(language))
        parts.append(SLIP[language].format(line.slip, right))
    parts.append(line.note_ko if language == "ko" else line.note_en)
    return "<br>".join(filter(None, parts))


def cell(words: str) -> str:
    """Words in a cell of a table, with nothing that Markdown would read."""
    return re.sub(r"([|*$\\\[\]])", r"\\\1", " ".join(words.split()))


def row(line: NoteLine, language: Language, views: dict[str, str]) -> str:
    said = line.ko if language == "ko" else line.en
    where = line.lines.replace("-", "–")
    cells = (where, f"“{cell(line.quote)}”", cell(said), answers(line, language, views))
    return f"| {' | '.join(cells)} |"


def page(lectures: Lectures, language: Language) -> str:
    """The whole document."""
    views = view_names()[language]
    parts = [INTRODUCTION[language]]
    head = f"| {' | '.join(HEADINGS[language])} |\n|---|---|---|---|"
    for note, titles in NOTES.items():
        rows = [row(line, language, views) for line in lectures.lines if line.lecture == note]
        title = titles[1 if language == "ko" else 0]
        parts.append("\n".join([f"## {note}: {title}\n", head, *rows]) + "\n")
    listed = [
        f"- {each.source}, *{each.title}*, {each.at}: {each.ko if language == 'ko' else each.en}"
        for each in lectures.readings
    ]
    referred = [
        f"{number}. [{cell(title)}]({url})"
        for number, (title, url) in enumerate(lectures.references, 1)
    ]
    parts.append("\n".join([READING[language], *referred, FOLLOWED[language], *listed]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    ENGLISH.write_text(page(load(), "en"), encoding="utf-8")
    KOREAN.write_text(page(load(), "ko"), encoding="utf-8")
