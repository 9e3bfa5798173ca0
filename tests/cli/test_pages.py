"""Every command in the code blocks of the documents is run in order, and then the Python.

What is not `jumok` on pages of measurements is only parsed (test_documented.py).
"""

import re
from pathlib import Path

import pytest

from tests.cli.running import NOT_RUN, Runner
from tests.documented import ROOT, block_commands, documents, inline_commands

DOCS = ROOT / "docs"
COURSE = [
    f"course/{each.stem}"
    for each in sorted(DOCS.glob("course/[0-9]*.md"))
    if ".ko" not in each.name
]
PAGES = [
    *("bend-a-translator", "benchmarks", "benchmarks/inspection", "cli", "corpora", "documents"),
    *("export", "interop", "look", "quantize", "scale", "systems", "translate", *COURSE),
]
ELSEWHERE = {
    "README": "browser/test_readme.py",
    "start": "browser/test_readme.py",
    "serving": "serving/http/test_documented.py",
    "adding": "extending/test_adding.py",
    "extending": "extending/test_extending.py",
    "research": "tracing/test_research.py",
}
"""The tests that run the commands of other pages."""
HOURS = {
    "CONTRIBUTING": "the tests themselves",
    "benchmarks": "measurements",
    "benchmarks/blocks": "measurements",
    "benchmarks/gpu": "measurements on a GPU",
    "benchmarks/inspection": "measurements",
    "first-screens": "pictures of trained models",
    "records": "measurements",
    "reliability": "an attack of hours",
    "systems": "trainings of hours",
}
"""Pages whose commands are only parsed (test_documented.py), and why."""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works_and_then_its_python(page: str, on_shelf: Runner):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    commands = [each for each in block_commands(text) if each.startswith("jumok ")]
    write_recipes(text, commands)
    for command in commands:
        on_shelf.run(command)
    if page in COURSE:  # its cells are run as notebooks (tests/jumok_lectures/test_notebooks.py)
        return
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(f"import jumok\n{code}", page, "exec"), {})


def write_recipes(text: str, commands: list[str]) -> None:
    """Writes the recipes that the page shows under the names that its commands give them."""
    named = dict.fromkeys(re.findall(r"[\w-]+\.toml", " ".join(commands)))
    missing = [each for each in named if not Path(each).exists()]
    shown = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for name, recipe in zip(missing, shown, strict=False):
        Path(name).write_text(recipe, "utf-8")


@pytest.mark.parametrize("korean", sorted(DOCS.rglob("*.ko.md")), ids=lambda page: page.name)
def test_both_languages_give_the_same_commands(korean: Path):
    english = korean.with_name(korean.name.replace(".ko.md", ".md"))
    if korean.name != "benchmarks.ko.md":  # a summary
        here, there = (block_commands(each.read_text("utf-8")) for each in (korean, english))
        assert here == there


def test_no_page_with_commands_is_forgotten():
    texts = {
        str(each.relative_to(ROOT).with_suffix("")).removeprefix("docs/"): each.read_text("utf-8")
        for each in documents()
    }
    pages = {name for name, text in texts.items() if block_commands(text) and ".ko" not in name}
    assert pages == {*PAGES, *ELSEWHERE, *HOURS}
    for name, test in ELSEWHERE.items():
        assert f"{name}.md" in (ROOT / "tests" / test).read_text("utf-8")


def test_what_is_not_run_is_in_the_documents():
    texts = [document.read_text("utf-8") for document in documents()]
    commands = [each for text in texts for each in block_commands(text) + inline_commands(text)]
    assert not [each for each in NOT_RUN if not any(each in command for command in commands)]
