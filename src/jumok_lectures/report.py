"""Runs a lab and writes its files: NAME.svg, NAME.png, NAME.json, and a page of all labs."""

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from jumok.environment import LANGUAGES, Language
from jumok.errors import DataError, Location
from jumok_lectures.catalog import LABS
from jumok_lectures.entry import Lab
from jumok_lectures.findings import Findings, Outcome, Setting, outcome_of, table, verdict_of
from jumok_lectures.judging import INTERVAL, SEEDS, STATES, State, half_width
from jumok_lectures.picture import draw
from jumok_lectures.texts import Texts

T = Texts("report")

HEADINGS = T.named("headings")
SAME = {True: T("yes"), False: T("no")}
FURTHER = "further.json"  # in a folder of labs: how they turned out with further seeds
OUTCOMES = T.named("outcomes")


@dataclass(frozen=True)
class LabReport:
    """A lab that ran.

    Attributes:
        note: what the reader has to know about the plot; None if there is nothing.
        files: what was written.
        seconds: wall time.
    """

    lab: Lab
    findings: Findings
    seconds: float
    files: tuple[Path, ...]
    note: str | None


def run(lab: Lab, setting: Setting, folder: Path, language: Language) -> LabReport:
    """Runs a lab and writes its plot and figures.

    Raises:
        JumokError: matplotlib is missing, or a folder that cannot be written.
    """
    wall, cpu = time.perf_counter(), time.process_time() + setting.workers.seconds
    findings = lab.run(setting)
    seconds = time.perf_counter() - wall
    cpu_seconds = time.process_time() + setting.workers.seconds - cpu
    # Findings about the user's own encoder are kept next to the lab's, and do not replace them.
    name = lab.name if setting.encoder is None else f"{lab.name}-encoder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        note = draw(findings, folder / name, language)
        file = folder / f"{name}.json"
        times = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
        text = json.dumps(record(lab, findings, setting) | times, ensure_ascii=False, indent=1)
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(
            "the lab's files cannot be written.", got=str(error), place=Location(folder)
        ) from error
    files = tuple(folder / f"{name}{kind}" for kind in (".svg", ".png", ".json"))
    return LabReport(lab, findings, seconds, files, note)


class LabText(TypedDict):
    """What NAME.json holds in one language."""

    title: str
    claim: str
    would_fail: str
    verdict: str
    columns: list[str]
    rows: list[list[str]]
    conditions: tuple[list[str], list[list[str]]]


class QuoteRecord(TypedDict):
    """A sentence of a note."""

    place: str
    words: str


class ConditionRecord(TypedDict):
    """A condition of the claim in NAME.json."""

    name: str
    values: list[float]
    bound: float
    above: bool
    state: State


class LabRecord(TypedDict):
    """What a page shows of NAME.json."""

    lab: str
    lectures: str
    quotes: list[QuoteRecord]
    outcome: Outcome | None
    conditions: list[ConditionRecord]
    seeds: list[int]
    cpu_seconds: float
    text: dict[Language, LabText]


class ConditionBySeeds(TypedDict):
    """A condition that is met with one set of seeds and not with another: its states."""

    name: dict[Language, str]
    states: list[State]


class LabBySeeds(TypedDict):
    """A lab with two sets of seeds or more: its outcomes, how many conditions it has, and which
    differ."""

    lab: str
    outcomes: list[Outcome | None]
    conditions: int
    differ: list[ConditionBySeeds]


def settled(record: LabRecord, by_seeds: LabBySeeds) -> LabRecord:
    """The record with every condition undecided whose state differs with further seeds.

    A condition that its own seeds leave undecided keeps that reason.

    Args:
        record: what NAME.json holds; it is changed.
    """
    differ = [each["name"]["en"] for each in by_seeds["differ"]]
    places = [at for at, each in enumerate(record["conditions"]) if each["name"] in differ]
    before = [each["state"] for each in record["conditions"]]
    for place in places:
        record["conditions"][place]["state"] = "open"
    states = [each["state"] for each in record["conditions"]]
    record["outcome"] = outcome_of(states)
    for language, text in record["text"].items():
        for place in places:
            if text["conditions"][1][place][-1] != INTERVAL.of(language):
                text["conditions"][1][place][-1] = SEEDS.of(language)
        said, now = verdict_of(before).of(language), verdict_of(states).of(language)
        text["verdict"] = now + text["verdict"].removeprefix(said)
    return record


