"""OpenAI's routes: texts of a language model, embeddings, and the list of models."""

import asyncio
import base64
import secrets
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response, StreamingResponse

from jumok.decoding.options import (
    FOR_CONTINUATION,
    SAMPLING,
    DecodingOptions,
)
from jumok.errors import ConfigError
from jumok.options import options_of
from jumok.serving.http.api.openai_texts import (
    ChatReply,
    ChatRequest,
    CompletionRequest,
    PromptInput,
    TextReply,
    TextRequest,
)
from jumok.serving.http.api.submit import (
    check_count,
    check_texts,
    check_token_count,
    costs_of,
    deadline_of,
    decoding_of,
    given_options,
    submit,
)
from jumok.serving.http.api.writing import TextsInWriting, collected
from jumok.serving.http.handlers import Continuation, EmbedHandler
from jumok.serving.http.models import ServedModel, Service, loaded_system
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.requests import RequestContext, route
from jumok.systems.base import Facts, System
from jumok.systems.conversation import Conversation
from jumok.systems.embedding import Embedder, SourceReader

if TYPE_CHECKING:
    from jumok.systems.language_model import LanguageModel


OPENAI_TAG = "OpenAI"

MOST_STOPS = 4


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


async def completions(context: RequestContext, asked: CompletionRequest) -> Response:
    """Texts that continue prompts, at once or as events while they are written."""
    service = context.service
    from jumok.systems.language_model import LanguageModel

    model = service.able(asked.model, [LanguageModel], "complete prompts")
    system = loaded_system(model, LanguageModel)
    _check_supported(asked)
    prompts, count = _prompts(service, system, asked.prompt, "prompt"), _count(service, asked)
    check_count(service, len(prompts) * count, "prompt")
    most_tokens = asked.max_tokens or 16
    texts = _continuations(service, system, asked, prompts, most_tokens)
    costs = [model.cost(prompt) + most_tokens for prompt in prompts for _ in range(count)]
    reply = TextReply(model, asked, texts)
    return await _written(context, asked, reply, costs)


async def chat(context: RequestContext, asked: ChatRequest) -> Response:
    """Answers to messages, by the model's chat template."""
    service = context.service
    from jumok.systems.language_model import LanguageModel

    model = service.able(asked.model, [LanguageModel], "answer messages")
    system = loaded_system(model, LanguageModel)
    messages = [each.model_dump() for each in asked.messages]
    check_texts(service, [each["content"] for each in messages], "messages")
    count = _count(service, asked)
    try:
        conversation = await asyncio.to_thread(system.conversation, messages)
    except ConfigError as error:
        raise invalid(" ".join(filter(None, (error.what, error.got))), "messages") from None
    most_tokens = asked.max_completion_tokens or asked.max_tokens or 256
    texts = _continuations(service, system, asked, [conversation], most_tokens)
    costs = [len(conversation.tokens) + most_tokens] * count
    return await _written(context, asked, ChatReply(model, asked, texts), costs)


def _count(service: Service, asked: TextRequest) -> int:
    """How many texts are written for a prompt."""
    count, most = asked.n or 1, service.settings.limits.alternatives
    if count > most:
        text = f"At most {most} texts are written for a prompt, and {count} were asked for."
        raise RequestRefused(400, "too_many_texts", text, parameter="n")
    return count


async def _written(
    context: RequestContext, asked: TextRequest, reply: TextReply, costs: Sequence[int]
) -> Response:
    """The texts, at once or as events."""
    check_token_count(context.service, sum(costs), "max_tokens")
    writing = TextsInWriting(context, reply.model, reply.texts, costs, deadline_of(context))
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
    service: Service,
    system: "LanguageModel",
    asked: TextRequest,
    prompts: Sequence[str | Conversation],
    most_tokens: int,
) -> list[Continuation]:
    """The texts to write, `n` for each prompt, each with a seed of its own."""
    seed = secrets.randbits(62) if asked.seed is None else asked.seed
    options = _options(service, asked)
    return [
        Continuation(
            system,
            prompt,
            replace(
                options,
                seed=(seed + number) % 2**64,
                stop=(*options.stop, *([] if isinstance(prompt, str) else prompt.stop)),
            ),
            most_tokens,
            top=getattr(asked, "logprobs", None),
        )
        for prompt in prompts
        for number in range(asked.n or 1)
    ]


def _options(service: Service, asked: TextRequest) -> DecodingOptions:
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
    route(["POST"], "/v1/chat/completions", chat, OPENAI_TAG, {"language-model"}),
    route(["POST"], "/v1/completions", completions, OPENAI_TAG, {"language-model"}),
    route(["POST"], "/v1/embeddings", embeddings, OPENAI_TAG, {"translation", "masked-lm"}),
]
