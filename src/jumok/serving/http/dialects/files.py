"""LibreTranslate's routes for files: a document comes in, and its translation can be fetched."""

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from jumok.data.files.formats import HEAD
from jumok.documents.catalog import document_format
from jumok.serving.http.dialects.asking import answered, check_tokens, deadline_of, service_of
from jumok.serving.http.dialects.forms import SentFile, fields_of
from jumok.serving.http.dialects.libretranslate import code_of, model_of
from jumok.serving.http.models import BYTES_OF_TOKEN, ServedModel, Service, loaded
from jumok.serving.http.refusals import invalid
from jumok.serving.http.works import TranslatingFiles
from jumok.systems.translation.translator import Translator

router = APIRouter(tags=["LibreTranslate"])


@router.post("/translate_file")
async def translate_file(request: Request) -> JSONResponse:
    """Translate a document; the answer says where its translation is for ten minutes."""
    fields = await fields_of(request)
    service = service_of(request)
    file = fields.get("file")
    if not isinstance(file, SentFile) or not file.content:
        raise invalid("Invalid request: missing file parameter", "file")
    model = _model(service, fields)
    kind = document_format(Path(file.name), file.content[:HEAD]) or "paragraphs"
    cost = 1 + len(file.content) // BYTES_OF_TOKEN
    check_tokens(service, cost, "file")
    work = TranslatingFiles(loaded(model, Translator))
    given = [(file.content, kind, file.name)]
    found = await answered(request, model, work, given, [cost], deadline_of(request))
    known = service.downloads.keep(file.name, found.answers[0])
    headers = {"Server-Timing": found.timing}
    body = {"translatedFileUrl": f"{request.base_url}download_file/{known}"}
    return JSONResponse(body, headers=headers)


def _model(service: Service, fields: Mapping[str, object]) -> ServedModel:
    """The model of these languages; with "auto" the first into the target."""
    source, target = (code_of(fields, name) for name in ("source", "target"))
    if source == "auto":
        known = [each.languages[0] for each in service.translators() if each.languages[1] == target]
        source = known[0] if known else source
    return model_of(service, source, target)


@router.get("/download_file/{name}")
async def download_file(request: Request, name: str) -> Response:
    """The translation of a document."""
    content = service_of(request).downloads.read(name)
    headers = {
        "Content-Disposition": f'attachment; filename="{name.partition(".")[2]}"',
        "Cache-Control": "no-store",
    }
    return Response(content, media_type="application/octet-stream", headers=headers)
