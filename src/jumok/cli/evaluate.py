"""`jumok evaluate`: how good a model is, by its kind's usual measures."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option
from jumok.cli.screen import console, counted, print_scores
from jumok.cli.streams import open_output
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.bundle.card import Score

Outputs = list[str]


@dataclass(frozen=True)
class Evaluation:
    """What the command line asks for; see the options of `evaluate`."""

    model: str
    source: Path | None
    reference: Path | None
    data: Path | None
    beam: int
    tokenize: str | None
    lowercase: bool
    batch: int
    device: str
    precision: option.Precisions
    threads: int

    def needs_data(self) -> Path:
        """The file that --data names.

        Raises:
            ConfigError: it was not given, or --source and --reference were.
        """
        if self.data is None or self.source is not None or self.reference is not None:
            raise ConfigError(
                "this kind of model is evaluated on one file.",
                do=f"jumok evaluate {self.model} --data FILE",
            )
        return self.data


@dataclass(frozen=True)
class Judged:
    """What came out: scores, and what the model wrote, one line an example.

    Attributes:
        examples: how many, in words: "1,000 sentences, beam 5".
    """

    scores: "tuple[Score, ...]"
    outputs: Outputs
    examples: str


EVALUATORS: dict[str, str] = {
    "translation": "jumok.cli.evaluate:evaluate_translation",
}
"""By task the function that evaluates it, imported when it is needed."""


def evaluate(
    model: option.Model,
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="Text to translate, a sentence a line.")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", "-r", help="Its translation by people, line for line."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", "-d", help="Every other kind: unseen data of its kind."),
    ] = None,
    beam: option.Beam = 5,
    tokenize: Annotated[
        str | None,
        typer.Option(help="How BLEU cuts words: 13a, intl, char, zh, ko-mecab, ja-mecab, none."),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Do not tell cases apart.")
    ] = False,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Score a model. Translations are compared with people's: BLEU, chrF, TER.

    Each score comes with its 95 % interval and its signature; only scores
    with equal signatures may be compared. --output keeps what was written.

      jumok evaluate MODEL --source test.en --reference test.ko
    """
    from jumok.bundle.reading import read_bundle

    asked = Evaluation(
        model, source, reference, data, beam, tokenize, lowercase, batch, device, precision, threads
    )
    task = read_bundle(option.model_folders(model)[0]).config.task
    started = time.perf_counter()
    judged = _evaluator(task)(asked)
    seconds = time.perf_counter() - started
    if output is not None:
        with open_output(output) as stream:
            stream.writelines(f"{line}\n" for line in judged.outputs)
    if as_json:
        facts = {"model": model, "examples": judged.examples, "seconds": seconds}
        scores = [asdict(score) for score in judged.scores]
        typer.echo(json.dumps(facts | {"scores": scores}, indent=2))
        return
    print_scores(judged.scores)
    console().print(f"{judged.examples}, in {seconds:.1f} s")


def _evaluator(task: str) -> Callable[[Evaluation], Judged]:
    if task not in EVALUATORS:
        raise ConfigError("this kind of model cannot be evaluated.", got=task)
    module, name = EVALUATORS[task].split(":")
    function: Callable[[Evaluation], Judged] = getattr(import_module(module), name)
    return function


def evaluate_translation(asked: Evaluation) -> Judged:
    """BLEU, chrF and TER of translations.

    Raises:
        ConfigError: a side is missing, or BLEU cannot cut words that way.
    """
    from jumok.data.corpora import Corpus, read_pairs
    from jumok.evaluation.text import check_tokenizer, score_text
    from jumok.systems.translator import DEFAULTS

    if asked.source is None or asked.reference is None or asked.data is not None:
        raise ConfigError(
            "a translation model is evaluated on a text and its translation.",
            do=f"jumok evaluate {asked.model} --source FILE --reference FILE",
        )
    if asked.tokenize is not None:
        check_tokenizer(asked.tokenize)  # before minutes of translating
    pairs = list(read_pairs(Corpus(source=asked.source, target=asked.reference)))
    translator = option.load_translator(asked.model, asked.device, asked.precision, asked.threads)
    translations = translator.translate_lines(
        (pair.source for pair in pairs),
        replace(DEFAULTS, beam=asked.beam),
        alignments=False,
        batch_size=asked.batch,
    )
    hypotheses = [translation.text for translation in counted(translations)]
    scores = score_text(
        hypotheses,
        [pair.target for pair in pairs],
        target_language=translator.target_language,
        tokenizer=asked.tokenize,
        lowercase=asked.lowercase,
    )
    return Judged(tuple(scores), hypotheses, f"{len(pairs):,} sentences, beam {asked.beam}")
