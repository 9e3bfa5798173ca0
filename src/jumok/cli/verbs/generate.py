"""`jumok generate`: text from a language model."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from jumok.cli import options as option
from jumok.cli.output.cells import JSON, form_of
from jumok.cli.output.streams import open_output, read_lines
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok import decoding
    from jumok.systems import language_model as systems_language_model

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.systems.device import EngineName, EnginePrecision
    from jumok.systems.language_model import LanguageModel

BETWEEN = "-" * 20

Prompt = Annotated[str, typer.Argument(help="The beginning of the text; - reads it from stdin.")]
MaximumTokens = Annotated[
    int,
    typer.Option("--max-tokens", min=1, max=option.MOST, help="Maximum output length in tokens."),
]
Samples = Annotated[int, typer.Option(min=1, max=option.MOST, help="Number of texts to sample.")]
Greedy = Annotated[
    bool, typer.Option("--greedy", help="Greedy decoding: always the most probable token.")
]
Beam = Annotated[
    int,
    typer.Option("--beam", "-b", min=1, max=1000, help="Beam size; 1 = sampling."),
]

FrequencyPenalty = Annotated[
    float,
    typer.Option(
        help="Lower the score of a token by this for each time that it was written (-2 to 2).",
        rich_help_panel=option.SAMPLING,
    ),
]
PresencePenalty = Annotated[
    float,
    typer.Option(
        help="Lower the score of a token by this if it was written before (-2 to 2).",
        rich_help_panel=option.SAMPLING,
    ),
]


def generate(
    model: option.OneModel,
    prompt: Prompt = "",
    max_tokens: MaximumTokens = 500,
    samples: Samples = 1,
    greedy: Greedy = False,
    beam: Beam = 1,
    no_repeat_ngram: option.NoRepeatNgram = 0,
    temperature: option.Temperature = 1.0,
    top_k: option.TopK = None,
    top_p: option.TopP = None,
    min_p: option.MinP = None,
    frequency_penalty: FrequencyPenalty = 0.0,
    presence_penalty: PresencePenalty = 0.0,
    seed: option.Seed = 0,
    as_json: option.Json = False,
    output: option.Output = None,
    device: option.Device = "auto",
    engine: option.WritingEngine = "auto",
    precision: option.EnginePrecision = "auto",
    threads: option.Threads = 0,
) -> None:
    """Continue a prompt, and print the text while it is generated.

    Without a prompt, generation starts from scratch. Text longer than the
    model's context is read in a sliding window: when it is full, its older
    half is dropped. With --json every text is one object, printed when the
    text is complete.

      jumok generate runs/shakespeare/model "ROMEO:" --temperature 0.8
    """
    searched = greedy or beam > 1
    if searched and (samples > 1 or temperature != 1.0 or top_k or top_p or min_p or seed):
        raise ConfigError(
            "--samples, --temperature, --top-k, --top-p, --min-p and --seed need sampling, not a "
            "search.",
            do="leave them out, or leave out --greedy and --beam",
        )
    if greedy and beam > 1:
        raise ConfigError("--greedy means beam size 1.", got=f"--beam {beam}", do="choose one")
    options = decoding.DecodingOptions(
        beam=beam,
        sample=not searched,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        no_repeat_ngram=no_repeat_ngram,
    )
    form_of(output, as_json, (".txt", *JSON))
    system = load_writer(model, device, engine, precision, threads)
    prompt = read_prompt(prompt)
    say_what_is_forgotten(system, prompt)
    with open_output(output) as stream:
        for number in range(samples):
            drawn = replace(options, seed=(seed + number) % 2**63)
            pieces = system.generate(prompt, drawn, max_tokens=max_tokens)
            if as_json:
                stream.write(to_json(prompt, "".join(pieces), drawn))
                stream.flush()
            else:
                write_text(stream, f"{BETWEEN}\n{prompt}" if number else prompt, pieces)


def load_writer(
    model: str, device: str, engine: "EngineName", precision: "EnginePrecision", threads: int
) -> "LanguageModel":
    """Loads a language model on the given engine."""
    option.use_threads(threads)
    opened = option.open_models(model)
    opened.check_verb("generate")
    system = opened.load(device, precision, engine, threads)
    assert isinstance(system, systems_language_model.LanguageModel)
    return system


def write_text(stream: TextIO, begin: str, pieces: Iterator[str]) -> None:
    """Writes one text token by token."""
    stream.write(begin)
    for piece in pieces:
        stream.write(piece)
        stream.flush()
    stream.write("\n")


def to_json(prompt: str, text: str, options: "DecodingOptions") -> str:
    """One JSON object a text; it has a seed if the text was sampled."""
    facts: dict[str, str | int] = {"prompt": prompt, "text": text}
    if options.sample:
        facts["seed"] = options.seed
    return json.dumps(facts, ensure_ascii=False) + "\n"


def read_prompt(given: str) -> str:
    """The prompt; "-" reads standard input, without its final line break.

    Raises:
        DataError: the text from standard input is not UTF-8.
        ConfigError: the prompt on the command line is not UTF-8.
    """
    if given == "-":
        return "\n".join(read_lines(None))
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            "the prompt is not valid UTF-8.",
            got=ascii(given),
            do="convert it, for example: iconv -f LATIN1 -t UTF-8",
        ) from None
    return given


def say_what_is_forgotten(system: "LanguageModel", prompt: str) -> None:
    """Warns on stderr if the prompt is longer than the context."""
    tokens = len(system.tokenizer.encode(prompt))
    if tokens >= system.context:
        typer.echo(
            f"the prompt has {tokens:,} tokens and the context of the model {system.context:,}: "
            "only the end of the prompt is used",
            err=True,
        )
