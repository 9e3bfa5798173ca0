"""`jumok generate`: text from a language model."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import LARGEST_COUNT, EngineMachine, OneModel, Output, Without, typer_option
from jumok.cli.output.cells import JSON, form_of
from jumok.cli.output.streams import input_lines, open_output
from jumok.data.files.encoding import conversion
from jumok.decoding.options import FOR_CONTINUATION, NOT_FOR_CONTINUATION, DecodingOptions
from jumok.errors import ConfigError
from jumok.options import options_of

if TYPE_CHECKING:
    from jumok.systems.conversation import Conversation
    from jumok.systems.language_model import LanguageModel

BETWEEN = "-" * 20


def generate(
    model: OneModel,
    prompt: Annotated[
        str, typer.Argument(help="Beginning of the text; - reads it from stdin.")
    ] = "",
    max_tokens: Annotated[
        int,
        typer.Option(
            "--max-tokens", min=1, max=LARGEST_COUNT, help="Maximum output length in tokens."
        ),
    ] = 500,
    samples: Annotated[
        int, typer.Option(min=1, max=LARGEST_COUNT, help="Number of texts to sample.")
    ] = 1,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Greedy decoding: always the most probable token.")
    ] = False,
    beam: Annotated[
        int, typer_option(options_of(DecodingOptions)["beam"], "Beam size; 1 = sampling.")
    ] = 1,
    chat: Annotated[
        bool,
        typer.Option(
            "--chat", help="Answer the prompt as a chat message, with the model's chat template."
        ),
    ] = False,
    *,
    decoding: Annotated[
        DecodingOptions, FOR_CONTINUATION, Without("beam", "sample", *NOT_FOR_CONTINUATION)
    ],
    written: Annotated[Output, Output()],
    machine: Annotated[EngineMachine, EngineMachine(), Without("batch")],
) -> None:
    """Continue a prompt, and print the text as it is generated.

    Without a prompt, the model starts from scratch. A text longer than the
    context of the model is read in a sliding window: when the window is full,
    its older half is dropped. With --json, each text is one object, printed
    when the text is complete.

      jumok generate runs/shakespeare/model "ROMEO:" --temperature 0.8
      jumok generate smollm2 --chat "What is a lighthouse?" --greedy
    """
    if greedy and beam > 1:
        raise ConfigError("--greedy means beam size 1.", got=f"--beam {beam}", do="choose one")
    searched = greedy or beam > 1
    if searched and samples > 1:
        raise ConfigError(
            "--samples needs sampling, not a search.",
            do="leave it out, or leave out --greedy and --beam",
        )
    if chat and beam > 1:
        raise ConfigError("--chat needs --greedy or sampling.", got=f"--beam {beam}")
    options = decoding.changed({"beam": beam, "sample": not searched})
    output, as_json = written.output, written.as_json
    form_of(output, as_json, (".txt", *JSON))
    system: LanguageModel = machine.load(model, "generate")
    prompt = _read_prompt(prompt)
    given = system.conversation([{"role": "user", "content": prompt}]) if chat else prompt
    _say_what_is_forgotten(system, given)
    from jumok.systems.conversation import text_before

    with open_output(output) as stream:
        for number in range(samples):
            drawn = options.seeded(number)
            tokens = system.generate(given, drawn, max_tokens=max_tokens)
            if as_json:
                seed = {"seed": drawn.seed} if drawn.sample else {}
                facts: dict[str, object] = {"prompt": prompt, "text": "".join(tokens), **seed}
                stream.write(json.dumps(facts, ensure_ascii=False) + "\n")
                stream.flush()
                continue
            stream.write((f"{BETWEEN}\n" if number else "") + text_before(given))
            for token in tokens:
                stream.write(token)
                stream.flush()
            stream.write("\n")


def _read_prompt(given: str) -> str:
    """The prompt; "-" reads standard input, without its final line break."""
    if given == "-":
        return "\n".join(input_lines(None))
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            "the prompt is not valid UTF-8.",
            got=ascii(given),
            do=conversion(given.encode("utf-8", "surrogateescape")),
        ) from None
    return given


def _say_what_is_forgotten(system: "LanguageModel", prompt: "str | Conversation") -> None:
    read = system.tokenizer.encode(prompt) if isinstance(prompt, str) else prompt.tokens
    tokens = len(read)
    if tokens >= system.context:
        typer.echo(
            f"the prompt has {tokens:,} tokens and the context of the model {system.context:,}: "
            "only the end of the prompt is used",
            err=True,
        )
