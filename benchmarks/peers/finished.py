"""Other toolkits' whole runs: trained for a number of steps with the settings that suit them best.

The settings differ from those of the speed benchmark where quality needs it: dropout 0.3, a
learning rate of 1.5e-3 along a cosine (JoeyNMT has none: the inverse square root), averaged weights
where the tool has them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import sentencepiece

from benchmarks.corpus import SOURCE, Corpus
from benchmarks.environments import FOLDER, python_of, version_of
from benchmarks.peers import eole, huggingface, joeynmt

RATE = 1.5e-3
DROPOUT = 0.3
WARMUP = 400
AVERAGE = 0.998
BEAM = 5
Precision = Literal["bf16", "fp32"]
_LONG_NAMES = {"bf16": "bfloat16", "fp32": "float32"}


@dataclass(frozen=True)
class Plan:
    """One run.

    Attributes:
        corpus: Multi30k.
        folder: an empty one of the run.
        steps: of the optimizer.
        seed: of everything random.
        precision: the number format that is faster on this machine, for the tools that have both.
        test: the subwords that are to be translated; None: the run is only timed.
    """

    corpus: Corpus
    folder: Path
    steps: int
    seed: int
    precision: Precision
    test: Path | None = None

    @property
    def warmup(self) -> int:
        """Steps: at most a fifth of the run."""
        return max(1, min(WARMUP, self.steps // 5))

    @property
    def average(self) -> float:
        """The decay of the averaged weights: over at most a tenth of the run."""
        return max(0.0, min(AVERAGE, 1 - 10 / self.steps))

    @property
    def output(self) -> Path:
        """The translations, one a line."""
        return self.folder / "translated"


@dataclass(frozen=True)
class Command:
    """Words of a command, the folder it runs in, a file it reads from its standard input, and one
    that its standard output is written to; None: to the log.
    """

    words: list[str | Path]
    folder: Path
    input: Path | None = None
    output: Path | None = None


@dataclass(frozen=True)
class Finished:
    """A tool; `text` makes a line of its output text."""

    name: str
    tool: str
    train: Callable[[Plan], Command]
    translate: Callable[[Plan], Command]
    text: Callable[[str, sentencepiece.SentencePieceProcessor], str]


def _train_huggingface(plan: Plan) -> Command:
    return _huggingface(plan, "train")


def _translate_huggingface(plan: Plan) -> Command:
    return _huggingface(plan, "translate")


def _huggingface(plan: Plan, verb: str) -> Command:
    ids = plan.corpus.ids
    way = replace(huggingface.BEST, precision=_LONG_NAMES[plan.precision])
    settings = huggingface.settings(way, plan.corpus) | {
        "dropout": DROPOUT, "learning_rate": RATE, "steps": plan.steps, "seed": plan.seed,
        "warmup": plan.warmup, "average": plan.average,
        "weights": str(plan.folder / "weights.pt"), "output": str(plan.output),
        "test": str(ids(plan.test.name.split(".")[0], SOURCE)) if plan.test else "",
    }  # fmt: skip
    file = plan.folder / "settings.json"
    file.write_text(json.dumps(settings, indent=1))
    worker = FOLDER / "workers" / "huggingface_finished.py"
    return Command([python_of("huggingface"), worker, verb, file], plan.folder)


def _train_eole(plan: Plan) -> Command:
    vocabulary = eole.write_vocabulary(plan.corpus, plan.folder)
    settings = eole.configuration(plan.precision, plan.corpus, plan.folder, vocabulary)
    settings["training"] |= {
        "learning_rate": RATE, "dropout": [DROPOUT], "decay_method": "cosine",
        "warmup_steps": plan.warmup, "train_steps": plan.steps,
        "save_checkpoint_steps": plan.steps, "average_decay": 1 - plan.average,
    }  # fmt: skip
    file = plan.folder / "eole.yaml"  # JSON is YAML too
    file.write_text(json.dumps(settings | {"seed": plan.seed}, indent=1))
    return Command([_eole(), "train", "--config", file], plan.folder)


def _translate_eole(plan: Plan) -> Command:
    assert plan.test is not None
    words: list[str | Path] = ["--model_path", plan.folder / "model", "--src", plan.test]
    words += ["--output", plan.output, "--beam_size", str(BEAM), "--gpu_ranks", "-1"]
    return Command([_eole(), "predict", *words], plan.folder)


def _eole() -> Path:
    return python_of("eole").with_name("eole")


def _train_joeynmt(plan: Plan) -> Command:
    settings = joeynmt.configuration(plan.corpus, plan.folder)
    settings["training"] |= {
        "learning_rate": RATE, "learning_rate_warmup": plan.warmup, "random_seed": plan.seed,
        "updates": plan.steps, "validation_freq": plan.steps, "logging_freq": 1,
    }  # fmt: skip
    settings["testing"] |= {"beam_size": BEAM, "batch_size": 50, "batch_type": "sentence"}
    for side in ("encoder", "decoder"):
        stack = settings["model"][side]
        stack |= {"dropout": DROPOUT, "embeddings": stack["embeddings"] | {"dropout": DROPOUT}}
    file = plan.folder / "joeynmt.yaml"  # JSON is YAML too
    file.write_text(json.dumps(settings | {"random_seed": plan.seed}, indent=1))
    return Command(
        [python_of("joeynmt"), "-m", "joeynmt", "train", file, "--skip-test"], plan.folder
    )


def _translate_joeynmt(plan: Plan) -> Command:
    assert plan.test is not None
    file = plan.folder / "joeynmt.yaml"
    return Command(  # its option -o ends in an error: "no attribute 'n_best'"
        [python_of("joeynmt"), "-m", "joeynmt", "translate", file],
        plan.folder,
        plan.corpus.text(plan.test.name.split(".")[0], SOURCE),
        plan.output,
    )


def _of_ids(line: str, tokenizer: sentencepiece.SentencePieceProcessor) -> str:
    return str(tokenizer.decode([int(number) for number in line.split()]))


def _of_pieces(line: str, tokenizer: sentencepiece.SentencePieceProcessor) -> str:
    return str(tokenizer.decode_pieces(line.split()))


def _as_it_is(line: str, _tokenizer: sentencepiece.SentencePieceProcessor) -> str:
    return line


PEERS = (
    Finished(
        "huggingface",
        f"Hugging Face Marian {version_of('huggingface', 'transformers')}, its best loop "
        f"({huggingface.BEST.batching}, {huggingface.BEST.attention}), averaged weights",
        _train_huggingface,
        _translate_huggingface,
        _of_ids,
    ),
    Finished(
        "eole",
        f"Eole {version_of('eole', 'eole')}, averaged weights",
        _train_eole,
        _translate_eole,
        _of_pieces,
    ),
    Finished(
        "joeynmt",
        f"JoeyNMT {version_of('joeynmt', 'joeynmt')}, always float32",
        _train_joeynmt,
        _translate_joeynmt,
        _as_it_is,
    ),
)
