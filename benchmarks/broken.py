"""Commands whose writes are refused, or which are killed at one of them.

    python -m benchmarks.broken MODEL [--share 0.1] [--seed 1]

Each command runs whole, then with a fault at one of the system calls that change its folder, which
the seed draws, and then again. What is there under the name of its output after the fault has to be
nothing or the whole of it, a refusal has to be an error of jumok, and the second try has to end as
the first. It needs Linux and a C compiler.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environments import OUR_COMMAND

SECONDS = 120
FAULTS = {"killed": 1, "torn": 2, "full": 3, "broken": 4, "quota": 5}
"""The modes of tests/faults.c."""

LINES = "".join(f"The cat saw {name}.\n" for name in ("a dog", "2 birds", "the cat", "a cat"))
DOCUMENT = f"# The cat\n\n{LINES}\n- a dog\n- **a cat**\n"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "translate": ("translate", "MODEL", "lines.txt", "-o", "OUT"),
    "translate --json --stream": (
        *("translate", "MODEL", "lines.txt", "-o", "OUT"),
        *("--json", "--stream"),
    ),
    "translate a document": ("translate", "MODEL", "page.md", "-o", "OUT.md"),
    "translate a folder": ("translate", "MODEL", "texts", "-o", "OUT"),
    "evaluate": (
        *("evaluate", "MODEL", "--source", "lines.txt", "--reference", "lines.txt"),
        *("--output", "OUT"),
    ),
    "look": ("look", "MODEL", "The cat saw a dog.", "--save", "OUT.html"),
    "quantize": (
        *("quantize", "MODEL", "--to", "bf16", "-o", "OUT", "--force", "a test"),
        *("--check", "lines.txt", "lines.txt"),
    ),
    "export": ("export", "MODEL", "--to", "web", "-o", "OUT.html"),
}
"""MODEL and OUT stand for paths."""


def compiled(folder: Path) -> Path | None:
    """The library that is loaded before the C library; None: it cannot be made here."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library, source = folder / "faults.so", Path(__file__).parents[1] / "tests" / "faults.c"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(source)]
    subprocess.run([*command, "-o", str(library), "-ldl"], check=True)
    return library


@dataclass(frozen=True)
class Breaker:
    """Runs one command, with and without faults, in a folder that is made anew for each.

    Args:
        command: of COMMANDS.
    """

    library: Path
    folder: Path
    model: Path
    command: Sequence[str]

    @property
    def _home(self) -> Path:
        return self.folder / "home"

    def prepare(self) -> None:
        """Makes the folder, with what the commands read."""
        shutil.rmtree(self._home, ignore_errors=True)
        (self._home / "texts").mkdir(parents=True)
        for name, text in (("lines.txt", LINES), ("page.md", DOCUMENT)):
            (self._home / name).write_text(text)
            (self._home / "texts" / name).write_text(text)

    def run(self, fault: str = "") -> subprocess.CompletedProcess[str]:
        """The command, with the variable FAULT of tests/faults.c."""
        given = [each.replace("MODEL", str(self.model.resolve())) for each in self.command]
        given = [f"{self._home}/{each}" if each.startswith("OUT") else each for each in given]
        if any(each.with_suffix("").exists() for each in self._home.rglob("*.part.json")):
            given.append("--resume")
        count = str(self.folder / "count") if fault.startswith("0,") else ""
        armed = {"LD_PRELOAD": str(self.library), "FAULT": fault, "FAULT_COUNT": count}
        return subprocess.run(
            [*OUR_COMMAND, *given],
            check=False,
            cwd=self._home,
            env={**os.environ, "JUMOK_THREADS": "1", **(armed if fault else {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def output(self) -> dict[str, bytes]:
        """What is there under the name of the output."""
        name = next(each for each in self.command if each.startswith("OUT"))
        top = self._home / name
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        return {str(file.relative_to(top)): file.read_bytes() for file in files if file.is_file()}

    def calls(self) -> int:
        """Runs it whole; how many calls a fault could meet."""
        self.prepare()
        done = self.run(f"0,0,{self._home}")
        if done.returncode:
            raise AssertionError(f"{' '.join(self.command)}: {done.stderr[-300:]}")
        return int((self.folder / "count").read_text())

    def wrong(self, kind: str, at: int, whole: Mapping[str, bytes]) -> list[str]:
        """What is wrong after this fault, and after the second try.

        Args:
            kind: of FAULTS.
        """
        self.prepare()
        done, found = self.run(f"{at},{FAULTS[kind]},{self._home}"), []
        expected = {"killed": (-9,), "torn": (-9,)}.get(kind, (0, 2))
        if done.returncode not in expected or "Traceback" in done.stderr:
            found.append(f"ended with {done.returncode}: {done.stderr[-300:]}")
        left = self.output()
        if done.returncode == 0 and left != whole:
            found.append("ended well, with another output")
        elif any(
            whole.get(name) != content
            for name, content in left.items()
            if not Path(name).name.startswith(".") and ".part" not in name
        ):
            found.append("left a part of its output under the name of the whole")
        if left == whole:  # a command may refuse to replace it
            return found
        done = self.run()
        if done.returncode or self.output() != whole:
            found.append(f"the second try ended with {done.returncode}: {done.stderr[-300:]}")
        return found


def broken(
    library: Path, folder: Path, model: Path, command: Sequence[str], share: float, seed: int
) -> Iterator[tuple[str, list[str]]]:
    """Each fault, and what is wrong after it.

    Args:
        command: of COMMANDS.
        share: of all faults that could be; at least one of each kind is tried.
    """
    breaker = Breaker(library, folder, model, command)
    calls = breaker.calls()
    whole = breaker.output()
    draw = random.Random(f"{seed} {command}")
    for kind in FAULTS:
        for at in sorted(draw.sample(range(1, calls + 1), max(1, round(share * calls)))):
            try:
                wrong = breaker.wrong(kind, at, whole)
            except subprocess.TimeoutExpired as error:
                wrong = [str(error)]
            yield f"{kind} at call {at} of {calls}", wrong


def main() -> int:
    """Prints how many faults each command met, and what was wrong; returns 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broken", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(COMMANDS))
    asked = parser.parse_args()
    told: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        library = compiled(Path(name))
        assert library is not None, "this needs Linux and a C compiler"
        for title in [asked.only] if asked.only else COMMANDS:
            for fault, wrong in broken(
                library, Path(name), asked.model, COMMANDS[title], asked.share, asked.seed
            ):
                told["wrong" if wrong else "right"] += 1
                print(f"{title}, {fault}: {'; '.join(wrong) or 'right'}", flush=True)
    print(dict(told))
    return int(told["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
