"""The pages of the site as Sphinx reads them: one language, links inside of the site.

docs/index.md lists the pages that readers need; its headings are the groups of the navigation. What
it lists for contributors, and every other file of the repository, is a link to the repository.
"""

import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from outputs import with_outputs

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
REPOSITORY = "https://github.com/jumok/jumok/blob/main/"
CONTRIBUTORS = {"en": "## For contributors", "ko": "## 개발에 참여하기"}
PICTURES = ("look", "lab", "course")
"""The folders whose files pages show."""
COURSE = {"en": "Course", "ko": "강좌"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCED = re.compile(r"(```.*?```)", re.DOTALL)
SWITCH = re.compile(
    r"^\[(?:한국어|English)\]\([^)]+\)(?: · |\n+)|\s*Korean: \[[^\]]+\]\([^)]+\)\.", re.MULTILINE
)
"""The link to the other language, which the site has on every page."""


def twin(page: str, language: str) -> Path:
    """The file of a page in one language."""
    return DOCS / f"{page}.md" if language == "en" else DOCS / f"{page}.ko.md"


def groups(language: str) -> Iterator[tuple[str, list[str]]]:
    """The headings of the index, each with its pages, and the course where there is one."""
    text = twin("index", language).read_text("utf-8").partition(CONTRIBUTORS[language])[0]
    for part in text.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        targets = [target for _, _, target in LINK.findall(body)]
        names = [re.sub(r"(\.ko)?\.md$", "", each) for each in targets if each.endswith(".md")]
        yield heading, [name for name in names if twin(name, language).exists()]
    chapters = sorted((DOCS / "course").glob("*.ko.md" if language == "ko" else "*.md"))
    names = {f"course/{re.sub(r'(.ko)?.md$', '', each.name)}" for each in chapters}
    if names:
        yield COURSE[language], sorted(names, key=lambda name: (name != "course/README", name))


@cache
def pages(language: str) -> list[str]:
    """Every page, the index first."""
    return ["index", *(page for _, found in groups(language) for page in found)]


def link(mark: str, words: str, target: str, page: str, language: str) -> str:
    """A link of a page, as the site has it."""
    path, _, anchor = target.partition("#")
    if "://" in target or not path:
        return f"{mark}[{words}]({target})"
    file = Path(os.path.normpath((DOCS / page).parent / path))
    if any(file.is_relative_to(DOCS / name) for name in PICTURES) and file.suffix != ".md":
        return f"{mark}[{words}]({target})"
    anchor = anchor and f"#{anchor}"
    if file.is_relative_to(DOCS) and file.suffix == ".md":
        name = file.relative_to(DOCS).as_posix()
        other = "ko" if name.endswith(".ko.md") else "en"
        name = re.sub(r"(\.ko)?\.md$", "", name)
        if name in pages(other):
            up = "../" * page.count("/")
            if other == language:
                here = PurePosixPath(page).parent.as_posix()
                return f"[{words}]({os.path.relpath(f'{name}.md', here)}{anchor})"
            return f'<a href="{up}../{other}/{name}.html{anchor}">{words}</a>'
    return f"[{words}]({REPOSITORY}{file.relative_to(ROOT).as_posix()}{anchor})"


def rewritten(page: str, language: str) -> str:
    """The Markdown of a page for the site."""
    text = with_outputs(page, SWITCH.sub("", twin(page, language).read_text("utf-8")))
    parts = FENCED.split(text)
    for number in range(0, len(parts), 2):
        parts[number] = LINK.sub(lambda m: link(*m.groups(), page, language), parts[number])
    return "".join(parts)


def navigation(language: str, more: dict[str, list[str]]) -> str:
    """The hidden lists of pages that Sphinx makes the navigation of."""
    listed = [*groups(language), *more.items()]
    return "".join(
        "\n```{toctree}\n:hidden:\n:caption: " + heading + "\n\n" + "\n".join(found) + "\n```\n"
        for heading, found in listed
        if found
    )


def stage(folder: Path, language: str, more: dict[str, list[str]]) -> None:
    """Writes the pages and the pictures below `folder`; `more`: groups of pages made elsewhere."""
    for page in pages(language):
        file = folder / f"{page}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = rewritten(page, language)
        file.write_text(text + (navigation(language, more) if page == "index" else ""), "utf-8")
    for name in PICTURES:
        if (DOCS / name).exists():
            kept = shutil.ignore_patterns("*.md", "*.py", ".*")
            shutil.copytree(DOCS / name, folder / name, ignore=kept, dirs_exist_ok=True)
