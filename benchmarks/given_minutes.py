"""What other toolkits reach on Multi30k in the processor minutes of a record run (docs/records.md).

    python -m benchmarks.given_minutes --minutes 60
    python -m benchmarks.given_minutes --minutes 20 --only huggingface --seeds 1 2 3

Each trains the same model (3 + 3 layers, width 256, dropout 0.3, label smoothing 0.1, one BPE
vocabulary of 8,000) on one core, in the number format that is faster on this machine, as many steps
as the minutes allow: two short runs say how long a step takes. The score is BLEU of
test_2016_flickr, raw, cased, beam 5. Translating does not count.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import sacrebleu
import sentencepiece
import torch

from benchmarks.corpus import SOURCE, TARGET, WORK, Corpus, data_folder, joint_corpus
from benchmarks.errors import BenchmarkError
from benchmarks.peers import finished
from benchmarks.peers.finished import Finished, Plan
from benchmarks.process import children_seconds, one_thread_environment
from jumok.training.precision import choose_precision

TEST = "test_2016_flickr"
SHORT = 20, 60
"""The steps of the two short runs."""


@dataclass(frozen=True)
class Score:
    """One run: the processor minutes of its training, and BLEU."""

    minutes: float
    bleu: float


def main() -> None:
    """Train, translate and score each, and print a line a tool."""
    given = _arguments()
    corpus = joint_corpus()
    chosen = choose_precision("auto", torch.device("cpu"))
    precision: finished.Precision = "bf16" if chosen.dtype == torch.bfloat16 else "fp32"
    print(chosen.reason, flush=True)
    for peer in finished.PEERS:
        if peer.name not in given.only:
            continue
        steps = _steps_within(peer, corpus, precision, given.minutes * 60)
        scores = [_run(peer, corpus, precision, steps, seed) for seed in given.seeds]
        bleu = [score.bleu for score in scores]
        spread = f" ± {statistics.stdev(bleu):.2f}" if len(bleu) > 1 else ""
        each = ", ".join(f"{score.bleu:.2f} ({score.minutes:.1f} minutes)" for score in scores)
        print(
            f"{peer.tool}, {steps:,} steps: BLEU {statistics.mean(bleu):.2f}{spread}: {each}",
            flush=True,
        )


def _steps_within(
    peer: Finished, corpus: Corpus, precision: finished.Precision, seconds: float
) -> int:
    times = [
        _timed(peer.train(Plan(corpus, _empty(f"{peer.name}-short"), steps, 1, precision)))
        for steps in SHORT
    ]
    start_and_first, more = times[0], times[1] - times[0]
    a_step = more / (SHORT[1] - SHORT[0])
    print(f"{peer.name}: {a_step:.2f} processor seconds a step", file=sys.stderr, flush=True)
    return int((seconds - start_and_first) / a_step) + SHORT[0]


def _run(
    peer: Finished, corpus: Corpus, precision: finished.Precision, steps: int, seed: int
) -> Score:
    folder = _empty(f"{peer.name}-{seed}")
    plan = Plan(corpus, folder, steps, seed, precision, _test_pieces(corpus))
    seconds = _timed(peer.train(plan))
    _timed(peer.translate(plan))
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(corpus.model))
    lines = plan.output.read_text("utf-8").removesuffix("\n").split("\n")
    texts = [peer.text(line, tokenizer) for line in lines]
    plan.folder.joinpath("output.txt").write_text("\n".join(texts) + "\n", "utf-8")
    expected = (data_folder() / "multi30k" / f"{TEST}.{TARGET}").read_text("utf-8").splitlines()
    if len(texts) != len(expected):
        raise BenchmarkError(f"{plan.output} has {len(texts)} lines, expected {len(expected)}")
    return Score(seconds / 60, sacrebleu.corpus_bleu(texts, [expected]).score)


def _test_pieces(corpus: Corpus) -> Path:
    """The test's sentences as subwords, a file beside those of the corpus."""
    pieces = corpus.pieces(TEST, SOURCE)
    if not pieces.exists():
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(corpus.model))
        lines = (data_folder() / "multi30k" / f"{TEST}.{SOURCE}").read_text("utf-8").splitlines()
        corpus.text(TEST, SOURCE).write_text("\n".join(lines) + "\n", "utf-8")
        ids = [" ".join(map(str, row)) for row in tokenizer.encode(lines)]
        corpus.ids(TEST, SOURCE).write_text("\n".join(ids) + "\n", "utf-8")
        rows = [" ".join(row) for row in tokenizer.encode(lines, out_type=str)]
        pieces.write_text("\n".join(rows) + "\n", "utf-8")
    return pieces


def _empty(name: str) -> Path:
    folder = WORK / "given_minutes" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _timed(job: finished.Command) -> float:
    """Processor seconds of one command, with its children."""
    before = children_seconds()
    words = list(map(str, job.words))
    with ExitStack() as opened:
        log = opened.enter_context((job.folder / "log.txt").open("ab"))
        given = opened.enter_context(job.input.open("rb")) if job.input else subprocess.DEVNULL
        said = opened.enter_context(job.output.open("wb")) if job.output else log
        done = subprocess.run(
            words,
            cwd=job.folder,
            env=one_thread_environment(),
            stdin=given,
            stdout=said,
            stderr=log,
            check=False,
        )
    if done.returncode != 0:
        raise BenchmarkError(f"{' '.join(words)} ended with {done.returncode}: see {log.name}")
    return children_seconds() - before


def _arguments() -> argparse.Namespace:
    names = [peer.name for peer in finished.PEERS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.given_minutes", description=__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="processor minutes")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    return parser.parse_args()


if __name__ == "__main__":
    main()
