"""The requests of OpenAI's API for texts, and the bodies of their answers."""

import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from jumok.decoding.options import FOR_CONTINUATION, NOT_FOR_CONTINUATION
from jumok.serving.http.api.submit import decoding_fields
from jumok.serving.http.api.writing import TextsInWriting
from jumok.serving.http.handlers import Continuation
from jumok.serving.http.models import ServedModel
from jumok.serving.http.refusals import RequestRefused, openai_error
from jumok.serving.http.requests import RequestContext
from jumok.systems.base import Facts
from jumok.systems.conversation import text_before

FiniteNumber = Annotated[float, Field(allow_inf_nan=False)]
PromptInput = str | list[str] | list[int] | list[list[int]]
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


class TextRequest(Decoded):
    """What both requests for texts have; fields that jumok does not know are refused, not
    ignored.
    """

    model: str | None = None
    max_tokens: Annotated[int | None, Field(ge=1)] = 16
    n: Annotated[int | None, Field(ge=1)] = 1
    stop: str | list[str] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[FiniteNumber | None, Field(ge=0, le=100)] = 1.0
    seed: int | None = None
    user: str | None = None


class CompletionRequest(TextRequest):
    """A request for completions."""

    prompt: PromptInput = ""
    best_of: int | None = None
    echo: bool | None = False
    logprobs: Annotated[int | None, Field(ge=0, le=MOST_LOGPROBS)] = None
    logit_bias: dict[str, float] | None = None
    suffix: str | None = None


class ChatMessage(BaseModel):
    """A turn of a conversation."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str


class ChatRequest(TextRequest):
    """A request for answers to a conversation."""

    messages: list[ChatMessage]
    max_tokens: Annotated[int | None, Field(ge=1)] = 256
    max_completion_tokens: Annotated[int | None, Field(ge=1)] = None


class TextReply:
    """The bodies of the answer to one request."""

    kind, name = "text_completion", "cmpl"

    def __init__(
        self, model: ServedModel, asked: TextRequest, texts: Sequence[Continuation]
    ) -> None:
        self.id, self.created = f"{self.name}-{secrets.token_hex(12)}", int(time.time())
        self.echo = bool(getattr(asked, "echo", False))
        self.model, self.asked, self.texts = model, asked, texts
        self._tokens = [_Tokens(text) for text in texts]

    def body(self, choices: Sequence[Facts]) -> Facts:
        """An answer or an event with these choices."""
        return {
            "id": self.id,
            "object": self.kind,
            "created": self.created,
            "model": self.model.id,
            "choices": list(choices),
        }

    def usage(self) -> Facts:
        """The numbers of tokens."""
        each = self.asked.n or 1
        read = sum(text.prompt_tokens for text in self.texts[::each])
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

    def part(
        self, number: int, text: str, ended: str | None, logprobs: Facts | None = None
    ) -> Facts:
        """A choice in an event."""
        return self.choice(number, text, ended, logprobs)

    def whole(self, texts: Sequence[str]) -> Facts:
        """The answer with all that was written."""
        echoed = [text_before(text.prompt) if self.echo else "" for text in self.texts]
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
            if self.echo:
                for number, text in enumerate(self.texts):
                    yield _event(self.body([self.choice(number, text_before(text.prompt), None)]))
            async for number, part in parts:
                choice = self.part(number, "", self.texts[number].ended)
                if part is not None:
                    choice = self.part(number, part, None, self._tokens[number].of(part))
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


class ChatReply(TextReply):
    """The bodies of the answer to a conversation."""

    kind, name = "chat.completion", "chatcmpl"

    def body(self, choices: Sequence[Facts]) -> Facts:
        events = {"object": f"{self.kind}.chunk"} if self.asked.stream else {}
        return super().body(choices) | events

    def choice(
        self, number: int, text: str, ended: str | None, logprobs: Facts | None = None
    ) -> Facts:
        said = {"role": "assistant", "content": text}
        return {"index": number, "message": said, "logprobs": logprobs, "finish_reason": ended}

    def part(
        self, number: int, text: str, ended: str | None, logprobs: Facts | None = None
    ) -> Facts:
        choice = self.choice(number, text, ended, logprobs)
        return choice | {"delta": choice.pop("message")}


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
