"""`jumok evaluate`: how near translations come to people's."""

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli import options as option
from jumok.cli.screen import console, counted, print_scores
from jumok.cli.streams import open_output


def evaluate(
    model: option.Model,
    source: Annotated[Path, typer.Option("--source", "-s", help="Text, one sentence a line.")],
    reference: Annotated[
        Path, typer.Option("--reference", "-r", help="Its translation by people, line for line.")
    ],
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
    """Translate a text and compare with people's translation: BLEU, chrF, TER.

    Each score comes with its 95 % interval and its signature; only scores
    with equal signatures may be compared. --output keeps the translations.

      jumok evaluate MODEL --source test.en --reference test.ko
    """
    from jumok.data.corpora import Corpus, read_pairs
    from jumok.evaluation.text import check_tokenizer, score_text
    from jumok.systems.translator import DEFAULTS

    if tokenize is not None:
        check_tokenizer(tokenize)  # before minutes of translating
    pairs = list(read_pairs(Corpus(source=source, target=reference)))
    translator = option.load_translator(model, device, precision, threads)
    started = time.perf_counter()
    lines = (pair.source for pair in pairs)
    options = replace(DEFAULTS, beam=beam)
    translations = translator.translate_lines(lines, options, alignments=False, batch_size=batch)
    hypotheses = [translation.text for translation in counted(translations)]
    seconds = time.perf_counter() - started
    if output is not None:
        with open_output(output) as stream:
            stream.writelines(f"{line}\n" for line in hypotheses)
    scores = score_text(
        hypotheses,
        [pair.target for pair in pairs],
        target_language=translator.target_language,
        tokenizer=tokenize,
        lowercase=lowercase,
    )
    if as_json:
        facts = {"model": model, "sentences": len(pairs), "beam": beam, "seconds": seconds}
        text = json.dumps(facts | {"scores": [asdict(score) for score in scores]}, indent=2)
        typer.echo(text)
        return
    print_scores(scores)
    console().print(f"{len(pairs):,} sentences, beam {beam}, translated in {seconds:.1f} s")
