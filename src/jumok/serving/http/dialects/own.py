"""jumok's own routes: one for each kind of system, with all that it knows of an answer."""

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

from jumok.alignment.setting import AlignmentSetting
from jumok.late import late_imports
from jumok.serving.http.dialects.asking import (
    Answered,
    answered,
    check_count,
    check_tokens,
    check_whole,
    deadline_of,
    service_of,
)
from jumok.serving.http.dialects.explaining import LAST, Explaining, translation_facts
from jumok.serving.http.models import ServedModel, Service, loaded
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.works import (
    Captioning,
    Classifying,
    ClassifyingPictures,
    Filling,
    ScoringPairs,
    ScoringTexts,
    Translating,
)
from jumok.systems.base import Facts
from jumok.systems.languages import language_code
from jumok.systems.translation.translator import Translator

with late_imports():
    from jumok.systems import (
        captioner,
        image_classifier,
        language_model,
        masked_model,
        text_classifier,
    )

router = APIRouter(prefix="/v1", tags=["jumok"])

IMAGE_TOKENS = 64
"""The cost of an image in the queue."""

MOST_BEAM = 64

Texts = str | list[str]
Milliseconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]
BeamSize = Annotated[int, Field(ge=1, le=MOST_BEAM)]
Wanted = Literal["tokens", "alignment", "confidence", "attention", "alternatives"]


class Question(BaseModel):
    """What every route takes.

    Attributes:
        model: one of the server's; None: the first that can answer.
        deadline_ms: after which the answer is not wanted any more.
    """

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    deadline_ms: Milliseconds = None


