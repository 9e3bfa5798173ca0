"""Every measured figure in the documents is in a JSON file, with the command that measures it.

That is benchmarks/results.json: a row under "figures" has a page, figures of it, and the commands
that measure them, with date and machine, or the line of code that sets a limit. Tables between
comments are written from the other parts of that file. A page may also link to another page that
has the figure. docs/lab.md, the course and docs/lectures.md are written from docs/lab/*.json, and
tests/jumok_lectures tests them.
"""

import json
import re
from pathlib import Path

import pytest

from benchmarks import report, results
from tests.documented import ROOT, unknown
from tests.figures import GENERATED, Figure, Passage, figures, figures_of, in_digits, passages, same

DOCS = ROOT / "docs"
ELSEWHERE = {"lab", "lectures", "smallworld-judged", "first-sentences", "CHANGELOG"}
FOLDERS = (ROOT, DOCS, DOCS / "benchmarks")
PAGES = sorted(
    page
    for folder in FOLDERS
    for page in folder.glob("*.md")
    if page.name.split(".")[0] not in ELSEWHERE
)
MEASURED = [DOCS / "benchmarks.md", *sorted((DOCS / "benchmarks").glob("*.md"))]
RECORDS = results.load()["figures"]["rows"]
TIMED = {"µs", "ms", "s", "min", "h", "MB", "GB", "x", "rate"}
"""Units of figures that depend on the machine."""


def name(page: Path) -> str:
    """The page in either language: "README" and "docs/benchmarks/serving"."""
    return page.relative_to(ROOT).as_posix().removesuffix(".md").removesuffix(".ko")


def figure_of(text: str) -> Figure:
    number, _, unit = text.partition(" ")
    return Figure(number, unit)


def recorded(page: str) -> list[Figure]:
    """The figures of a page in the records; docs/benchmarks.ko.md is a summary of several."""
    pages = {page} if page != "docs/benchmarks" else {name(each) for each in MEASURED}
    return [figure_of(each) for row in RECORDS if row["page"] in pages for each in row["figures"]]


def without_source(passage: Passage, page: Path) -> set[str]:
    """The figures of a passage that no record and no linked page has."""
    known = [*recorded(name(page)), *passage.linked(page)]
    found = passage.figures()
    return {str(each) for each in found if not any(same(each, other) for other in known)}


