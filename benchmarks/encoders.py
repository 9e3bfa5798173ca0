"""Sentences per processor second as vectors, on one thread: this engine in each of its precisions
and torch beside transformers, in one run, and how far the vectors are from those of transformers.

    OMP_NUM_THREADS=1 python -m benchmarks.encoders FOLDER [--rounds 3]

FOLDER is a model of Hugging Face's with its tokenizer (all-MiniLM-L6-v2). It reads 1,000 English
lines, evenly spaced, of the mixed test corpus in $JUMOK_DATA (command lines, documentation, verses,
conversation), 32 at once. transformers reads them in their order, padded, as its documentation
shows; every round measures all, and the ratios are of one round.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import transformers

from benchmarks.corpus import data_folder
from jumok.data.pairs.rows import spread
from jumok.interop.importing import read_model, write_imported
from jumok.systems.masked_model import MaskedModel

LINES, BATCH = 1000, 32

Embed = Callable[[list[str]], torch.Tensor]


def given_lines() -> list[str]:
    file = data_folder() / "enko" / "mixed_test.tsv"
    return spread([row.split("\t")[1] for row in file.read_text("utf-8").splitlines()], LINES)


def by_transformers(folder: Path) -> Embed:
    """The mean of the last states, as sentence-transformers computes it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    @torch.no_grad()
    def embed(lines: list[str]) -> torch.Tensor:
        means = []
        for first in range(0, len(lines), BATCH):
            batch = tokenizer(
                lines[first : first + BATCH], padding=True, truncation=True, return_tensors="pt"
            )
            states, real = model(**batch).last_hidden_state, batch["attention_mask"][..., None]
            means.append((states * real).sum(1) / real.sum(1))
        return torch.cat(means)

    return embed


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("folder", type=Path)
    reader.add_argument("--rounds", type=int, default=3)
    given = reader.parse_args()
    torch.set_num_threads(1)
    lines, theirs = given_lines(), by_transformers(given.folder)
    embedders: dict[str, Embed] = {"transformers": theirs}
    with tempfile.TemporaryDirectory() as room:
        bundle = Path(room) / "bundle"
        write_imported(read_model(given.folder), bundle)
        embedders["torch fp32"] = MaskedModel.load(bundle).sentence_vectors
        for precision in ("fp32", "bf16", "int8"):
            system = MaskedModel.load(bundle, engine="native", precision=precision, threads=1)
            embedders[f"native {precision}"] = system.sentence_vectors
    times: dict[str, list[float]] = {name: [] for name in embedders}
    expected = theirs(lines).double()
    for _ in range(given.rounds):
        for name, embed in embedders.items():
            begin = time.process_time()
            found = embed(lines)
            times[name].append(time.process_time() - begin)
            apart = 1 - torch.cosine_similarity(found.double(), expected).min()
            ratio = times["transformers"][-1] / times[name][-1]
            rate = len(lines) / times[name][-1]
            print(f"{name:13} {rate:6.1f} a CPU-s  {ratio:4.2f} x  1 - cosine {apart:.1e}")
    for name, each in times.items():
        ratios = [one / own for one, own in zip(times["transformers"], each, strict=True)]
        print(f"median of {name:13} {len(lines) / median(each):6.1f}  {median(ratios):4.2f} x")


if __name__ == "__main__":
    main()
