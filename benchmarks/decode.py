"""Decoding speed: the same weights in every engine, engines taking turns on one core.

Each engine lives in a process of its own environment and answers requests; in every round each of
them decodes the same sentences once, and rates are medians over rounds.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.bundle import trained_bundle
from benchmarks.corpus import joint_corpus, test_sources
from benchmarks.environments import FOLDER, OURS, python_of, version_of
from benchmarks.errors import BenchmarkError
from benchmarks.larger import random_sources, random_weights
from benchmarks.options import Options
from benchmarks.process import one_thread_environment, pinned, stop
from benchmarks.results import Row

LENGTH = 30
"""Output tokens a sentence, forced, so that every engine does the same work."""

SOURCE_LENGTHS = range(13, 18)
"""Source tokens of the sentences that are taken, about 15."""

ROUNDS = 5


@dataclass(frozen=True)
class Case:
    """What is decoded in one request."""

    name: str
    beam: int
    batch: int
    sentences: int
    model: str = "small"


CASES = (
    Case("greedy, batch 32", beam=1, batch=32, sentences=64),
    Case("greedy, batch 1", beam=1, batch=1, sentences=16),
    Case("beam 4, batch 32", beam=4, batch=32, sentences=32),
    Case("beam 4, batch 1", beam=4, batch=1, sentences=8),
    Case("base model, greedy, batch 32", beam=1, batch=32, sentences=32, model="base"),
    Case("base model, greedy, batch 1", beam=1, batch=1, sentences=4, model="base"),
    Case("base model, beam 4, batch 1", beam=4, batch=1, sentences=2, model="base"),
    Case("language model, greedy, batch 1", beam=1, batch=1, sentences=4, model="language"),
    Case("RNN, greedy, batch 1", beam=1, batch=1, sentences=16, model="recurrent"),
    Case("RNN, beam 4, batch 1", beam=4, batch=1, sentences=8, model="recurrent"),
    Case("RNN, beam 4, batch 32", beam=4, batch=32, sentences=32, model="recurrent"),
)


@dataclass(frozen=True)
class Engine:
    """A worker: its name in the table, its environment, and what follows the folder."""

    name: str
    environment: str
    worker: str
    options: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


JUMOK = "jumok torch float32"
"""What the others are compared with: the precision that they have in common."""

CTRANSLATE2 = f"CTranslate2 {version_of('ctranslate2', 'ctranslate2')}"
AVX512 = (("CT2_FORCE_CPU_ISA", "AVX512"),)
"""CTranslate2 takes its AVX2 kernels on AMD processors unless it is told otherwise."""

SMALL = (
    Engine(JUMOK, OURS, "jumok_decoding.py"),
    Engine("jumok native float32", OURS, "jumok_engine_decoding.py", ("fp32",)),
    Engine("jumok native bfloat16", OURS, "jumok_engine_decoding.py", ("bf16",)),
    Engine("jumok native int8", OURS, "jumok_engine_decoding.py", ("int8",)),
    Engine(
        f"Hugging Face generate {version_of('huggingface', 'transformers')}",
        "huggingface",
        "huggingface_decoding.py",
    ),
    Engine(f"{CTRANSLATE2} float32", "ctranslate2", "ctranslate2_decoding.py", ("float32",)),
    Engine(f"{CTRANSLATE2} int8", "ctranslate2", "ctranslate2_decoding.py", ("int8",)),
    Engine(
        f"{CTRANSLATE2} int8, AVX512", "ctranslate2", "ctranslate2_decoding.py", ("int8",), AVX512
    ),
)


LARGER = "jumok_larger_decoding.py"
OURS_ALONE = (
    Engine(JUMOK, OURS, LARGER, ("torch", "fp32")),
    Engine("jumok native float32", OURS, LARGER, ("native", "fp32")),
    Engine("jumok native bfloat16", OURS, LARGER, ("native", "bf16")),
    Engine("jumok native int8", OURS, LARGER, ("native", "int8")),
)
"""For a model without a bundle that no other engine has."""


def _larger(worker: str) -> tuple[Engine, ...]:
    """The engines for a model without a bundle."""
    theirs = "ctranslate2", worker, ("int8",)
    return (
        *OURS_ALONE,
        Engine(f"{CTRANSLATE2} int8", *theirs),
        Engine(f"{CTRANSLATE2} int8, AVX512", *theirs, AVX512),
    )


ENGINES = {
    "small": SMALL,
    "base": _larger("ctranslate2_decoding.py"),
    "language": _larger("ctranslate2_language.py"),
    "recurrent": OURS_ALONE,
}
"""By the model of a case."""

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Answers:
    """What one engine took for one case in each round, and what it wrote in the last."""

    cpu_seconds: list[float]
    outputs: list[list[int]]


def run(options: Options) -> list[Row]:
    """One row a case and engine."""
    rows: list[Row] = []
    for model, engines in ENGINES.items():
        cases = [each for each in CASES if each.model == model and options.wants(each.name)]
        if not cases:
            continue
        folder, sources = small_model(options.core) if model == "small" else random_model(model)
        # Longest first, as every engine would sort them: padding is then the same for all.
        chosen = {case: sorted(sources[: case.sentences], key=len, reverse=True) for case in cases}
        with ExitStack() as stack:
            workers = {
                engine.name: stack.enter_context(started(engine, folder, options.core))
                for engine in engines
            }
            for case in cases:
                print(f"decoding: {case.name} ...", file=sys.stderr)
                answers = _take_turns(case, workers, chosen[case], options.rounds or ROUNDS)
                rows += _rows(case, answers)
    return rows


def small_model(core: int) -> tuple[Path, list[list[int]]]:
    """The folder of a trained bundle, and test sentences."""
    corpus = joint_corpus()
    folder = _weights(trained_bundle(corpus, core))
    return folder, [row for row in test_sources(corpus) if len(row) in SOURCE_LENGTHS]


def random_model(model: str) -> tuple[Path, list[list[int]]]:
    """The folder of a larger model, and what it reads."""
    return random_weights(model), random_sources(model, max(case.sentences for case in CASES))


def _weights(bundle: Path) -> Path:
    """The folder that holds the bundle and, beside it, its weights for the other engines."""
    folder = bundle.parent
    worker = FOLDER / "workers" / "jumok_weights.py"
    subprocess.run([python_of(OURS), worker, folder], check=True)
    return folder


@contextmanager
def started(engine: Engine, folder: Path, core: int) -> Iterator[Process]:
    command = [python_of(engine.environment), FOLDER / "workers" / engine.worker, folder]
    with (folder / f"{engine.name}.log").open("wb") as log:
        process = subprocess.Popen(
            pinned([*command, *engine.options], core),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=one_thread_environment() | dict(engine.variables),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def _take_turns(
    case: Case, workers: dict[str, Process], sources: list[list[int]], count: int
) -> dict[str, Answers]:
    line = request_of(case, sources)
    for name, worker in workers.items():  # a round to warm up
        ask(name, worker, line)
    rounds = [
        {name: ask(name, worker, line) for name, worker in workers.items()} for _ in range(count)
    ]
    return {
        name: Answers(
            [answers[name]["cpu_seconds"] for answers in rounds], rounds[-1][name]["outputs"]
        )
        for name in workers
    }


def request_of(case: Case, sources: list[list[int]]) -> bytes:
    """What a worker is asked: see workers/answering.py."""
    request = {"sources": sources, "batch": case.batch, "beam": case.beam, "length": LENGTH}
    return (json.dumps(request) + "\n").encode()


def ask(name: str, worker: Process, line: bytes) -> Row:
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(line)
        worker.stdin.flush()
        return json.loads(worker.stdout.readline())
    except (OSError, ValueError) as error:
        raise BenchmarkError(
            f"{name} gave no answer: see its log under benchmarks/.work"
        ) from error


def _rows(case: Case, answers: dict[str, Answers]) -> list[Row]:
    """A row an engine; outputs are compared only where the weights are trained, because random
    weights give similar outputs for all inputs.
    """
    ours = answers[JUMOK].outputs
    rows: list[Row] = []
    for name, theirs in answers.items():
        rate = case.sentences * LENGTH / median(theirs.cpu_seconds)
        row: Row = {"case": case.name, "engine": name, "tokens_per_cpu_second": rate}
        if case.model == "small":
            same = sum(a == b for a, b in zip(theirs.outputs, ours, strict=True))
            row |= {"same": same, "sentences": case.sentences}
        rows.append(row)
    return rows
