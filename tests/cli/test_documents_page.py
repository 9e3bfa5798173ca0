"""Every command and the Python of docs/documents.md, run as they stand there."""

import re
import shlex
import shutil
from pathlib import Path

import docx
import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from tests.cli.calls import SMALL
from tests.cli.test_formats import write
from tests.documents.test_formats import HTML, MARKDOWN, PLAIN, PO, SRT, XLIFF

DOCS = Path(__file__).parents[2] / "docs"
FAST = {
    "translate": ["--beam", "1", "--maximum-length", "4", "--threads", "1"],
    "evaluate": ["--beam", "1", "--threads", "1"],
    "train": SMALL,
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


def test_both_pages_give_the_same_commands() -> None:
    for language in ("bash", "python"):
        assert blocks("documents.md", language) == blocks("documents.ko.md", language)
        assert blocks("documents.md", language)


@pytest.fixture
def folder(tmp_path: Path, tiny_bundle: Path) -> Path:
    """A folder with every file that the page names."""
    shutil.copytree(tiny_bundle, tmp_path / "MODEL")
    for suffix in ("tmx", "tsv", "csv"):
        write(tmp_path, suffix)
    (tmp_path / "talk.tmx").rename(tmp_path / "memory.tmx")
    for suffix in ("tsv", "csv"):
        (tmp_path / f"talk.{suffix}").rename(tmp_path / f"pairs.{suffix}")
    more = '\nmsgid "Save"\nmsgstr "저장"\n'
    texts = {
        "page.html": HTML,
        "README.md": MARKDOWN,
        "film.srt": SRT,
        "app.po": PO + more,
        "app.xlf": XLIFF,
        "book.txt": PLAIN,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    document = docx.Document()
    document.add_paragraph("the cat")
    document.save(tmp_path / "letter.docx")
    # The memory of the page is one that has Korean already; a unit without it is what is filled.
    memory = (tmp_path / "memory.tmx").read_text("utf-8")
    unit = '<tu><tuv xml:lang="en"><seg>the cat</seg></tuv></tu></body>'
    (tmp_path / "memory.tmx").write_text(memory.replace("</body>", unit), encoding="utf-8")
    return tmp_path


def test_every_command_works_and_then_the_python(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for command in "".join(blocks("documents.md", "bash")).splitlines():
        name, verb, *arguments = shlex.split(command)
        assert name == "jumok"
        result = CliRunner().invoke(app, [verb, *arguments, *FAST.get(verb, [])])
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception}"
        if "--output" in arguments:
            source, written = Path(arguments[1]), Path(arguments[arguments.index("--output") + 1])
            assert written.read_bytes() != source.read_bytes()
    (folder / "letter.ko.docx").unlink()
    for block in blocks("documents.md", "python"):
        exec(block, {})
    assert docx.Document(str(folder / "letter.ko.docx")).paragraphs
