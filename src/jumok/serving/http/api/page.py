"""The page at /: a box to translate in, for people."""

from starlette.responses import HTMLResponse

from jumok.bundle.reading import Bundle
from jumok.inspection.page.document import document
from jumok.serving.http.api.scripts import name_of
from jumok.serving.http.middleware import RequestContext
from jumok.serving.http.models import ServedModel
from jumok.serving.http.routing import route
from jumok.systems.base import Facts
from jumok.systems.translation.translator import Translator


async def box(context: RequestContext) -> HTMLResponse:
    """The page; it asks /v1/translate, with the key that its user types."""
    service = context.service
    models = list(service.models.values())
    able = [each for each in models if issubclass(each.opened.kind.entry("system"), Translator)]
    facts = {
        "models": [_facts(each) for each in able],
        "others": [f"{each.id}: {each.opened.task}" for each in models],
        "key": bool(service.settings.keys),
    }
    page = document("translate.js", facts, asks=True, styles=("style.css", "translate.css"))
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(page, headers=headers)


def _facts(model: ServedModel) -> Facts:
    source, target = model.languages
    named = f"{name_of(source)} → {name_of(target)}" if source and target else model.id
    first = model.opened.parts[0]
    calibration = first.card.confidence if isinstance(first, Bundle) else None
    system = model.system if isinstance(model.system, Translator) else None
    layers = 1 if system is None else max(1, system.searcher.layers)
    return {
        "id": model.id,
        "name": f"{named} ({model.id})",
        "source": source,
        "target": target,
        "layers": layers,
        "calibrated": "" if calibration is None else calibration.text,
    }


ROUTES = [route(["GET"], "/", box, "page", described=False)]