class WhichAttention(BaseModel):
    """A layer of the decoder's cross-attentions and a head, from 0; None: the mean of its heads.

    Attributes:
        layer: from 0; None: the last one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)  # a default that is not copied

    layer: Annotated[int | None, Field(ge=0)] = None
    head: Annotated[int | Literal["mean"], Field()] = "mean"


class TranslateQuestion(Question):
    """Texts to translate; each counts as one line."""

    text: Texts
    from_: Annotated[str | None, Field(alias="from")] = None
    to: str | None = None
    beam: BeamSize = 5
    alternatives: Annotated[int, Field(ge=0)] = 0
    prefix: str | None = None
    attention: WhichAttention = WhichAttention()
    return_: Annotated[list[Wanted], Field(alias="return")] = []


class TextQuestion(Question):
    """Texts to score with a language model, or sources with their translations."""

    text: Texts
    target: Texts | None = None


class ClassifyQuestion(Question):
    """Texts, or images as base64 of their files."""

    text: Texts | None = None
    image: Texts | None = None
    top: Annotated[int | None, Field(ge=1)] = None


class FillQuestion(Question):
    """Texts with gaps, written [MASK] or ___."""

    text: Texts
    top: Annotated[int, Field(ge=1, le=100)] = 5


class CaptionQuestion(Question):
    """Images as base64 of their files."""

    image: Texts
    beam: BeamSize = 5
    alternatives: Annotated[int, Field(ge=0)] = 0
    looks: bool = False


def _listed(service: Service, texts: Texts, name: str) -> list[str]:
    found = [texts] if isinstance(texts, str) else texts
    check_count(service, len(found), name)
    check_whole(found, name)
    return found


def _answer(model: ServedModel, found: Answered, facts: list[Facts]) -> Facts:
    return {
        "model": model.id,
        "answers": facts,
        "engine": _engine(model, found),
        "timing_ms": {name: _ms(each) for name, each in found.seconds.items()},
    }


def _engine(model: ServedModel, found: Answered) -> Facts:
    """What computed the answers: torch where the native engine does not do what was asked."""
    name, precision = model.computes, model.precision
    if "torch" in found.engines and name == "native":
        name = " and ".join(sorted(found.engines))
        precision = "fp32" if name == "torch" else f"{precision} and fp32"
    return {"name": name, "precision": precision, "bundle_digest": model.digest}


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def _response(body: Facts, found: Answered) -> JSONResponse:
    return JSONResponse(body, headers={"Server-Timing": found.timing})


@router.post("/translate")
async def translate(request: Request, asked: TranslateQuestion) -> JSONResponse:
    """Translate texts; `return` names what else is wanted of each translation."""
    service = service_of(request)
    texts = _listed(service, asked.text, "text")
    model = _translator(service, asked)
    system = loaded(model, Translator)
    _check_alternatives(service, asked.alternatives)
    wanted = frozenset(asked.return_) | ({"alternatives"} if asked.alternatives else set())
    nbest = asked.alternatives + 1
    aligned = "alignment" in wanted
    setting = _setting(asked.attention) if "attention" in wanted else None
    work = Explaining(Translating(system, max(asked.beam, nbest), nbest, aligned), setting)
    costs = [model.cost(text) * nbest for text in texts]
    check_tokens(service, sum(costs), "text")
    prefix = asked.prefix or ""
    check_whole([prefix], "prefix")
    given = [(text, prefix) for text in texts]
    found = await answered(
        request, model, work, given, costs, deadline_of(request, asked.deadline_ms)
    )
    pairs = zip(texts, found.answers, strict=True)
    facts = [translation_facts(text, each, wanted) for text, each in pairs]
    return _response(_answer(model, found, facts), found)


def _translator(service: Service, asked: TranslateQuestion) -> ServedModel:
    """The model that the request names, or that of its languages."""
    if asked.from_ is None and asked.to is None:
        return service.able(asked.model, [Translator], "translate")
    wanted = [None if code is None else language_code(code) for code in (asked.from_, asked.to)]
    models = [service.named(asked.model)] if asked.model else service.translators()
    for model in models:
        if all(code in (None, its) for code, its in zip(wanted, model.languages, strict=True)):
            return service.able(model.id, [Translator], "translate")
    known = ", ".join(" to ".join(model.languages) for model in service.translators())
    raise invalid(f"No model translates between these languages. Known: {known}.", "from")


def _check_alternatives(service: Service, count: int) -> None:
    most = service.settings.limits.alternatives
    if count > most:
        text = f"At most {most} alternatives are returned, and {count} were asked for."
        raise RequestRefused(400, "too_many_alternatives", text, parameter="alternatives")


def _setting(asked: WhichAttention) -> AlignmentSetting:
    layer = LAST if asked.layer is None else asked.layer
    return AlignmentSetting(layer, False, None if asked.head == "mean" else asked.head)


@router.post("/score")
async def score(request: Request, asked: TextQuestion) -> JSONResponse:
    """The log-probabilities of given translations, or of texts by a language model."""
    service = service_of(request)
    texts = _listed(service, asked.text, "text")
    deadline = deadline_of(request, asked.deadline_ms)
    if asked.target is not None:
        targets = _listed(service, asked.target, "target")
        if len(targets) != len(texts):
            text = f"There are {len(texts)} texts and {len(targets)} targets."
            raise invalid(text, "target")
        model = service.able(asked.model, [Translator], "score translations")
        pairs = list(zip(texts, targets, strict=True))
        costs = [model.cost(source) + model.cost(target) for source, target in pairs]
        check_tokens(service, sum(costs), "text")
        work = ScoringPairs(loaded(model, Translator))
        found = await answered(request, model, work, pairs, costs, deadline)
        facts: list[Facts] = [
            {
                "log_probability": each.log_probability,
                "tokens": each.tokens,
                "token_log_probabilities": each.token_log_probabilities,
            }
            for each in found.answers
        ]
        return _response(_answer(model, found, facts), found)
    model = service.able(asked.model, [language_model.LanguageModel], "score texts without targets")
    costs = list(map(model.cost, texts))
    check_tokens(service, sum(costs), "text")
    scoring = ScoringTexts(loaded(model, language_model.LanguageModel))
    found = await answered(request, model, scoring, texts, costs, deadline)
    facts = [
        {
            "log_probability": each.log_probability,
            "token_log_probabilities": each.token_log_probabilities,
            "perplexity": each.perplexity if each.loss < math.log(1e300) else None,
            "bits_per_byte": each.bits_per_byte,
        }
        for each in found.answers
    ]
    return _response(_answer(model, found, facts), found)


@router.post("/classify")
async def classify(request: Request, asked: ClassifyQuestion) -> JSONResponse:
    """The labels of texts or images, with their probabilities."""
    service = service_of(request)
    if (asked.text is None) == (asked.image is None):
        raise invalid("Give either text or image.")
    deadline = deadline_of(request, asked.deadline_ms)
    if asked.text is not None:
        texts = _listed(service, asked.text, "text")
        model = service.able(asked.model, [text_classifier.TextClassification], "classify texts")
        costs = list(map(model.cost, texts))
        check_tokens(service, sum(costs), "text")
        work = Classifying(loaded(model, text_classifier.TextClassification))
        found = await answered(request, model, work, texts, costs, deadline)
    else:
        pictures = _pictures(service, asked.image or [])
        model = service.able(asked.model, [image_classifier.ImageClassification], "classify images")
        looking = ClassifyingPictures(loaded(model, image_classifier.ImageClassification))
        costs = [IMAGE_TOKENS] * len(pictures)
        found = await answered(request, model, looking, pictures, costs, deadline)
    facts = [each.facts(asked.top) for each in found.answers]
    return _response(_answer(model, found, facts), found)


def _pictures(service: Service, images: Texts) -> Sequence[bytes]:
    """The bytes of images that are given as base64, also as data: addresses.

    Raises:
        RequestRefused: one is not base64.
    """
    found = []
    for each in _listed(service, images, "image"):
        content = each.partition(",")[2] if each.startswith("data:") else each
        try:
            found.append(base64.b64decode(content, validate=True))
        except (binascii.Error, ValueError):
            raise invalid("The image is not base64.", "image") from None
    return found


@router.post("/fill")
async def fill(request: Request, asked: FillQuestion) -> JSONResponse:
    """Candidates for the gaps of texts."""
    service = service_of(request)
    texts = _listed(service, asked.text, "text")
    model = service.able(asked.model, [masked_model.MaskedModel], "fill gaps")
    costs = list(map(model.cost, texts))
    check_tokens(service, sum(costs), "text")
    work = Filling(loaded(model, masked_model.MaskedModel), asked.top)
    deadline = deadline_of(request, asked.deadline_ms)
    found = await answered(request, model, work, texts, costs, deadline)
    facts = [each.facts() for each in found.answers]
    return _response(_answer(model, found, facts), found)


@router.post("/caption")
async def caption(request: Request, asked: CaptionQuestion) -> JSONResponse:
    """Captions of images, on request with the attention weights of each word."""
    service = service_of(request)
    pictures = _pictures(service, asked.image)
    model = service.able(asked.model, [captioner.Captioner], "caption images")
    _check_alternatives(service, asked.alternatives)
    nbest = asked.alternatives + 1
    system = loaded(model, captioner.Captioner)
    work = Captioning(system, max(asked.beam, nbest), nbest, asked.looks)
    deadline = deadline_of(request, asked.deadline_ms)
    costs = [IMAGE_TOKENS] * len(pictures)
    found = await answered(request, model, work, pictures, costs, deadline)
    facts = [each.facts() for each in found.answers]
    return _response(_answer(model, found, facts), found)


@router.get("/models/{id}/card")
async def card(request: Request, id: str) -> JSONResponse:
    """What is known of a model: its configuration, training data and scores."""
    model = service_of(request).named(id)
    return JSONResponse(model.card())
