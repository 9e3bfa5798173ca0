"""OpenAI's routes: completions of a language model, embeddings, and the list of models."""

import base64
import json
import secrets
import struct
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.responses import JSONResponse, Response, StreamingResponse

from jumok.decoding.options import (
    FOR_CONTINUATION,
    NOT_FOR_CONTINUATION,
    SAMPLING,
    DecodingOptions,
)
from jumok.options import options_of
from jumok.serving.http.api.submit import (
    check_count,
    check_texts,
    check_token_count,
    costs_of,
    deadline_of,
    decoding_fields,
    decoding_of,
    given_options,
    submit,
)
from jumok.serving.http.api.writing import TextsInWriting, collected
from jumok.serving.http.handlers import Continuation, EmbedHandler
from jumok.serving.http.models import ServedModel, Service, loaded_system
from jumok.serving.http.refusals import RequestRefused, invalid, openai_error
from jumok.serving.http.requests import RequestContext, route
from jumok.systems.base import Facts, System
from jumok.systems.embedding import Embedder, SourceReader

if TYPE_CHECKING:
    from jumok.systems.language_model import LanguageModel


OPENAI_TAG = "OpenAI"

FiniteNumber = Annotated[float, Field(allow_inf_nan=False)]
PromptInput = str | list[str] | list[int] | list[list[int]]
MOST_STOPS = 4
MOST_LOGPROBS = 5
SMALLEST_LOGPROB = -9999.0
"""What OpenAI's API sends for the logarithm of 0, since JSON has no infinity."""


class StreamOptions(BaseModel):
    """Whether the last event has the numbers of tokens."""

    include_usage: bool = False


Decoded: Any = create_model(
    "Decoded",
    __config__=ConfigDict(extra="forbid"),
    **decoding_fields(
        FOR_CONTINUATION, "sample", "temperature", "seed", "stop", *NOT_FOR_CONTINUATION
    ),
)


class CompletionRequest(Decoded):
    """A request for completions; fields that jumok does not know are refused, not ignored."""

    model: str | None = None
    prompt: PromptInput = ""
    max_tokens: Annotated[int | None, Field(ge=1)] = 16
    n: Annotated[int | None, Field(ge=1)] = 1
    best_of: int | None = None
    stop: str | list[str] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    echo: bool | None = False
    temperature: Annotated[FiniteNumber | None, Field(ge=0, le=100)] = 1.0
    seed: int | None = None
    logprobs: Annotated[int | None, Field(ge=0, le=MOST_LOGPROBS)] = None
    logit_bias: dict[str, float] | None = None
    suffix: str | None = None
    user: str | None = None


