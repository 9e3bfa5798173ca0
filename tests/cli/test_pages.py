"""Every command in the code blocks of the documents is run in order, but those that take hours.

Options that make trainings and outputs short are added to a command; the models and files that it
names are small (tests/cli/shelf.py).
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli import shelf
from tests.documented import ROOT, block_commands, documents
from tests.ready import ready
from tests.serving.http.process import ServedProcess

DOCS = ROOT / "docs"
COURSE = [
    f"course/{each.stem}"
    for each in sorted(DOCS.glob("course/[0-9]*.md"))
    if ".ko" not in each.name
]
PAGES = ["cli", "corpora", "export", "look", "quantize", "scale", *COURSE]
ELSEWHERE = {
    "README": "browser/test_readme.py",
    "start": "browser/test_readme.py",
    "documents": "cli/test_documents_page.py",
    "serving": "serving/http/test_documented.py",
    "translate": "cli/test_translate_content.py",
    "interop": "interop/test_interop_document.py",
    "bend-a-translator": "interop/test_bend_document.py",
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
NOT_RUN = {
    "jumok demo": "tests/cli/test_demo.py",
    "jumok lab coreference": "it takes minutes; tests/jumok_lectures/test_coreference.py",
    "--workers slurm": "it needs Slurm",
    "training.device=cuda": "it needs an NVIDIA GPU",
}
SECONDS = 120.0


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the pages name; the variables are those of all commands."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMOK_DATA", str(folder / "data"))
        patch.setenv("BROWSER", "true")
        with pytest.MonkeyPatch.context() as working:
            working.chdir(folder)
            shelf.write_shelf(folder)
        yield folder


@pytest.fixture(scope="module")
def programs(filled: Path) -> Iterator[Path]:
    with ready() as folder:
        yield folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shortened(command: str) -> str:
    """The command, with options that end a training in a second and a search soon."""
    _, verb, *words = shlex.split(command)
    short = shelf.shorter(words[0] if words else "")
    more = {
        "train": short,
        "sweep": [*short, *(["--trials", "2"] if "--trials" in words else [])],
        "translate": ["--maximum-length", "9"],
        "caption": ["--maximum-length", "9"],
        "generate": ["--max-tokens", "9"],
    }
    return f"{command} {shlex.join(more.get(verb, []))}".replace("runs/NAME", "runs/tiny")


def serves(command: str) -> bool:
    words = command.split()
    return words[1] == "look" and not {"--save", "--to"} & set(words)


def fresh(command: str, folder: Path, kept: set[str]) -> None:
    """A training, unless it is resumed, finds only the runs that the page's other commands read."""
    words = command.split()
    if words[1] in ("train", "sweep") and "--resume" not in words:
        for run in (folder / "runs").iterdir():
            if run.name not in kept or run.name == words[2]:
                shutil.rmtree(run)


def run(command: str, programs: Path) -> None:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def open_page(command: str, folder: Path) -> None:
    """Starts the server of a page, reads the page, and ends it with Ctrl-C."""
    words = [sys.executable, "-m", *shlex.split(command)]
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            words,
            stdout=out,
            stderr=err,
            # A process in the background may ignore Ctrl-C; one at a terminal does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
    try:
        page = httpx.get(ServedProcess(process, folder).url, timeout=SECONDS)
        assert "<html" in page.text
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0, (folder / "stderr").read_text("utf-8")
    finally:
        process.kill()


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works_and_then_its_python(
    page: str, folder: Path, programs: Path
):
    kept = {each.name for each in (folder / "runs").iterdir()}
    text = (DOCS / f"{page}.md").read_text("utf-8")
    for command in block_commands(text):
        if any(each in command for each in NOT_RUN):
            continue
        fresh(command, folder, kept)
        if serves(command):
            open_page(command, folder)
        else:
            run(shortened(command), programs)
    if page in COURSE:  # its cells are run as notebooks (tests/jumok_lectures/test_notebooks.py)
        return
    for code in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(f"import jumok\n{code}", page, "exec"), {})


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
    commands = [each for name in PAGES for each in block_commands(texts[name])]
    assert not [each for each in NOT_RUN if not any(each in command for command in commands)]
