"""LibreTranslate's routes: what its clients send and read.

Source: LibreTranslate 1.9.6, `libretranslate/app.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from jumok.serving.http.dialects.asking import (
    Answered,
    answered,
    check_count,
    check_tokens,
    check_whole,
    deadline_of,
    service_of,
)
from jumok.serving.http.dialects.forms import fields_of, unified
from jumok.serving.http.dialects.scripts import has_letters, likely_languages, name_of
from jumok.serving.http.models import ServedModel, Service, loaded
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.works import Translating, TranslatingPages
from jumok.systems.languages import language_code
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

router = APIRouter(tags=["LibreTranslate"])
SUFFIXES = (".txt", ".html", ".md", ".docx", ".srt", ".vtt", ".po", ".xlf", ".xliff", ".tmx")
"""The files that are translated, by their usual names."""

ALIASES = {"pb": "pt", "zt": "zh"}
BEAM = 5


@router.post("/translate")
async def translate(request: Request) -> JSONResponse:
    """Translate a text, or an array of texts."""
    fields = await fields_of(request)
    service = service_of(request)
    q = fields.get("q")
    texts = _texts_of(service, q)
    source, target = (code_of(fields, name) for name in ("source", "target"))
    alternatives = _alternatives(service, fields.get("alternatives", 0))
    form = fields.get("format") or "text"
    if form not in ("text", "html"):
        raise invalid(f"{str(form)[:20]} format is not supported: expected text or html", "format")
    detected: dict[str, object] | None = None
    if source == "auto":
        detected = _detected(service, texts)[0]
        source = str(detected["language"])
    if form == "html":
        found = await _pages(request, service, texts, (source, target))
        alternatives = 0
        others: list[list[str]] = []
    else:
        found, others = await _plain(request, service, texts, (source, target), alternatives)
    many = isinstance(q, list)
    body: dict[str, object] = {"translatedText": found.answers if many else found.answers[0]}
    if detected is not None:
        body["detectedLanguage"] = [detected] * len(texts) if many else detected
    if alternatives:
        body["alternatives"] = others if many else others[0]
    return JSONResponse(body, headers={"Server-Timing": found.timing})


def _texts_of(service: Service, q: object) -> list[str]:
    """The texts of a request.

    Raises:
        RequestRefused: there is none, or one is not a text.
    """
    given = q if isinstance(q, list) else [q]
    if q is None or q == "" or q == []:
        raise invalid("Invalid request: missing q parameter", "q")
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) < len(given):
        raise invalid("Invalid request: q is a text or an array of texts", "q")
    check_count(service, len(texts), "q")
    check_whole(texts, "q")
    return texts


def code_of(fields: Mapping[str, object], name: str) -> str:
    """The code of a language, without aliases.

    Raises:
        RequestRefused: it is missing.
    """
    code = fields.get(name)
    if not isinstance(code, str) or not code:
        raise invalid(f"Invalid request: missing {name} parameter", name)
    short = ALIASES.get(code.lower(), code)
    return language_code(short)


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


def model_of(service: Service, source: str, target: str) -> ServedModel:
    """The model of these languages.

    Raises:
        RequestRefused: there is none.
    """
    models = service.translators()
    for model in models:
        if model.languages == (source, target):
            return model
    sources = {model.languages[0] for model in models}
    unknown = source if source not in sources else target
    raise invalid(f"{unknown[:20]} is not supported", "source" if unknown == source else "target")


async def _plain(
    request: Request,
    service: Service,
    texts: Sequence[str],
    languages: tuple[str, str],
    alternatives: int,
) -> tuple[Answered, list[list[str]]]:
    """The translations of texts, line by line, and the alternatives of each.

    The n-th alternative of a text of several lines has the n-th translation of each line.
    """
    if languages[0] == languages[1]:
        return Answered(list(texts), {}, set()), [[] for _ in texts]
    model = model_of(service, *languages)
    nbest = alternatives + 1
    work = Translating(loaded(model, Translator), max(BEAM, nbest), nbest)
    lines = [
        (number, line)
        for number, text in enumerate(texts)
        for line in unified(text).split("\n")
        if has_letters(line)
    ]
    costs = [model.cost(line) * nbest for _, line in lines]
    check_tokens(service, sum(costs), "q")
    given = [(line, "") for _, line in lines]
    if lines:
        found = await answered(request, model, work, given, costs, deadline_of(request))
    else:
        found = Answered([], {}, set())
    translations = iter(found.answers)
    written: list[list[str]] = []
    for text in texts:
        of_lines = [
            _ranked(next(translations), nbest) if has_letters(line) else [line] * nbest
            for line in unified(text).split("\n")
        ]
        written.append(list(dict.fromkeys("\n".join(each) for each in zip(*of_lines, strict=True))))
    best = [each[0] for each in written]
    return replace(found, answers=best), [each[1:] for each in written]


def _ranked(best: Translation, count: int) -> list[str]:
    """The translations of a line, best first, the last one repeated where there are fewer."""
    found = [best.text, *(each.text for each in best.alternatives)][:count]
    return found + [found[-1]] * (count - len(found))


async def _pages(
    request: Request, service: Service, texts: Sequence[str], languages: tuple[str, str]
) -> Answered:
    """The translations of texts with HTML in them; what has no letters stays as it is."""
    if languages[0] == languages[1]:
        return Answered(list(texts), {}, set())
    model = model_of(service, *languages)
    given = [text for text in texts if has_letters(text)]
    costs = list(map(model.cost, given))
    check_tokens(service, sum(costs), "q")
    if not given:
        return Answered(list(texts), {}, set())
    work = TranslatingPages(loaded(model, Translator))
    found = await answered(request, model, work, given, costs, deadline_of(request))
    pages = iter(found.answers)
    whole = [next(pages) if has_letters(text) else text for text in texts]
    return replace(found, answers=whole)


def _detected(service: Service, texts: Sequence[str]) -> list[dict[str, object]]:
    """The languages that the script of the texts fits, at most three."""
    known = list(dict.fromkeys(model.languages[0] for model in service.translators()))
    found = likely_languages(" ".join(texts), known)
    if not found:
        return [{"confidence": 0.0, "language": "en" if "en" in known or not known else known[0]}]
    return [{"confidence": round(share, 1), "language": code} for code, share in found[:3]]


@router.post("/detect")
async def detect(request: Request) -> JSONResponse:
    """Name the languages of this server that are written in the script of the texts."""
    fields = await fields_of(request)
    service = service_of(request)
    return JSONResponse(_detected(service, _texts_of(service, fields.get("q"))))


@router.get("/languages")
@router.post("/languages")
async def languages(request: Request) -> JSONResponse:
    """The languages, and into which each can be translated."""
    targets: dict[str, set[str]] = {}
    for model in service_of(request).translators():
        source, target = model.languages
        targets.setdefault(source, {source}).add(target)
        targets.setdefault(target, {target})
    return JSONResponse(
        [
            {"code": code, "name": name_of(code), "targets": sorted(found)}
            for code, found in sorted(targets.items())
        ]
    )


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> JSONResponse:
    """The settings that front ends ask for."""
    service = service_of(request)
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
            "supportedFilesFormat": list(SUFFIXES) if service.downloads.on else [],
            "language": {
                "source": {"code": "auto", "name": "Auto Detect"},
                "target": {"code": target, "name": name_of(target)},
            },
        }
    )


@router.post("/suggest")
async def suggest() -> JSONResponse:
    """Suggestions are not taken."""
    raise RequestRefused(403, "suggestions_off", "Suggestions are disabled on this server.")


@router.get("/health")
async def health(request: Request) -> JSONResponse:
    """Whether the server can answer."""
    if not service_of(request).ready:
        raise RequestRefused(503, "not_ready", "The server is not ready.", retry_after=1)
    return JSONResponse({"status": "ok"})


@router.get("/health/live")
async def live() -> JSONResponse:
    """Whether the process is there."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready")
async def ready(request: Request) -> JSONResponse:
    """Whether the server can answer."""
    return await health(request)
