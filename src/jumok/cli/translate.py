"""`jumok translate`: lines in, lines out."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

import typer

from jumok.cli import options as option
from jumok.cli.screen import counted
from jumok.cli.streams import check_output, is_typed, open_output, read_lines
from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.systems.translation import Translation


def translate(
    model: option.Model,
    file: option.Text = None,
    beam: option.Beam = 5,
    nbest: option.Nbest = 1,
    length_penalty: option.LengthPenalty = 1.0,
    coverage_penalty: option.CoveragePenalty = 0.0,
    minimum_length: option.MinimumLength = 0,
    maximum_length: option.MaximumLength = 256,
    no_repeat_ngram: option.NoRepeatNgram = 0,
    prefix: option.Prefix = "",
    split: option.Split = "auto",
    keep: option.Keep = None,
    no_keep: option.NoKeep = False,
    glossary: option.GlossaryFile = None,
    sample: option.Sample = False,
    temperature: option.Temperature = 1.0,
    top_k: option.TopK = None,
    top_p: option.TopP = None,
    seed: option.Seed = 0,
    alignments: option.Alignments = False,
    scores: option.Scores = False,
    confidence: option.Confidence = False,
    flag_below: option.FlagBelow = None,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Translate lines of text. N lines in, N lines out.

    Added columns stand behind tabs. With --nbest above 1 every translation
    has a line of its own, which starts with the number of the source line.
    With --json every source line gives one object.

      echo "I am a student." | jumok translate runs/demo/model --alignments

      jumok translate runs/a/model,runs/b/model book.en --output book.ko
    """
    options = decoding_options(
        beam, nbest, length_penalty, minimum_length, maximum_length,
        sample, temperature, top_k, top_p, seed,
    )  # fmt: skip
    options = replace(options, coverage_penalty=coverage_penalty, no_repeat_ngram=no_repeat_ngram)
    translator = option.load_translator(model, device, precision, threads)
    if alignments:
        translator.check_alignments()
    check_output(output, file, glossary)
    typed = is_typed(file)
    translations = translator.translate_lines(
        read_lines(file), options, alignments=alignments, prefix=prefix,
        split=split, keep=kept(keep, no_keep), glossary=glossary,
        batch_size=1 if typed else batch, ahead=1 if typed else 16,
    )  # fmt: skip
    write = to_json if as_json else to_columns(nbest > 1, scores, alignments, confidence)
    with open_output(output) as stream:
        write_all(stream, translations, write, Flag(flag_below), typed)


def write_all(
    stream: TextIO,
    translations: "Iterable[Translation]",
    write: Callable[[int, "Translation"], str],
    flag: "Flag",
    at_once: bool,
) -> None:
    """Writes every line's translation, `at_once` as soon as it is there."""
    for number, translation in enumerate(counted(translations), start=1):
        stream.write(write(number, translation))
        flag.see(number, translation)
        if at_once:
            stream.flush()


def decoding_options(
    beam: int,
    nbest: int,
    length_penalty: float,
    minimum_length: int,
    maximum_length: int,
    sample: bool,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
) -> "DecodingOptions":
    """What the options of the command line say together.

    Raises:
        ConfigError: one is out of range, or they contradict each other.
    """
    if not sample and (temperature != 1.0 or top_k or top_p or seed):
        raise ConfigError(
            "--temperature, --top-k, --top-p and --seed say how to draw.",
            do="add --sample, or leave them out",
        )
    if not sample and nbest > beam >= 1:
        raise ConfigError(
            "a beam cannot give more translations than it keeps.",
            expected=f"--nbest {beam} or less",
            got=f"--nbest {nbest}",
            do=f"add --beam {nbest}",
        )
    from jumok.systems.translator import DEFAULTS

    return replace(
        DEFAULTS,
        beam=beam,
        nbest=nbest,
        length_penalty=length_penalty,
        minimum_length=minimum_length,
        maximum_length=maximum_length,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )


def kept(patterns: list[str] | None, nothing: bool) -> bool | list[str]:
    """What must come through, as `Translator.translate` takes it.

    Raises:
        ConfigError: patterns, and that nothing shall come through.
    """
    if nothing and patterns:
        raise ConfigError("--keep and --no-keep contradict each other.", do="leave one of them out")
    return patterns or not nothing


@dataclass
class Flag:
    """Names the lines on standard error that the model was less sure of than `below`."""

    below: float | None

    def see(self, number: int, translation: "Translation") -> None:
        """Says so if this line is one of them; a line without a word never is."""
        sure = translation.confidence
        if self.below is not None and sure is not None and sure < self.below:
            typer.echo(f"line {number}: confidence {sure:.3f}", err=True)


def to_json(number: int, translation: "Translation") -> str:
    """One object a source line; the numbers of lines count from 1."""
    return json.dumps({"line": number} | _facts(translation), ensure_ascii=False) + "\n"


def _facts(translation: "Translation") -> dict[str, Any]:
    facts = asdict(translation)
    alternatives = [_facts(other) for other in translation.alternatives]
    return facts | {"log_probability": translation.log_probability, "alternatives": alternatives}


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def to_columns(
    numbered: bool, scores: bool, alignments: bool, confidence: bool = False
) -> Callable[[int, "Translation"], str]:
    """A writer of tab-separated columns: number, text, score, confidence, alignment, as asked."""
    from jumok.inspection.alignment import pharaoh

    def write(number: int, translation: "Translation") -> str:
        lines = []
        for one in (translation, *translation.alternatives):
            columns = [str(number)] if numbered else []
            columns.append(one.text)
            columns += [f"{one.score:.4f}"] if scores else []
            columns += [_share(one.confidence)] if confidence else []
            columns += [pharaoh(one.alignment or ())] if alignments else []
            lines.append("\t".join(columns) + "\n")
        return "".join(lines)

    return write
