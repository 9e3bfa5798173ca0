"""Memory and time of `jumok import` of a model of 600 million parameters with random weights, with
its comparison with transformers.

    python -m benchmarks.imports [FOLDER]

FOLDER is where the files are made, and removed at the end: 5 GB, unless the model is given another
width or other layers.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.environments import OUR_COMMAND
from benchmarks.process import own_memory_peak
from tests.interop.folders import WEIGHTS, write_gpt2

ROWS, POSITIONS, HEAD = 50_257, 1024, 64


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--width", type=int, default=1280, help="a multiple of 64")
    parser.add_argument("--layers", type=int, default=27)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, output = Path(name) / "gpt2", Path(name) / "bundle"
        write_gpt2(
            folder, vocab_size=ROWS, n_embd=given.width, n_layer=given.layers,
            n_head=given.width // HEAD, n_positions=POSITIONS, n_inner=None,
        )  # fmt: skip
        command: list[str | Path] = [*OUR_COMMAND, "import", folder, "--output", output]
        begun = time.perf_counter()
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as process:
            peak = own_memory_peak(process)
            said = process.stdout.read() if process.stdout else ""
        seconds = time.perf_counter() - begun
        weights = (folder / WEIGHTS).stat().st_size
        figures = {
            "weights_bytes": weights,
            "peak_bytes": peak,
            "peak_of_weights": round(peak / weights, 3),
            "seconds": round(seconds, 1),
            "compared": next(line for line in said.splitlines() if line.startswith("compared")),
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
