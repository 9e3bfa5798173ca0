"""The commands of docs/interop.md, in its order, on small models of the same names."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from tests.interop.folders import TEXT, write_bert, write_gpt2, write_marian

DOCS = Path(__file__).parents[2] / "docs"


def commands(document: str) -> list[list[str]]:
    lines = (DOCS / document).read_text("utf-8").splitlines()
    shown = [line.split("#")[0] for line in lines if line.startswith("    jumok ")]
    return [shlex.split(line)[1:] for line in shown]


@pytest.mark.parametrize("document", ["interop.md", "interop.ko.md"])
def test_the_commands_work(tmp_path, monkeypatch, document):
    monkeypatch.chdir(tmp_path)
    write_bert(tmp_path / "all-MiniLM-L6-v2", whole=False)
    write_gpt2(tmp_path / "gpt2")
    write_marian(tmp_path / "opus-mt-en-de")
    for name, text in (("new.en", TEXT[0]), ("new.de", TEXT[1])):
        Path(name).write_text("".join(f"{text} {number}\n" for number in range(60)), "utf-8")
    Path("lines.txt").write_text("the cat\nthe dog sat\n", "utf-8")
    Path("mine.txt").write_text("\n".join(TEXT * 40), "utf-8")
    told = commands(document)
    assert [each[0] for each in told].count("import") == 3
    for command in told:
        short = ["--set", "training.steps=2"] if command[0] == "train" else []
        done = CliRunner().invoke(app, [*command, *short])
        allowed = {0, 1} if command[0] == "doctor" else {0}  # the machine may lack something
        assert done.exit_code in allowed, f"{command}: {done.output} {done.exception}"
    assert Path("page.html").is_file()
    assert commands("interop.ko.md") == commands("interop.md")
