"""Word alignment from attention, compared with a dedicated aligner.

    python -m benchmarks.aligners runs/tatoeba-en-fr/model

Both were trained on Tatoeba's English-French pairs and align align_gold's 447
sentences of the Hansards. Prints eflomal's error rate, and jumok's by layer, setting and norm if
there is a model.
"""

import argparse
import subprocess
import time
from pathlib import Path

from benchmarks.corpus import WORK, data_folder
from benchmarks.environments import FOLDER, OUR_COMMAND, python_of
from jumok.evaluation.alignment import parse_gold, score_links

WORKER = FOLDER / "workers" / "eflomal_alignment.py"


def main() -> None:
    """Aligns twice, scores twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.aligners", description=__doc__)
    parser.add_argument("model", nargs="?", help="without one only eflomal aligns")
    parser.add_argument("--only", choices=("eflomal", "jumok"))
    given = parser.parse_args()
    gold = data_folder() / "align_gold" / "hansards_en-fr_447.tsv"
    if given.only != "jumok":
        print(by_eflomal(gold))
    if given.model is not None and given.only != "eflomal":
        align = [*OUR_COMMAND, "align", given.model, "--data", str(gold), "--columns", "0,1,2"]
        subprocess.run(align, check=True)


def by_eflomal(gold: Path) -> str:
    """Its scores and time, on a line."""
    links = WORK / "eflomal.links"
    WORK.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    training = data_folder() / "tatoeba" / "eng-fra.tsv.gz"
    subprocess.run([python_of("eflomal"), WORKER, training, gold, links], check=True)
    links_of_rows = [
        [(int(source), int(target)) for source, target in (link.split("-") for link in row.split())]
        for row in links.read_text().removesuffix("\n").split("\n")
    ]
    rows = gold.read_text(encoding="utf-8").splitlines()
    scores = score_links(links_of_rows, [parse_gold(row.split("\t")[2]) for row in rows])
    return (
        f"eflomal: error rate {scores.error_rate:.1%}, precision {scores.precision:.1%}, recall "
        f"{scores.recall:.1%}, in {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
