"""How well a model translates Multi30k's test_2016_flickr, on the two scales that are in use.

    python -m benchmarks.quality runs/multi30k-en-de/model

The first is raw text, cased, sacreBLEU 13a, which jumok's documents report; the second is
lower-cased, Moses-tokenised BLEU, as in the papers. The two cannot be compared.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.corpus import WORK, data_folder
from benchmarks.environments import OURS, python_of

WORKER = Path(__file__).parent / "workers" / "moses_bleu.py"


def main(model: str, target: str = "de", beam: str = "5") -> None:
    """Translates once, scores twice."""
    data = data_folder() / "multi30k"
    source, reference = (data / f"test_2016_flickr.{language}" for language in ("en", target))
    work = WORK / "quality"
    work.mkdir(parents=True, exist_ok=True)
    output = work / f"test_2016_flickr.{target}"
    jumok = python_of(OURS).with_name("jumok")
    files: list[str | Path] = ["--source", source, "--reference", reference, "--output", output]
    alone = "--split", "length", "--no-keep"
    subprocess.run([jumok, "evaluate", model, *files, *alone, "--beam", beam], check=True)
    print("\nThe papers' scale: lower-cased, Moses-tokenised")
    subprocess.run([python_of("moses"), WORKER, output, reference, target], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
