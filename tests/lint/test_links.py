"""Every link from one document to another leads to a file that is there, and to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
OUR_FILES = "https://github.com/jumok/jumok/blob/main/"
ELSEWHERE = ("http://", "https://", "mailto:")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them: letters, digits and hyphens."""
    text = re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    named = set(re.findall(r'(?:id|name)="([^"]+)"', text))
    return named | {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def broken(document: Path) -> list[str]:
    """Links of a document to files or headings that are not there."""
    found = []
    for pair in LINK.findall(CODE.sub("", document.read_text("utf-8"))):
        link = "".join(pair)
        home = ROOT if link.startswith(OUR_FILES) else document.parent
        link = link.removeprefix(OUR_FILES)
        if link.startswith(ELSEWHERE):
            continue
        path, _, anchor = link.partition("#")
        file = (home / path).resolve() if path else document
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            found.append(link)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    assert broken(document) == []


def test_a_broken_link_is_found(tmp_path):
    document = tmp_path / "a.md"
    (tmp_path / "b.md").write_text("# Here, *and* there\n\n# 주의: 말뭉치\n", encoding="utf-8")
    document.write_text(
        "[b](b.md#here-and-there) [c](b.md#주의-말뭉치) [d](b.md#away) [e](c.md) `](f.md)`"
        f"\n\n[g]: {OUR_FILES}docs/nowhere.md\n",
        encoding="utf-8",
    )
    assert broken(document) == ["b.md#away", "c.md", "docs/nowhere.md"]