class FurtherSeeds(TypedDict):
    """What further.json holds: labs that ran with two sets of seeds, or all of these."""

    seeds: list[list[int]]
    labs: list[LabBySeeds]


def record(lab: Lab, findings: Findings, setting: Setting) -> dict[str, object]:
    """What NAME.json holds: the figures, and every text in both languages."""
    tables = {language: table(findings, language) for language in LANGUAGES}
    return {
        "lab": lab.name,
        "lectures": lab.lectures,
        "quotes": [{"place": quote.place, "words": quote.words} for quote in lab.quotes],
        "full": setting.full,
        "seeds": list(setting.seeds),
        **({} if setting.encoder is None else {"encoder": setting.encoder.name}),
        "outcome": findings.outcome,
        "conditions": [
            {
                "name": each.name.en,
                "values": list(each.values),
                "half_width": half_width(each.values),
                "bound": each.bound,
                "above": each.above,
                "state": each.state,
            }
            for each in findings.conditions
        ],
        "figures": dict(findings.figures),
        "text": {
            language: {
                "title": lab.title.of(language),
                "claim": lab.claim.of(language),
                "would_fail": lab.would_fail.of(language),
                "verdict": findings.verdict(language),
                "columns": tables[language][0],
                "rows": tables[language][1],
                "conditions": [*findings.judged(language)],
            }
            for language in LANGUAGES
        },
    }


def page(folder: Path, file: Path, language: Language) -> None:
    """Writes one Markdown page of the labs whose JSON lies in `folder`.

    Raises:
        DataError: no lab ever ran into this folder, or what lies there is not a lab's JSON.
    """
    there = [path for lab in LABS if (path := folder / f"{lab.name}.json").exists()]
    if not there:
        raise DataError(
            "this folder holds no results of a lab.",
            place=Location(folder),
            do="run the labs first: jumok lab --all",
        )
    records = [_read(path) for path in there]
    pictures = Path(*[".."] * len(_apart(folder, file)[1]), *_apart(folder, file)[0])
    lines = [f"# {HEADINGS['title'].of(language)}", "", _made(folder, file, language), ""]
    lines += [HEADINGS["measured"].of(language), ""]
    rules, judging = (HEADINGS[name].of(language) for name in ("rules", "judging"))
    lines += [f"## {rules}", "", judging, "", f"## {HEADINGS['overview'].of(language)}", ""]
    columns = [HEADINGS[name].of(language) for name in ("lab", "outcome", "seconds", "seeds")]
    summary = [
        [
            f"[{each['lab']}](#{each['lab']})",
            OUTCOMES[each["outcome"]].of(language) if each["outcome"] else "",
            f"{each['cpu_seconds']:.0f}",
            str(len(each["seeds"])),
        ]
        for each in records
    ]
    processor = sum(each["cpu_seconds"] for each in records)
    summary.append([HEADINGS["together"].of(language), "", f"{processor:.0f}", ""])
    lines += markdown_table(columns, summary)
    missing = [lab.name for lab in LABS if lab.name not in {each["lab"] for each in records}]
    if missing:
        lines += [f"{HEADINGS['missing'].of(language)}: {', '.join(missing)}.", ""]
    for each in records:
        lines += _chapter(each, pictures, language)
    if (folder / FURTHER).is_file():
        lines += _further(folder / FURTHER, language)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines), encoding="utf-8")


def in_chapter(results: LabRecord, language: Language) -> tuple[str, str]:
    """The paragraphs of a lab in a chapter of the course: the claim and the verdict."""
    text = results["text"][language]
    return f"{HEADINGS['claim'].of(language)}: {text['claim']}", text["verdict"]


def in_brief(seeds: int, page: str, language: Language) -> str:
    """The rules of judgement in one line, with a link to all of them on the page of the labs.

    Args:
        seeds: how many a lab runs with.
        page: the address of the page.
    """
    anchor = HEADINGS["rules"].of(language).lower().replace(" ", "-")
    return T("in_brief", seeds=seeds, page=page, anchor=anchor).of(language)


