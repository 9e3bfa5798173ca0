"""Training on a prepared corpus of any number of pairs: the start, the memory, the time of a step.

    python -m benchmarks.shards --pairs 10000000 1000000000

A shard of 500,000 pairs of the small world is written once; the others are hard links to its file,
so 10^9 pairs take 50 MB of disk. To jumok they are different shards: each is checked, opened and
planned. A small Transformer is then trained for some steps. Memory is the peak of what the process
allocated, apart from mapped files, which the system can drop; time is processor time.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from itertools import chain, islice, repeat
from pathlib import Path

import smallworld
from benchmarks.environments import OUR_COMMAND
from benchmarks.process import children_seconds, own_memory_peak
from jumok.data.files.manifest import MANIFEST, parse_manifest, write_manifest_file
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.shards import shard_name, write_manifest, write_shard
from jumok.data.pairs.store import Filters
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from jumok.errors import Location

DIFFERENT = 50_000  # pairs, again and again
RECIPE = """
name = "shards"
data.train = [{ prepared = "corpus" }]
training = { steps = 20, precision = "fp32", threads = 1, log_every = 1 }
model = { dim = 64, heads = 4, encoder_layers = 1, decoder_layers = 1, feedforward = 128 }
validation = { every = 20, decode_pairs = 1 }
"""


def write_first(folder: Path, size: int) -> None:
    """A corpus of one shard of so many pairs."""
    smallworld.write(folder / "text", {"train": DIFFERENT, "validation": 100}, 1, 3, 16)
    train, held = (
        list(read_pairs(Corpus(folder / "text" / f"{split}.en", folder / "text" / f"{split}.ko")))
        for split in ("train", "validation")
    )
    tokenizer = Tokenizer.train(chain.from_iterable(pair[:2] for pair in train), "unigram", 4000)
    pairs = islice(chain.from_iterable(repeat(train)), size)
    report = CorpusReport("small world")
    write_shard(folder / "corpus", 0, pairs, tokenizer, Filters(128, 9.0), report=report)
    write_manifest(folder / "corpus", tokenizer, name="small world", validation=held)


def grow(corpus: Path, pairs: int) -> None:
    """Links to the first shard, until the corpus has so many pairs, and their manifest."""
    manifest = parse_manifest((corpus / MANIFEST).read_bytes(), Location(corpus))
    first = manifest.shards[0]
    names = [shard_name(number) for number in range(-(-pairs // first.pairs))]
    for name in names:
        if not (corpus / name).exists():
            os.link(corpus / first.name, corpus / name)
    shards = tuple(first.model_copy(update={"name": name}) for name in names)
    write_manifest_file(corpus, manifest.model_copy(update={"shards": shards}))


def trained(folder: Path) -> None:
    """Trains, and prints a row of the table."""
    shutil.rmtree(folder / "runs", ignore_errors=True)
    (folder / "recipe.toml").write_text(RECIPE, "utf-8")
    command = [*OUR_COMMAND, "train", "recipe.toml", "--runs", "runs"]
    before, start = children_seconds(), time.monotonic()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, text=True) as process:
        peak = own_memory_peak(process)
    if process.returncode:
        raise SystemExit(f"benchmarks.shards: jumok train ended with {process.returncode}")
    wall, all_of_it = time.monotonic() - start, children_seconds() - before
    log = (folder / "runs" / "shards" / "log.jsonl").read_text("utf-8").splitlines()
    steps = [row["cpu_seconds"] for row in map(json.loads, log) if "gradient_norm" in row]
    each = (steps[-1] - steps[0]) / (len(steps) - 1)
    manifest = parse_manifest((folder / "corpus" / MANIFEST).read_bytes(), Location(folder))
    print(
        f"| {manifest.pairs:,} | {len(manifest.shards):,} | {peak / 1e9:.2f} | "
        f"{all_of_it - steps[-1]:.1f} | {steps[0]:.1f} | {each:.3f} | {wall:.0f} |",
        flush=True,
    )


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--pairs", type=int, nargs="+", default=[10_000_000, 1_000_000_000])
    parser.add_argument(
        "--shard-pairs", type=int, default=500_000, help="of each shard, as in jumok prepare"
    )
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print(
        "| pairs | shards | GB | CPU-s besides the steps | CPU-s of the first step | "
        "CPU-s of a further step | seconds |"
    )
    print("|---|---|---|---|---|---|---|")
    folder = Path(tempfile.mkdtemp())
    try:
        write_first(folder, options.shard_pairs)
        for pairs in sorted(options.pairs):
            grow(folder / "corpus", pairs)
            trained(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