def row_for(passage: Passage, page: Path, found: set[str]) -> str:
    """A record to fill in."""
    dates = re.findall(r"\d{4}-\d\d-\d\d", passage.text)
    row = {"page": name(page), "figures": sorted(found), "commands": passage.commands()}
    return json.dumps(row | {"date": max(dates, default=""), "machine": ""}, ensure_ascii=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_has_a_source(page):
    wrong = [
        f"{passage.text.strip()[:200]}\n{row_for(passage, page, found)}"
        for passage in passages(page)
        if (found := without_source(passage, page))
    ]
    assert not wrong, "measure these, and add a row to results.json\n" + "\n".join(wrong)


def identity(row: dict[str, object]) -> str:
    return f"{row['page']}-{RECORDS.index(row)}"


@pytest.mark.parametrize("row", RECORDS, ids=identity)
def test_every_record_has_a_source_and_its_figures_are_written(row):
    pages = [ROOT / f"{row['page']}{ending}" for ending in (".md", ".ko.md")]
    written = [each for page in filter(Path.exists, pages) for each in figures_of(page)]
    figures = [figure_of(each) for each in row["figures"]]
    assert figures
    assert not [each for each in figures if not any(same(other, each) for other in written)]
    if "code" in row:
        file, _, line = row["code"].partition(": ")
        assert line in (ROOT / file).read_text("utf-8")
        return
    assert row["commands"]
    assert not [each for each in row["commands"] if unknown(each)]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
    assert row["machine"] or not TIMED & {each.unit for each in figures}


@pytest.mark.parametrize("page", ["systems.md", "systems.ko.md"])
def test_scores_of_recipes_are_in_the_comments_of_their_recipes(page):
    """Which name the command and the processor. Integers, such as chance, are not looked at."""
    rows = [line.strip("|").split("|") for line in (DOCS / page).read_text("utf-8").splitlines()]
    scored = [row for row in rows if len(row) == 5 and re.fullmatch(r" `[a-z\d-]+` ", row[1])]
    assert len(scored) > 25
    for *_, name, _, _, score in scored:
        recipe = (ROOT / "recipes" / f"{name.strip(' `')}.toml").read_text("utf-8")
        known = set(re.findall(r"\d+\.\d+", recipe))
        written = set(re.findall(r"(?<![\d-])\d+\.\d+", re.sub(r"`[^`]*`", "", score)))
        wanted = {each.rstrip("0") for each in written}
        assert wanted <= {each.rstrip("0") for each in known}, name


@pytest.mark.parametrize("page", ["systems.md", "systems.ko.md"])
def test_the_time_of_all_labs_is_that_of_their_files(page):
    files = [json.loads(file.read_text("utf-8")) for file in (DOCS / "lab").glob("*.json")]
    times = [each["cpu_seconds"] for each in files if "cpu_seconds" in each]
    seconds = {each.number for each in figures_of(DOCS / page) if each.unit == "s"}
    assert {f"{sum(times):.0f}", f"{max(times):.0f}"} <= seconds


KOREAN = [page for page in PAGES if page.name.endswith(".ko.md")]


def numbers(page: Path) -> set[str]:
    text = in_digits(re.sub(r"(?<=\d),(?=\d{3})", "", page.read_text("utf-8")))
    return set(re.findall(r"\d+(?:\.\d+)?", text))


@pytest.mark.parametrize("korean", KOREAN, ids=lambda page: page.name)
def test_both_languages_have_the_same_figures(korean):
    """But docs/benchmarks.ko.md, which is a summary, has no figure of its own."""
    english = [korean.with_name(korean.name.replace(".ko.md", ".md"))]
    summary = korean.name == "benchmarks.ko.md"
    if summary:
        english = MEASURED
    there = set().union(*map(numbers, english))
    assert {each.number.lstrip("+-−") for each in figures_of(korean)} <= there
    if not summary:
        mine = {each.number.lstrip("+-−") for each in figures_of(english[0])}
        assert mine <= numbers(korean)


def test_generated_tables_are_those_of_the_results():
    text = (DOCS / "benchmarks.md").read_text("utf-8")
    parts = dict(GENERATED.findall(text))
    assert parts == {part: report.markdown(part, results.load()[part]) for part in parts}
    assert len(parts) == len(results.load()) - 1


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ("It takes 1,234.5 ms, or 12 and 13 seconds.", {"1234.5 ms", "12 s", "13 s"}),
        ("BLEU 40.5 ± 0.1 with 99.5 % of 3 labels", {"40.5 score", "0.1 score", "99.5 %"}),
        ("메모리 36 MiB로 62.7초에 읽고 1.79배 빠릅니다. 3분의 1", {"36 MB", "62.7 s", "1.79 x"}),
        ("On 2026-11-28, `--wait 5 s`, layer 4, [a](b-3-s.md)", set()),
        ("| a | MB | c |\n|---|--:|---|\n| 1 | 2.5 | 3 |", {"2.5"}),
    ],
)
def test_figures_are_found(block, found):
    assert set(map(str, figures(block))) == found


def test_a_figure_without_a_source_is_found():
    page, lone = DOCS / "no-such-page.md", Passage(("It takes 9.87 s, or `make bench`.",))
    assert without_source(lone, page) == {"9.87 s"}
    row = json.loads(row_for(lone, page, {"9.87 s"}))
    assert (row["page"], row["figures"], row["commands"]) == (
        "docs/no-such-page", ["9.87 s"], ["make bench"]
    )  # fmt: skip
    assert not without_source(Passage(("[Here](serving.md), 0.05 s.",)), DOCS / "cli.md")


def test_a_figure_may_be_rounded_and_not_changed():
    assert same(Figure("0.3", "GB"), Figure("0.34", "GB"))
    assert not same(Figure("0.35", "GB"), Figure("0.34", "GB"))
    assert not same(Figure("0.34", "s"), Figure("0.34", "GB"))
