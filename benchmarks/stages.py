"""Where the processor time of `jumok prepare` goes: its stages, and each of its parts.

    python -m benchmarks.stages --pairs 300000
    python -m benchmarks.stages --recipe recipe.toml

The pairs are those of `benchmarks.cleaning`, or of a recipe. Three tables: the stages of the whole
command, run one after another in this process, with the peak of its memory; the filters and other
parts, each by itself over the first pairs, for the second time; and the command as a user gives it.
Times are processor times of one core, because others may use the machine.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.cleaning import write_corpus
from benchmarks.corpus import data_folder
from benchmarks.prepare import prepared
from jumok.cli.verbs.scale.prepare import plan_of
from jumok.data.pairs.cleaning import filters
from jumok.data.pairs.cleaning.characters import BothSides
from jumok.data.pairs.cleaning.duplicates import keys_of
from jumok.data.pairs.cleaning.near import bands, signatures, sketches
from jumok.data.pairs.cleaning.survey import BATCH, corpus_context
from jumok.data.pairs.corpus import read_pairs
from jumok.data.pairs.pair import columns_of
from jumok.data.tokenizer import Tokenizer
from jumok.training.folder import TOKENIZER
from jumok.training.preparing.shards.plan import CorpusPlan, begin
from jumok.training.preparing.shards.stages import STAGES

SHARD_PAIRS = 500_000
MEASURED = 5 * BATCH  # pairs of which the parts are measured
TASKS = 4


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("--pairs", type=int, default=300_000)
    parser.add_argument("--recipe", type=Path, help="instead of pairs that are made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe: Path = options.recipe
        if recipe is None:
            recipe = write_corpus(
                folder, data_folder() / "tatoeba" / "eng-fra.tsv.gz", options.pairs
            )
        plan = plan_of(recipe, (), folder / "stages", 1, SHARD_PAIRS)
        pairs = stages(plan)
        parts(plan)
        done = prepared(recipe, folder / "whole", folder)
        print(
            f"| whole command | {done.cpu_seconds / pairs * 1e6:.1f} | "
            f"{pairs / done.cpu_seconds:,.0f} pairs / CPU-s, {done.peak_bytes / 1e9:.2f} GB |"
        )


def stages(plan: CorpusPlan) -> int:
    """Runs the stages here, and prints what each takes; how many pairs were read."""
    begin(plan)
    seconds = {stage.name: _seconds(partial(stage.run, plan, 0)) for stage in STAGES[:-1]}
    pairs = sum(block.pairs for block in plan.blocks())
    seconds["finish"] = _seconds(lambda: STAGES[-1].run(plan, 0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{pairs:,} pairs; load {os.getloadavg()[0]:.1f}; peak {peak:.2f} GB\n")
    print("| stage | CPU-µs a pair | |\n| --- | --- | --- |")
    for name, spent in seconds.items():
        print(f"| {name} | {spent / pairs * 1e6:.2f} | |")
    return pairs


def parts(plan: CorpusPlan) -> None:
    """Prints what each filter takes, and what surrounds them."""
    data, clean = plan.config.data, plan.clean
    if clean is None:
        sys.exit("benchmarks.stages: the recipe switches the filters off")
    languages = data.source_language, data.target_language
    pairs = next(columns_of(read_pairs(plan.corpora[0]), MEASURED))
    context = corpus_context(pairs.part(0, BATCH), languages, clean)
    tokenizer = Tokenizer.load(plan.folder / TOKENIZER)
    for spent in ({}, dict[str, float]()):  # first the tables are made, and words are learnt
        for some in columns_of(pairs, BATCH):
            with measured(spent, "characters as arrays"):
                both = BothSides.of(some.sources, some.targets)
            for name, threshold in filters.thresholds(clean).items():
                with measured(spent, name):
                    filters.FILTERS[name].test(both, threshold, context)
            texts = list(both.source.texts), list(both.target.texts)
            with measured(spent, "language"):
                every = both.source.lengths >= 0
                filters.in_wrong_language(both, context, every, clean.language or 1.0)
            with measured(spent, "duplicates"):
                keys_of(*texts, "pair")
            with measured(spent, "near_duplicates"):
                signed = signatures(*both.sides)
                bands(signed), sketches(signed)
            with measured(spent, "tokenizer"):
                for side in texts:
                    tokenizer.encode_flat(side)
    for name, seconds in spent.items():
        print(f"| part: {name} | {seconds / len(pairs) * 1e6:.2f} | |")


@contextmanager
def measured(spent: dict[str, float], name: str) -> Iterator[None]:
    """Adds the processor time of the block to that of this name."""
    begun = time.process_time()
    yield
    spent[name] = spent.get(name, 0.0) + time.process_time() - begun


def _seconds(run: Callable[[], object]) -> float:
    """The processor time that a call takes."""
    begun = time.process_time()
    run()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