class EmbeddingRequest(BaseModel):
    """A request for embeddings."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    input: PromptInput
    encoding_format: str | None = "float"
    dimensions: int | None = None
    user: str | None = None


async def models(context: RequestContext) -> JSONResponse:
    """The models of this server."""
    served = context.service.models.values()
    return JSONResponse({"object": "list", "data": [_model_facts(model) for model in served]})


async def model(context: RequestContext) -> JSONResponse:
    """One of the models."""
    return JSONResponse(_model_facts(context.service.named(context.path_params["id"])))


def _model_facts(model: ServedModel) -> Facts:
    return {"id": model.id, "object": "model", "created": model.created, "owned_by": "jumok"}


async def chat(_: RequestContext) -> JSONResponse:
    """Refused: no bundle of jumok has a chat template."""
    raise invalid(
        "This model has no chat template, so it cannot answer messages: use /v1/completions with "
        "a prompt.",
        "messages",
    )


async def completions(context: RequestContext, asked: CompletionRequest) -> Response:
    """Texts that continue prompts, at once or as events while they are written."""
    service = context.service
    from jumok.systems.language_model import LanguageModel

    model = service.able(asked.model, [LanguageModel], "complete prompts")
    system = loaded_system(model, LanguageModel)
    _check_supported(asked)
    prompts = _prompts(service, system, asked.prompt, "prompt")
    count, most = asked.n or 1, service.settings.limits.alternatives
    if count > most:
        text = f"At most {most} texts are written for a prompt, and {count} were asked for."
        raise RequestRefused(400, "too_many_texts", text, parameter="n")
    check_count(service, len(prompts) * count, "prompt")
    texts = _continuations(service, system, asked, prompts)
    costs = [model.cost(each.prompt) + each.max_tokens for each in texts]
    check_token_count(service, sum(costs), "max_tokens")
    writing = TextsInWriting(context, model, texts, costs, deadline_of(context))
    reply = _Reply(model, asked, texts)
    if asked.stream:
        events = reply.events(context, writing)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)
    texts_written = await collected(context, writing)
    return JSONResponse(reply.whole(texts_written), headers={"Server-Timing": writing.timing})


def _check_supported(asked: CompletionRequest) -> None:
    """Refuses what would otherwise be ignored."""
    unsupported = {
        "logprobs with echo": asked.logprobs is not None and bool(asked.echo),
        "logprobs with beam": asked.logprobs is not None and (asked.beam or 1) > 1,
        "logit_bias": bool(asked.logit_bias),
        "suffix": bool(asked.suffix),
        "best_of": asked.best_of is not None and asked.best_of != (asked.n or 1),
    }
    for name, given in unsupported.items():
        if given:
            raise invalid(f"{name} is not supported by this server.", name.split(" ")[0])
    if isinstance(asked.stop, list) and len(asked.stop) > MOST_STOPS:
        raise invalid(f"stop has at most {MOST_STOPS} texts.", "stop")


def _prompts(service: Service, system: "LanguageModel", given: PromptInput, name: str) -> list[str]:
    """The prompts as texts; ids have to be the tokens of one."""
    texts: list[str] = []
    if isinstance(given, str):
        texts = [given]
    else:
        rows = [given] if given and isinstance(given[0], int) else given
        texts = [
            each if isinstance(each, str) else _decoded_prompt(system, each, name) for each in rows
        ]
    check_texts(service, texts, name)
    return texts


def _decoded_prompt(system: "LanguageModel", ids: object, name: str) -> str:
    known = isinstance(ids, list) and all(
        isinstance(each, int) and 0 <= each < system.tokenizer.size for each in ids
    )
    if not known or not isinstance(ids, list):
        size = system.tokenizer.size
        raise invalid(f"Ids of tokens are numbers from 0 to {size - 1}.", name)
    text = system.tokenizer.decode(ids)
    if list(system.tokenizer.encode(text)) != ids:  # bytes, special tokens, a text cut elsewhere
        raise invalid("These ids are not how this model's tokenizer writes a text.", name)
    return text


def _continuations(
    service: Service, system: "LanguageModel", asked: CompletionRequest, prompts: Sequence[str]
) -> list[Continuation]:
    """The texts to write, `n` for each prompt, each with a seed of its own."""
    seed = secrets.randbits(62) if asked.seed is None else asked.seed
    options = _options(service, asked)
    return [
        Continuation(
            system,
            prompt,
            replace(options, seed=(seed + number) % 2**64),
            asked.max_tokens or 16,
            top=asked.logprobs,
        )
        for prompt in prompts
        for number in range(asked.n or 1)
    ]


def _options(service: Service, asked: CompletionRequest) -> DecodingOptions:
    """The options of a request; with a temperature of 0 the others of sampling have no effect."""
    known, given = options_of(DecodingOptions), given_options(asked)
    if asked.temperature == 0:
        given = {
            name: value for name, value in given.items() if known[name].option.panel != SAMPLING
        }
    given.pop("seed", None)
    if stop := given.pop("stop", None):
        given["stop"] = (stop,) if isinstance(stop, str) else tuple(filter(None, stop))
    given["sample"] = asked.temperature != 0 and given.get("beam", 1) == 1
    return decoding_of(service, given, FOR_CONTINUATION)


class _Reply:
    """The bodies of the answer to one request."""

    def __init__(
        self, model: ServedModel, asked: CompletionRequest, texts: Sequence[Continuation]
    ) -> None:
        self.id, self.created = f"cmpl-{secrets.token_hex(12)}", int(time.time())
        self.model, self.asked, self.texts = model, asked, texts
        self._tokens = [_Tokens(text) for text in texts]

    def body(self, choices: Sequence[Facts]) -> Facts:
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model.id,
            "choices": list(choices),
        }

    def usage(self) -> Facts:
        tokenizer = self.texts[0].system.tokenizer
        each = self.asked.n or 1
        read = sum(len(tokenizer.encode(text.prompt)) for text in self.texts[::each])
        written = sum(text.tokens for text in self.texts)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        }

    def choice(
        self, number: int, text: str, ended: str | None, logprobs: Facts | None = None
    ) -> Facts:
        return {"index": number, "text": text, "logprobs": logprobs, "finish_reason": ended}

    def whole(self, texts: Sequence[str]) -> Facts:
        echoed = [text.prompt if self.asked.echo else "" for text in self.texts]
        choices = [
            self.choice(
                number, echoed[number] + written, text.ended, self._tokens[number].of(written)
            )
            for number, (text, written) in enumerate(zip(self.texts, texts, strict=True))
        ]
        return self.body(choices) | {"usage": self.usage()}

    async def events(self, context: RequestContext, writing: TextsInWriting) -> AsyncIterator[str]:
        """Server-sent events: the parts, the numbers of tokens where asked for, and [DONE]."""
        parts, ended = writing.parts(), False
        try:
            if self.asked.echo:
                for number, text in enumerate(self.texts):
                    yield _event(self.body([self.choice(number, text.prompt, None)]))
            async for number, part in parts:
                choice = self.choice(number, "", self.texts[number].ended)
                if part is not None:
                    choice = self.choice(number, part, None, self._tokens[number].of(part))
                yield _event(self.body([choice]))
            options = self.asked.stream_options
            if options is not None and options.include_usage:
                yield _event(self.body([]) | {"usage": self.usage()})
            ended = True
        except RequestRefused as refused:
            ended = True
            yield _event({"error": openai_error(refused)})
        finally:
            writing.drop()
            if not ended:
                context.service.metrics.cancelled.inc()
        yield "data: [DONE]\n\n"


class _Tokens:
    """The tokens of a text, which are handed over with the parts that they begin in."""

    def __init__(self, text: Continuation) -> None:
        self._text, self._handed, self._length = text, 0, 0

    def of(self, part: str) -> Facts | None:
        """The tokens of the next part; those after a text of `stop` are in no part.

        None: log-probabilities are not asked for.
        """
        if self._text.top is None:
            return None
        self._length += len(part)
        new = self._text.steps[self._handed :]  # the engine may be ahead of this part
        kept = [each for each in new if each.offset < self._length]
        self._handed += len(kept)
        return {
            "tokens": [each.text for each in kept],
            "token_logprobs": [max(each.log_probability, SMALLEST_LOGPROB) for each in kept],
            "top_logprobs": [
                {name: max(value, SMALLEST_LOGPROB) for name, value in each.top.items()}
                for each in kept
            ],
            "text_offset": [each.offset for each in kept],
        }


def _event(body: Facts) -> str:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


async def embeddings(context: RequestContext, asked: EmbeddingRequest) -> JSONResponse:
    """Texts as vectors."""
    service = context.service
    if asked.encoding_format not in (None, "float", "base64"):
        raise invalid("encoding_format is float or base64.", "encoding_format")
    given = [asked.input] if isinstance(asked.input, str) else asked.input
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) != len(given):
        raise invalid("input is a text or an array of texts, not ids of tokens.", "input")
    check_texts(service, texts, "input")
    from jumok.systems.masked_model import MaskedModel

    model = service.able(asked.model, [SourceReader, MaskedModel], "embed texts")
    system = loaded_system(model, System)
    assert isinstance(system, Embedder)
    costs = costs_of(service, model, texts, "input")
    engine_answers = await submit(context, model, EmbedHandler(system), texts, costs)
    width = len(engine_answers.answers[0])
    if asked.dimensions not in (None, width):
        text = f"The vectors of this model have {width} dimensions; others are not supported."
        raise invalid(text, "dimensions")
    data = [
        {"object": "embedding", "index": number, "embedding": _vector_json(vector, asked)}
        for number, vector in enumerate(engine_answers.answers)
    ]
    tokens = sum(costs)
    body = {"object": "list", "data": data, "model": model.id}
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse(body | {"usage": usage}, headers={"Server-Timing": engine_answers.timing})


def _vector_json(vector: list[float], asked: EmbeddingRequest) -> list[float] | str:
    """The numbers, or as base64 of little-endian float32, which OpenAI's client asks for."""
    if asked.encoding_format != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


OPENAI_ROUTES = [
    route(["GET"], "/v1/models", models, OPENAI_TAG),
    route(["GET"], "/v1/models/{id}", model, OPENAI_TAG),
    route(["POST"], "/v1/chat/completions", chat, OPENAI_TAG),
    route(["POST"], "/v1/completions", completions, OPENAI_TAG, {"language-model"}),
    route(["POST"], "/v1/embeddings", embeddings, OPENAI_TAG, {"translation", "masked-lm"}),
]
