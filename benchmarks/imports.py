"""Memory and time of `jumok import` of a model of 600 million parameters with random weights, with
its comparison with transformers.

    python -m benchmarks.imports [FOLDER]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.environments import OURS, python_of
from benchmarks.process import own_memory_peak
from tests.interop.folders import WEIGHTS, write_gpt2

WIDTH, LAYERS, HEADS, ROWS, POSITIONS = 1280, 27, 20, 50_257, 1024


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as name:
        folder, output = Path(name) / "gpt2", Path(name) / "bundle"
        write_gpt2(
            folder, vocab_size=ROWS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
            n_positions=POSITIONS, n_inner=None,
        )  # fmt: skip
        jumok = python_of(OURS).with_name("jumok")
        command: list[str | Path] = [jumok, "import", folder, "--output", output]
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
