"""A statistical word aligner on the same sentences; runs in the environment `eflomal`.

eflomal (Ostling and Tiedemann 2016: Bayesian HMM and fertility, by Gibbs sampling) reads the
training pairs and the gold pairs together, as statistical aligners do; its two directions are
joined by grow-diag-final-and (Koehn et al. 2003). All of it is lower-cased.
"""

import gzip
import re
import sys
import tempfile
from pathlib import Path

from eflomal import Aligner
from nltk.translate.gdfa import grow_diag_final_and


def main(training: str, gold: str, links: str) -> None:
    """Writes the links of the gold file's pairs to `links`, a line a pair, 0-0 1-2.

    Args:
        training: pairs (gzip), source TAB target, cut here into words and signs.
        gold: source TAB target TAB links; words stand between plain spaces.
    """
    tested = [row.split("\t")[:2] for row in Path(gold).read_text(encoding="utf-8").splitlines()]
    with gzip.open(training, "rt", encoding="utf-8") as stream:
        seen = [_cut(row.rstrip("\n")).split("\t")[:2] for row in stream]
    pairs = [[side.lower() for side in pair] for pair in tested + seen]
    with tempfile.TemporaryDirectory() as folder:
        forward, reverse = Path(folder, "forward"), Path(folder, "reverse")
        Aligner().align(
            [source + "\n" for source, _ in pairs],
            [target + "\n" for _, target in pairs],
            links_filename_fwd=str(forward),
            links_filename_rev=str(reverse),
            quiet=True,
        )
        aligned = zip(_lines(forward), _lines(reverse), tested, strict=False)
        joined = [
            sorted(grow_diag_final_and(len(pair[0].split()), len(pair[1].split()), one, other))
            for one, other, pair in aligned
        ]
    rows = (" ".join(f"{source}-{target}" for source, target in row) for row in joined)
    Path(links).write_text("".join(f"{row}\n" for row in rows))


def _cut(text: str) -> str:
    """Signs apart from words, as in the gold file."""
    return re.sub(r'([.,!?;:"()])', r" \1 ", text).replace("'", "' ")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


if __name__ == "__main__":
    main(*sys.argv[1:])