def _made(folder: Path, file: Path, language: Language) -> str:
    """The command that makes this page, with the paths as they were given."""
    command = ["jumok", "lab", "--all", "--folder", str(folder), "--page", str(file)]
    if language == "ko":
        command += ["--lang", language]
    line = shlex.join(command)
    return T("made_by_line_every", line=line).of(language)


def _apart(folder: Path, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is left of the folder's and the page's absolute paths after their common beginning."""
    here, there = folder.absolute().parts, file.absolute().parent.parts
    same = 0
    while same < min(len(here), len(there)) and here[same] == there[same]:
        same += 1
    return here[same:], there[same:]


def _chapter(each: LabRecord, pictures: Path, language: Language) -> list[str]:
    text, name = each["text"][language], each["lab"]
    quotes = [f"> {quote['words']} ({quote['place']})" for quote in each["quotes"]]
    lectures = HEADINGS["lectures" if "," in each["lectures"] else "lecture"].of(language)
    headings, conditions = text["conditions"]
    return [
        "",
        f"## {name}",
        "",
        f"**{text['title']}**",
        "",
        *[line for quote in quotes for line in (quote, ">")][:-1],
        "",
        f"**{HEADINGS['claim'].of(language)}** ({lectures} {each['lectures']}): {text['claim']}",
        "",
        f"**{HEADINGS['would fail'].of(language)}**:",
        "",
        *text["would_fail"].splitlines(),
        "",
        f"**{HEADINGS['found'].of(language)}**: {text['verdict']}",
        "",
        f"![{text['title']}]({(pictures / name).as_posix()}.svg)",
        "",
        *markdown_table(text["columns"], text["rows"]),
        *(markdown_table(headings, conditions) if conditions else ()),
    ]


def _further(file: Path, language: Language) -> list[str]:
    try:
        read: FurtherSeeds = json.loads(file.read_text("utf-8"))
        body = further_table(read, language)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "this is not a list of labs with further seeds.",
            place=Location(file),
            got=str(error),
            do="write it again: python -m benchmarks.labs",
        ) from error
    heading = f"## {HEADINGS['further'].of(language)}"
    return ["", heading, "", HEADINGS["again"].of(language), "", *body]


def further_table(further: FurtherSeeds, language: Language) -> list[str]:
    """The Markdown table of labs that ran with several sets of seeds.

    Args:
        further: what further.json holds.

    Returns:
        a row for each lab: its outcome with each set, whether all of it is the same, and the
        conditions whose state differs, with all states.
    """
    seeds = [f"{HEADINGS['seeds'].of(language)} {each[0]}–{each[-1]}" for each in further["seeds"]]
    columns = [HEADINGS["lab"].of(language), *seeds]
    columns += [HEADINGS[name].of(language) for name in ("flips", "differ")]
    rows = []
    for lab in further["labs"]:
        outcomes = [OUTCOMES[each].of(language) if each else "" for each in lab["outcomes"]]
        outcomes += [""] * (len(seeds) - len(outcomes))
        differ = [
            f"{each['name'][language]}: {', '.join(STATES[s].of(language) for s in each['states'])}"
            for each in lab["differ"]
        ]
        same = SAME[len(set(lab["outcomes"])) == 1 and not lab["differ"]].of(language)
        count = f"{len(differ)} / {lab['conditions']}"
        rows.append([lab["lab"], *outcomes, same, "; ".join((count, *differ))])
    return markdown_table(columns, rows)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table; a bar inside a cell is escaped."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (columns, *rows)]
    head, *body = [f"| {' | '.join(row)} |" for row in cells]
    return [head, f"|{'---|' * len(columns)}", *body, ""]


def _read(path: Path) -> LabRecord:
    try:
        read: LabRecord = json.loads(path.read_text("utf-8"))
        if read["lab"] == path.stem and {*LANGUAGES} <= set(read["text"]):
            return read
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "this is not a lab's JSON.",
            place=Location(path),
            got=str(error),
            do=f"run the lab again: jumok lab {path.stem}",
        ) from error
    raise DataError("this is another lab's JSON.", place=Location(path), got=repr(read["lab"]))
