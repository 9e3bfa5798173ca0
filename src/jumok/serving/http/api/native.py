"""jumok's own routes: one for each kind of system, with all that it knows of an answer."""

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.responses import JSONResponse

from jumok.alignment.setting import AlignmentSetting
from jumok.decoding.options import FOR_CAPTIONS, FOR_TRANSLATION, ONLY_FOR_CONTINUATION
from jumok.serving.http.api.explaining import LAST, ExplainHandler, translation_facts
from jumok.serving.http.api.languages import AUTO, DetectedLanguage, reading_of
from jumok.serving.http.api.required import RequiredFields
from jumok.serving.http.api.submit import (
    EngineAnswers,
    check_texts,
    check_token_count,
    costs_of,
    decoding_cost,
    decoding_fields,
    decoding_of,
    given_options,
    submit,
)
from jumok.serving.http.handlers import (
    CaptionHandler,
    ClassifyImagesHandler,
    ClassifyTextsHandler,
    FillHandler,
    ScorePairsHandler,
    ScoreTextsHandler,
    TranslateHandler,
)
from jumok.serving.http.models import ServedModel, Service, language_named, loaded_system
from jumok.serving.http.queue import Handler
from jumok.serving.http.refusals import invalid
from jumok.serving.http.requests import RequestContext, route
from jumok.systems.base import Facts
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.translator import Translator

NATIVE_TAG = "jumok"
IMAGE_TOKENS = 64
"""The cost of an image in the queue."""

NOTHING: Mapping[int, Any] = MappingProxyType({})
Texts = str | list[str]
Milliseconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]
ReturnedPart = Literal["tokens", "alignment", "confidence", "attention", "alternatives"]


class ModelRequest(BaseModel):
    """What every route takes.

    Attributes:
        model: one of the server's; None: the first that can answer.
        deadline_ms: after which the answer is not wanted any more.
    """

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    deadline_ms: Milliseconds = None


