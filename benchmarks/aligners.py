"""Word alignment from attention, compared with a dedicated aligner.

    python -m benchmarks.aligners runs/tatoeba-en-fr/model

Both were trained on Tatoeba's English-French pairs and align align_gold's 447
sentences of the Hansards. Prints eflomal's error rate and jumok's by layer, setting and norm.
"""

import subprocess
import sys
import time

from benchmarks.corpus import WORK, data_folder
from benchmarks.environments import FOLDER, OURS, python_of
from jumok.evaluation.alignment import parse_gold, score_links

WORKER = FOLDER / "workers" / "eflomal_alignment.py"


def main(model: str | None = None) -> None:
    """Aligns twice, scores twice; without a model only eflomal."""
    gold = data_folder() / "align_gold" / "hansards_en-fr_447.tsv"
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
    print(
        f"eflomal: error rate {scores.error_rate:.1%}, precision {scores.precision:.1%}, recall "
        f"{scores.recall:.1%}, in {time.perf_counter() - started:.0f} s"
    )
    if model is not None:
        jumok = python_of(OURS).with_name("jumok")
        subprocess.run([jumok, "align", model, "--data", gold, "--columns", "0,1,2"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
