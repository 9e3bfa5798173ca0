"""LibreTranslate's routes: what its clients send and read.

Source: LibreTranslate 1.9.6, `libretranslate/app.py`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pydantic import ValidationError, create_model
from starlette.responses import JSONResponse, Response

from jumok.data.files.formats import KIND_OF_SUFFIX
from jumok.decoding.options import FOR_TRANSLATION, ONLY_FOR_CONTINUATION, DecodingOptions
from jumok.documents.catalog import FORMATS, MARKDOWN
from jumok.serving.http.api.documents import translate_documents
from jumok.serving.http.api.forms import SentFile, fields_of, unified
from jumok.serving.http.api.languages import (
    AUTO,
    DetectedLanguage,
    likely_languages,
    reading_of,
)
from jumok.serving.http.api.required import required_in
from jumok.serving.http.api.submit import (
    EngineAnswers,
    check_texts,
    costs_of,
    decoding_fields,
    decoding_of,
    given_options,
    submit,
)
from jumok.serving.http.handlers import Required, TranslateHandler
from jumok.serving.http.models import ServedModel, Service, language_named, loaded_system
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.requests import RequestContext, route
from jumok.systems.language_names import name_of
from jumok.systems.translation.result import Translation, noted
from jumok.systems.translation.translator import Translator

LIBRETRANSLATE_TAG = "LibreTranslate"
DOCUMENT_SUFFIXES = (
    ".txt",
    *MARKDOWN,
    *sorted(f".{suffix}" for suffix, kind in KIND_OF_SUFFIX.items() if kind in FORMATS),
)
"""The files that are translated, by their usual names."""

ALIASES = {"pb": "pt", "zt": "zh"}


class Ranked(NamedTuple):
    """The translations of a text, best first, and what is odd about the best, as codes."""

    texts: list[str]
    notes: tuple[str, ...] = ()


DecodingFields = create_model(
    "DecodingFields", **decoding_fields(FOR_TRANSLATION, "nbest", *ONLY_FOR_CONTINUATION)
)


async def translate(context: RequestContext) -> JSONResponse:
    """Translate a text, or an array of texts."""
    fields = fields_of(context)
    service = context.service
    q = fields.get("q")
    texts = _texts_of(service, q)
    source, target = (code_of(service, fields, name) for name in SIDES)
    alternatives = _alternatives(service, fields.get("alternatives", 0))
    options = options_in(service, fields, alternatives)
    form = fields.get("format") or "text"
    if form not in ("text", "html"):
        raise invalid(f"{str(form)[:20]} format is not supported: expected text or html", "format")
    readings = _readings(service, texts, source, target)

    async def translated(model: ServedModel, asked: list[str]) -> EngineAnswers:
        write = _html_texts if form == "html" else _plain_texts
        return await write(context, model, asked, options, partial(required_in, fields))

    engine_answers = await _by_model(readings, texts, translated)
    ranked: list[Ranked] = engine_answers.answers
    columns: dict[str, list[object]] = {"translatedText": [each.texts[0] for each in ranked]}
    if source == AUTO:
        columns["detectedLanguage"] = [each.detected for each in readings]
        columns["unchanged"] = [each.model is None for each in readings]
    if alternatives and form == "text":
        columns["alternatives"] = [each.texts[1:] for each in ranked]
    if any(each.notes for each in ranked):
        columns["notes"] = [each.notes for each in ranked]
    many = isinstance(q, list)
    body = {name: values if many else values[0] for name, values in columns.items()}
    return JSONResponse(body, headers={"Server-Timing": engine_answers.timing})


def _readings(
    service: Service, texts: Sequence[str], source: str, target: str
) -> list[DetectedLanguage]:
    """What translates each text, and from which language.

    Raises:
        RequestRefused: nothing does.
    """
    into = service.translators(target)
    if source == AUTO and into:
        return [reading_of(text, into) for text in texts]
    model = None if source == target else model_for(service, source, target)
    return [DetectedLanguage(source, 100.0, model)] * len(texts)


async def _by_model(
    readings: Sequence[DetectedLanguage],
    texts: Sequence[str],
    translated: Callable[[ServedModel, list[str]], Awaitable[EngineAnswers]],
) -> EngineAnswers:
    """The translations of each text, best first, by its model; without one, the text itself."""
    answers = [Ranked([text]) for text in texts]
    seconds, engines = Counter[str](), set[str]()
    its = [each.model for each in readings if each.model is not None]
    models = {(model.id, model.languages): model for model in its}
    for model in models.values():
        rows = [row for row, each in enumerate(readings) if each.model is model]
        done = await translated(model, [texts[row] for row in rows])
        for row, ranked in zip(rows, done.answers, strict=True):
            answers[row] = ranked
        seconds.update(done.seconds)
        engines |= done.engines
    return EngineAnswers(answers, seconds, engines)


def _texts_of(service: Service, q: object) -> list[str]:
    given = q if isinstance(q, list) else [q]
    if q is None or q == "" or q == []:
        raise invalid("Invalid request: missing q parameter", "q")
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        raise invalid("Invalid request: q is a text or an array of texts", "q")
    check_texts(service, texts, "q")
    return texts


def options_in(
    service: Service, fields: Mapping[str, object], alternatives: int = 0
) -> DecodingOptions:
    """The options of decoding among the fields, which a form has as texts.

    Raises:
        ConfigError: they contradict each other.
        RequestRefused: one is out of range.
    """
    named = {name: fields[name] for name in DecodingFields.model_fields if name in fields}
    try:
        asked = DecodingFields.model_validate(named)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise invalid(f"Invalid request: {name}: {first['msg']}", name) from None
    return decoding_of(service, given_options(asked), FOR_TRANSLATION, alternatives)


SIDES = ("source", "target")


def code_of(service: Service, fields: Mapping[str, object], name: str) -> str:
    """The language, as it is called here; raises RequestRefused: it is missing, or may be any of
    several."""
    code = fields.get(name)
    if not isinstance(code, str) or not code:
        raise invalid(f"Invalid request: missing {name} parameter", name)
    named = ALIASES.get(code.lower(), code)
    return language_named(service.translators(), SIDES.index(name), named, name)


def _alternatives(service: Service, given: object) -> int:
    try:
        count = int(str(given or 0))
    except ValueError:
        count = -1
    most = service.settings.limits.alternatives
    if not 0 <= count <= most:
        text = f"Invalid request: alternatives is a number from 0 to {most}"
        raise invalid(text, "alternatives")
    return count


def model_for(service: Service, source: str, target: str) -> ServedModel:
    """Raises RequestRefused: there is none."""
    for model in service.translators(target):
        if model.languages == (source, target):
            return model
    models = service.translators()
    sources = {model.languages[0] for model in models}
    unknown = source if source not in sources else target
    raise invalid(f"{unknown[:20]} is not supported", "source" if unknown == source else "target")


async def _plain_texts(
    context: RequestContext,
    model: ServedModel,
    texts: Sequence[str],
    options: DecodingOptions,
    required: Callable[[ServedModel], Required],
) -> EngineAnswers:
    """The translations of each text, line by line; the n-th best has the n-th best of each line."""
    nbest = options.nbest
    system = loaded_system(model, Translator)
    work = TranslateHandler(system, options, required=required(model))
    lines = [line for text in texts for line in unified(text).split("\n") if line.strip()]
    costs = costs_of(context.service, model, lines, "q", options)
    if lines:
        engine_answers = await submit(context, model, work, [(line, "") for line in lines], costs)
    else:
        engine_answers = EngineAnswers([], {}, set())
    translations = iter(engine_answers.answers)
    written: list[Ranked] = []
    for text in texts:
        best = [
            next(translations) if line.strip() else Translation("")
            for line in unified(text).split("\n")
        ]
        of_lines = [_ranked(each, nbest) for each in best]
        joined = ("\n".join(each) for each in zip(*of_lines, strict=True))
        written.append(Ranked(list(dict.fromkeys(joined)), noted(best)))
    return replace(engine_answers, answers=written)


def _ranked(best: Translation, count: int) -> list[str]:
    """The translations of a line, best first, the last one repeated where there are fewer."""
    texts = [best.text, *(each.text for each in best.alternatives)][:count]
    return texts + [texts[-1]] * (count - len(texts))


async def _html_texts(
    context: RequestContext,
    model: ServedModel,
    texts: Sequence[str],
    options: DecodingOptions,
    required: Callable[[ServedModel], Required],
) -> EngineAnswers:
    done = await translate_documents(context, model, texts, options, required, "q")
    return replace(done, answers=[Ranked([each]) for each in done.answers])


async def detect(context: RequestContext) -> JSONResponse:
    """The languages that the texts may be in, at most three, and how probable each is."""
    fields = fields_of(context)
    service = context.service
    texts = _texts_of(service, fields.get("q"))
    known = list(dict.fromkeys(code for each in service.translators() for code in each.languages))
    likely = likely_languages(" ".join(texts), known)[:3]
    unknown = "en" if "en" in known or not known else known[0]
    return JSONResponse([DetectedLanguage(*each).detected for each in likely or [(unknown, 0.0)]])


async def languages(context: RequestContext) -> JSONResponse:
    """The languages, and into which each can be translated."""
    targets: dict[str, set[str]] = {}
    for model in context.service.translators():
        source, target = model.languages
        targets.setdefault(source, {source}).add(target)
        targets.setdefault(target, {target})
    return JSONResponse(
        [
            {"code": code, "name": name_of(code), "targets": sorted(into)}
            for code, into in sorted(targets.items())
        ]
    )


async def frontend_settings(context: RequestContext) -> JSONResponse:
    """The settings that front ends ask for."""
    service = context.service
    pairs = [model.languages for model in service.translators()]
    target = pairs[0][1] if pairs else ""
    keys = bool(service.settings.keys)
    return JSONResponse(
        {
            "charLimit": -1,
            "frontendTimeout": 500,
            "apiKeys": keys,
            "keyRequired": keys,
            "suggestions": False,
            "filesTranslation": service.downloads.on,
            "supportedFilesFormat": list(DOCUMENT_SUFFIXES) if service.downloads.on else [],
            "language": {
                "source": {"code": AUTO, "name": "Auto Detect"},
                "target": {"code": target, "name": name_of(target)},
            },
        }
    )


async def suggest(_: RequestContext) -> JSONResponse:
    """Suggestions are not taken."""
    raise RequestRefused(403, "suggestions_off", "Suggestions are disabled on this server.")


async def health(context: RequestContext) -> JSONResponse:
    """Whether the server can answer."""
    if not context.service.ready:
        raise RequestRefused(503, "not_ready", "The server is not ready.", retry_after=1)
    return JSONResponse({"status": "ok"})


async def live(_: RequestContext) -> JSONResponse:
    """Whether the process is there."""
    return JSONResponse({"status": "ok"})


async def ready(context: RequestContext) -> JSONResponse:
    """Whether the server can answer."""
    return await health(context)


async def translate_file(context: RequestContext) -> JSONResponse:
    """Translate a document; the answer says where its translation is for ten minutes."""
    fields = fields_of(context)
    service = context.service
    file = fields.get("file")
    if not isinstance(file, SentFile) or not file.content:
        raise invalid("Invalid request: missing file parameter", "file")
    source, target = (code_of(service, fields, name) for name in SIDES)
    options = options_in(service, fields)
    into = service.translators(target) if source == AUTO else []
    model = into[0] if into else model_for(service, source, target)

    def chosen(text: str) -> ServedModel | None:
        return reading_of(text, into).model if into else model

    required = partial(required_in, fields)
    content = file.content.decode("latin-1")
    engine_answers = await translate_documents(
        context, model, [content], options, required, "file", file.name, chosen
    )
    (written,) = engine_answers.answers
    known = service.downloads.keep(file.name, written.encode("latin-1"))
    body: dict[str, object] = {"translatedFileUrl": f"{context.public_url}download_file/{known}"}
    if into:
        body["unchanged"] = written == content
    return JSONResponse(body, headers={"Server-Timing": engine_answers.timing})


async def download_file(context: RequestContext) -> Response:
    """The translation of a document."""
    name = context.path_params["name"]
    content = context.service.downloads.read(name)
    headers = {
        "Content-Disposition": f'attachment; filename="{name.partition(".")[2]}"',
        "Cache-Control": "no-store",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)


LIBRETRANSLATE_ROUTES = [
    route(["POST"], "/translate", translate, LIBRETRANSLATE_TAG, {"translation"}),
    route(["POST"], "/translate_file", translate_file, LIBRETRANSLATE_TAG, {"translation"}),
    route(["GET"], "/download_file/{name}", download_file, LIBRETRANSLATE_TAG),
    route(["POST"], "/detect", detect, LIBRETRANSLATE_TAG),
    route(["GET", "POST"], "/languages", languages, LIBRETRANSLATE_TAG),
    route(["GET"], "/frontend/settings", frontend_settings, LIBRETRANSLATE_TAG),
    route(["POST"], "/suggest", suggest, LIBRETRANSLATE_TAG),
    route(["GET"], "/health", health, LIBRETRANSLATE_TAG),
    route(["GET"], "/health/live", live, LIBRETRANSLATE_TAG),
    route(["GET"], "/health/ready", ready, LIBRETRANSLATE_TAG),
]