class AttentionChoice(BaseModel):
    """A layer of the decoder's cross-attentions and a head, from 0; None: the mean of its heads.

    Attributes:
        layer: from 0; None: the last one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)  # a default that is not copied

    layer: Annotated[int | None, Field(ge=0)] = None
    head: Annotated[int | Literal["mean"], Field()] = "mean"


TranslateFields: Any = create_model(
    "TranslateFields",
    __base__=ModelRequest,
    **decoding_fields(FOR_TRANSLATION, "nbest", *ONLY_FOR_CONTINUATION),
)
CaptionFields: Any = create_model(
    "CaptionFields",
    __base__=ModelRequest,
    **decoding_fields(FOR_CAPTIONS, "nbest", "coverage_penalty", *ONLY_FOR_CONTINUATION),
)


class TranslateRequest(TranslateFields, RequiredFields):
    """Texts to translate; each counts as one line."""

    text: Texts
    from_: Annotated[str | None, Field(alias="from")] = None
    to: str | None = None
    alternatives: Annotated[int, Field(ge=0)] = 0
    prefix: str | None = None
    attention: AttentionChoice = AttentionChoice()
    return_: Annotated[list[ReturnedPart], Field(alias="return", default_factory=list)]


class ScoreRequest(ModelRequest):
    """Texts to score with a language model, or sources with their translations."""

    text: Texts
    target: Texts | None = None


class ClassifyRequest(ModelRequest):
    """Texts, or images as base64 of their files."""

    text: Texts | None = None
    image: Texts | None = None
    top: Annotated[int | None, Field(ge=1)] = None


class FillRequest(ModelRequest):
    """Texts with gaps, written [MASK] or ___."""

    text: Texts
    top: Annotated[int, Field(ge=1, le=100)] = 5


class CaptionRequest(CaptionFields):
    """Images as base64 of their files."""

    image: Texts
    alternatives: Annotated[int, Field(ge=0)] = 0
    looks: bool = False


def _text_list(service: Service, texts: Texts, name: str) -> list[str]:
    listed = [texts] if isinstance(texts, str) else texts
    check_texts(service, listed, name)
    return listed


async def _answer(
    context: RequestContext,
    asked: ModelRequest,
    model: ServedModel,
    handler: Handler,
    inputs: Sequence[Any],
    costs: Sequence[int],
    facts: Callable[[int, Any], Facts],
    known: Mapping[int, Any] = NOTHING,
) -> JSONResponse:
    """The response with the `facts` of each answer, from its number and the answer.

    Args:
        known: answers that are not computed, by their numbers.
    """
    rows = [row for row in range(len(inputs)) if row not in known]
    engine_answers = EngineAnswers([], {}, set())
    if rows:
        inputs, costs = [inputs[row] for row in rows], [costs[row] for row in rows]
        engine_answers = await submit(context, model, handler, inputs, costs, asked.deadline_ms)
    answers = dict(known) | dict(zip(rows, engine_answers.answers, strict=True))
    body = {
        "model": model.id,
        "answers": [facts(number, answers[number]) for number in sorted(answers)],
        "engine": _engine(model, engine_answers),
        "timing_ms": {name: round(each * 1e3, 3) for name, each in engine_answers.seconds.items()},
    }
    return JSONResponse(body, headers={"Server-Timing": engine_answers.timing})


def _engine(model: ServedModel, engine_answers: EngineAnswers) -> Facts:
    """Torch where the native engine does not do what was asked."""
    name, precision = model.computes, model.precision
    if "torch" in engine_answers.engines and name == "native":
        name = " and ".join(sorted(engine_answers.engines))
        precision = "fp32" if name == "torch" else f"{precision} and fp32"
    return {"name": name, "precision": precision, "bundle_digest": model.digest}


async def translate(context: RequestContext, asked: TranslateRequest) -> JSONResponse:
    """Translate texts; `return` names what else is wanted of each translation."""
    service = context.service
    texts = _text_list(service, asked.text, "text")
    model, readings = _translator(service, asked, texts)
    system = loaded_system(model, Translator)
    options = decoding_of(service, given_options(asked), FOR_TRANSLATION, asked.alternatives)
    wanted = frozenset(asked.return_) | ({"alternatives"} if asked.alternatives else set())
    setting = _setting(asked.attention) if "attention" in wanted else None
    translating = TranslateHandler(system, options, "alignment" in wanted, asked.of(model))
    explains = bool(wanted & {"alignment", "attention"})
    handler = ExplainHandler(translating, setting) if explains else translating
    costs = costs_of(service, model, texts, "text", options)
    prefix = asked.prefix or ""
    check_texts(service, [prefix], "prefix")

    unchanged = {
        row: Segment(0, [], text=texts[row]).copied
        for row, each in enumerate(readings)
        if each.model is None
    }

    def facts(number: int, answer: Any) -> Facts:
        written = translation_facts(texts[number], answer, wanted)
        if readings:
            written["detected"] = readings[number].detected
            written["unchanged"] = number in unchanged
        return written

    pairs = [(text, prefix) for text in texts]
    return await _answer(context, asked, model, handler, pairs, costs, facts, unchanged)


def _translator(
    service: Service, asked: TranslateRequest, texts: Sequence[str]
) -> tuple[ServedModel, list[DetectedLanguage]]:
    """The model, and if the source language is to be determined, how each text is read."""
    if asked.from_ is None and asked.to is None:
        return service.able(asked.model, [Translator], "translate"), []
    models = service.translators()
    if asked.model:
        models = service.able(asked.model, [Translator], "translate").of_each_pair()
    source, target = (
        None if code in (None, AUTO) else language_named(models, side, code, field)
        for side, (code, field) in enumerate(((asked.from_, "from"), (asked.to, "to")))
    )
    fitting = [
        model
        for model in models
        if source in (None, model.languages[0])
        and target in (None, model.languages[1])
        and (asked.from_ != AUTO or all(model.languages))
    ]
    if not fitting:
        known = ", ".join(" to ".join(model.languages) for model in service.translators())
        raise invalid(f"No model translates between these languages. Known: {known}.", "from")
    if asked.from_ != AUTO:
        return fitting[0], []
    into = [each for each in fitting if each.languages[1] == fitting[0].languages[1]]
    readings = [reading_of(text, into) for text in texts]
    its = [each.model for each in readings if each.model is not None]
    used = {(model.id, model.languages): model for model in its}
    if len(used) > 1:
        codes = ", ".join(sorted({model.languages[0] for model in used.values()}))
        raise invalid(f"The texts are in several languages ({codes}): ask for each alone.", "text")
    return next(iter(used.values()), fitting[0]), readings


def _setting(asked: AttentionChoice) -> AlignmentSetting:
    layer = LAST if asked.layer is None else asked.layer
    return AlignmentSetting(layer, False, None if asked.head == "mean" else asked.head)


async def score(context: RequestContext, asked: ScoreRequest) -> JSONResponse:
    """The log-probabilities of given translations, or of texts by a language model."""
    service = context.service
    texts = _text_list(service, asked.text, "text")
    if asked.target is None:
        return await _score_texts(context, asked, texts)
    targets = _text_list(service, asked.target, "target")
    if len(targets) != len(texts):
        raise invalid(f"There are {len(texts)} texts and {len(targets)} targets.", "target")
    model = service.able(asked.model, [Translator], "score translations")
    pairs = list(zip(texts, targets, strict=True))
    costs = [model.cost(source) + model.cost(target) for source, target in pairs]
    check_token_count(service, sum(costs), "text")
    handler = ScorePairsHandler(loaded_system(model, Translator))

    def facts(_: int, answer: Any) -> Facts:
        return {
            "log_probability": answer.log_probability,
            "tokens": answer.tokens,
            "token_log_probabilities": answer.token_log_probabilities,
        }

    return await _answer(context, asked, model, handler, pairs, costs, facts)


async def _score_texts(
    context: RequestContext, asked: ScoreRequest, texts: list[str]
) -> JSONResponse:
    from jumok.systems.language_model import LanguageModel

    service = context.service
    model = service.able(asked.model, [LanguageModel], "score texts without targets")
    costs = costs_of(service, model, texts, "text")
    handler = ScoreTextsHandler(loaded_system(model, LanguageModel))

    def facts(_: int, answer: Any) -> Facts:
        return {
            "log_probability": answer.log_probability,
            "token_log_probabilities": answer.token_log_probabilities,
            "perplexity": answer.perplexity if answer.loss < math.log(1e300) else None,
            "bits_per_byte": answer.bits_per_byte,
        }

    return await _answer(context, asked, model, handler, texts, costs, facts)


async def classify(context: RequestContext, asked: ClassifyRequest) -> JSONResponse:
    """The labels of texts or images, with their probabilities."""
    service = context.service
    if (asked.text is None) == (asked.image is None):
        raise invalid("Give either text or image.")
    handler: Handler
    inputs: Sequence[Any]
    if asked.text is not None:
        inputs = texts = _text_list(service, asked.text, "text")
        from jumok.systems.text_classifier import TextClassification

        model = service.able(asked.model, [TextClassification], "classify texts")
        costs = costs_of(service, model, texts, "text")
        handler = ClassifyTextsHandler(loaded_system(model, TextClassification))
    else:
        inputs = _images(service, asked.image or [])
        from jumok.systems.image_classifier import ImageClassification

        model = service.able(asked.model, [ImageClassification], "classify images")
        costs = [IMAGE_TOKENS] * len(inputs)
        handler = ClassifyImagesHandler(loaded_system(model, ImageClassification))

    def facts(_: int, answer: Any) -> Facts:
        top: Facts = answer.facts(asked.top)
        return top

    return await _answer(context, asked, model, handler, inputs, costs, facts)


def _images(service: Service, images: Texts) -> Sequence[bytes]:
    """The bytes of images that are given as base64, also as data: addresses."""
    decoded = []
    for each in _text_list(service, images, "image"):
        content = each.partition(",")[2] if each.startswith("data:") else each
        try:
            decoded.append(base64.b64decode(content, validate=True))
        except (binascii.Error, ValueError):
            raise invalid("The image is not base64.", "image") from None
    return decoded


def _own_facts(_: int, answer: Any) -> Facts:
    facts: Facts = answer.facts()
    return facts


async def fill(context: RequestContext, asked: FillRequest) -> JSONResponse:
    """Candidates for the gaps of texts."""
    service = context.service
    texts = _text_list(service, asked.text, "text")
    from jumok.systems.masked_model import MaskedModel

    model = service.able(asked.model, [MaskedModel], "fill gaps")
    costs = costs_of(service, model, texts, "text")
    handler = FillHandler(loaded_system(model, MaskedModel), asked.top)
    return await _answer(context, asked, model, handler, texts, costs, _own_facts)


async def caption(context: RequestContext, asked: CaptionRequest) -> JSONResponse:
    """Captions of images, on request with the attention weights of each word."""
    service = context.service
    images = _images(service, asked.image)
    from jumok.systems.captioner import Captioner

    model = service.able(asked.model, [Captioner], "caption images")
    options = decoding_of(service, given_options(asked), FOR_CAPTIONS, asked.alternatives)
    handler = CaptionHandler(loaded_system(model, Captioner), options, asked.looks)
    costs = [decoding_cost(IMAGE_TOKENS, options)] * len(images)
    return await _answer(context, asked, model, handler, images, costs, _own_facts)


async def card(context: RequestContext) -> JSONResponse:
    """What is known of a model: its configuration, training data and scores."""
    return JSONResponse(context.service.named(context.path_params["id"]).card())


NATIVE_ROUTES = [
    route(["POST"], "/v1/translate", translate, NATIVE_TAG, {"translation"}),
    route(["POST"], "/v1/score", score, NATIVE_TAG, {"translation", "language-model"}),
    route(
        ["POST"],
        "/v1/classify",
        classify,
        NATIVE_TAG,
        {"text-classification", "image-classification"},
    ),
    route(["POST"], "/v1/fill", fill, NATIVE_TAG, {"masked-lm"}),
    route(["POST"], "/v1/caption", caption, NATIVE_TAG, {"captioning"}),
    route(["GET"], "/v1/models/{id}/card", card, NATIVE_TAG),
]
