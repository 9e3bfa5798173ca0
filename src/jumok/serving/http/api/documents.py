"""Translation of documents: their texts wait in the model's queue as those of other requests do."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from jumok.decoding.options import DecodingOptions
from jumok.documents.process import DocumentQuestion
from jumok.serving.clients import ClientDisconnected
from jumok.serving.http.api.submit import (
    EngineAnswers,
    costs_of,
    deadline_of,
    disconnected,
    submit,
)
from jumok.serving.http.handlers import Required, TranslateHandler
from jumok.serving.http.models import ServedModel, loaded_system
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.requests import RequestContext
from jumok.systems.translation.translator import Translator


async def translate_documents(
    context: RequestContext,
    model: ServedModel,
    contents: Sequence[str],
    options: DecodingOptions,
    required: Callable[[ServedModel], Required],
    parameter: str,
    name: str | None = None,
    chosen: Callable[[str], ServedModel | None] | None = None,
) -> EngineAnswers:
    """Translates documents; the answers are as `contents`.

    Args:
        contents, name: as in `DocumentQuestion`.
        required: by the model.
        parameter: the field of the request that holds them.
        chosen: by their texts another model, or None: they stay as they are.

    Raises:
        DataError: one cannot be read.
        RequestRefused: one has too much in it, or there is no place for it.
        ClientDisconnected: the client has closed the connection.
    """
    system = loaded_system(model, Translator)
    languages = system.source_language, system.target_language
    question = DocumentQuestion(contents, languages, name)
    texts = [text for texts in await _asked(context, question) for text in texts]
    most = context.service.settings.limits.document_texts
    if len(texts) > most:
        text = f"A document has at most {most} texts, and this one has {len(texts)}."
        raise RequestRefused(400, "too_many_texts", text, parameter=parameter)
    other = model if chosen is None else chosen("\n".join(texts))
    if other is None:
        return EngineAnswers(list(contents), {}, set())
    if other is not model:
        return await translate_documents(
            context, other, contents, options, required, parameter, name
        )
    costs = costs_of(context.service, model, texts, parameter, options)
    answers = EngineAnswers([], {}, set())
    if texts:
        work = TranslateHandler(system, options, system.aligns, required(model))
        answers = await submit(context, model, work, [(text, "") for text in texts], costs)
    translations = [(each.text, each.alignment) for each in answers.answers]
    written = await _asked(context, replace(question, translations=translations))
    return replace(answers, answers=written)


async def _asked(context: RequestContext, question: DocumentQuestion) -> Any:
    """The answer of the process that reads documents."""
    asked = asyncio.ensure_future(context.service.reader.ask(question, deadline_of(context)))
    gone = asyncio.ensure_future(disconnected(context))
    try:
        await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            return asked.result()
        context.service.metrics.cancelled.inc()
        raise ClientDisconnected
    finally:
        asked.cancel()
        gone.cancel()
