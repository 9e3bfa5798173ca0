"""Every `jumok` command in the code blocks of the documents is run in order, and then the Python.

What else blocks start is run by tests/benchmarks/test_measurements.py.
"""

import re
from pathlib import Path

import pytest

from tests.cli.running import NOT_RUN, Runner
from tests.documented import ROOT, block_commands, documents, inline_commands

DOCS = ROOT / "docs"
ELSEWHERE = {
    "README": "browser/test_readme.py",
    "docs/start": "browser/test_readme.py",
    "docs/serving": "serving/http/test_documented.py",
    "docs/adding": "extending/test_adding.py",
    "docs/extending": "extending/test_extending.py",
    "docs/research": "tracing/test_research.py",
}
"""The tests that run the commands of other pages."""


def commands_of(page: Path) -> list[str]:
    return [each for each in block_commands(page.read_text("utf-8")) if each.startswith("jumok ")]


PAGES = {
    str(page.relative_to(ROOT).with_suffix("")): page
    for page in documents()
    if commands_of(page) and ".ko" not in page.name
}


@pytest.mark.parametrize("name", [each for each in PAGES if each not in ELSEWHERE])
def test_every_command_of_the_page_works_and_then_its_python(name: str, on_shelf: Runner):
    text, commands = PAGES[name].read_text("utf-8"), commands_of(PAGES[name])
    write_recipes(text, commands)
    for command in commands:
        on_shelf.run(command)
    if name.startswith("docs/course/"):  # whose cells tests/jumok_lectures/test_notebooks.py runs
        return
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(f"import jumok\n{code}", name, "exec"), {})


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


def test_the_other_tests_run_pages_that_have_commands():
    for name, test in ELSEWHERE.items():
        assert PAGES[name].name in (ROOT / "tests" / test).read_text("utf-8")


def test_what_is_not_run_is_in_the_documents():
    texts = [document.read_text("utf-8") for document in documents()]
    commands = [each for text in texts for each in block_commands(text) + inline_commands(text)]
    assert not [each for each in NOT_RUN if not any(each in command for command in commands)]
