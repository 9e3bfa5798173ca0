"""How well a model translates Multi30k's test_2016_flickr, on the two scales that are in use.

    python -m benchmarks.quality runs/multi30k-en-de/model

The first is raw text, cased, sacreBLEU 13a, which jumok's documents report; the second is
lower-cased, Moses-tokenised BLEU, as in the papers. The two cannot be compared. With --raw it is
the first alone, which needs no environment of its own.
"""

import argparse
import subprocess
from pathlib import Path

from benchmarks.corpus import WORK, data_folder
from benchmarks.environments import OUR_COMMAND, python_of

WORKER = Path(__file__).parent / "workers" / "moses_bleu.py"


def main() -> None:
    """Translates once, scores twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("model", help="a folder, or those of an ensemble with commas between them")
    parser.add_argument("target", nargs="?", default="de", help="the target language")
    parser.add_argument("beam", nargs="?", default="5")
    parser.add_argument("--raw", action="store_true", help="the first scale alone")
    given = parser.parse_args()
    data = data_folder() / "multi30k"
    source, reference = (data / f"test_2016_flickr.{language}" for language in ("en", given.target))
    work = WORK / "quality"
    work.mkdir(parents=True, exist_ok=True)
    output = work / f"test_2016_flickr.{given.target}"
    files: list[str | Path] = ["--source", source, "--reference", reference, "--output", output]
    alone = "--split", "length", "--no-keep"
    evaluate = [*OUR_COMMAND, "evaluate", given.model, *files, *alone, "--beam", given.beam]
    subprocess.run(evaluate, check=True)
    if given.raw:
        return
    print("\nThe papers' scale: lower-cased, Moses-tokenised")
    subprocess.run([python_of("moses"), WORKER, output, reference, given.target], check=True)


if __name__ == "__main__":
    main()
