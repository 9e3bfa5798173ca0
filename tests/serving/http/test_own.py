"""jumok's own routes: the answers are those of the systems."""

import base64
import io
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from PIL import Image

from jumok.alignment.extract import AlignmentSetting, cross_attentions
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import START
from jumok.decoding.options import FOR_TRANSLATION
from jumok.systems.captioner import Captioner
from jumok.systems.image_classifier import ImageClassification
from jumok.systems.language_model import LanguageModel
from jumok.systems.masked_model import MaskedModel
from jumok.systems.text_classifier import TextClassification
from jumok.systems.translation.translator import Translator

EVERYTHING = ["tokens", "alignment", "confidence", "attention", "alternatives"]


@pytest.fixture(scope="module")
def translator(folders) -> Translator:
    return Translator.load(folders["en-ko"], device="cpu")


@pytest.fixture(scope="module")
def picture() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (40, 30), (200, 30, 30)).save(content, "PNG")
    return content.getvalue()


def test_a_translation_has_all_that_was_asked_for(client, translator):
    text = "the cat sat"
    body = {"text": text, "from": "en", "to": "ko", "return": EVERYTHING, "alternatives": 1}
    body["maximum_length"] = 6
    found = client.post("/v1/translate", json=body | {"attention": {"layer": 0, "head": 2}}).json()
    (answer,) = found["answers"]
    options = replace(FOR_TRANSLATION, maximum_length=6)
    (expected,) = translator.translate([text], options, nbest=2)
    assert answer["text"] == expected.text
    assert answer["score"] == pytest.approx(expected.score, abs=1e-4)
    assert answer["confidence"] == pytest.approx(expected.confidence, abs=1e-4)
    assert [each["piece"] for each in answer["tokens"]] == list(expected.tokens)
    values = [each["log_probability"] for each in answer["tokens"]]
    assert values == pytest.approx(expected.token_log_probabilities[: len(values)], abs=1e-4)
    assert [tuple(link[:2]) for link in answer["alignment"]] == list(expected.alignment)
    assert all(0.0 <= link[2] <= 1.0 for link in answer["alignment"])
    spans = [(each["start"], each["end"]) for each in answer["source_tokens"]]
    assert "".join(text[slice(*span)] for span in spans) == "thecatsat"
    assert answer["alternatives"][0]["text"] == expected.alternatives[0].text
    assert found["engine"]["bundle_digest"] == translator.fingerprint
    times = found["timing_ms"]
    assert [*times] == ["queue", "encode", "decode", "compute"]
    assert 0 < times["encode"] + times["decode"] < times["compute"]
    assert (found["engine"]["name"], found["engine"]["precision"]) == ("native", "fp32")


def test_a_text_in_the_target_language_is_noted(client):
    body = {"text": ["the cat sat", "고양이가 앉았다."], "maximum_length": 6}
    first, second = client.post("/v1/translate", json=body).json()["answers"]
    assert "target-language" not in first["notes"]
    assert "target-language" in second["notes"]


def test_the_attention_is_that_of_the_layer_and_the_head(client, translator):
    body = {"text": "the cat sat", "return": ["attention"], "attention": {"layer": 1, "head": 2}}
    answer = client.post("/v1/translate", json=body).json()["answers"][0]["attention"]
    assert (answer["layer"], answer["head"]) == (1, 2)
    (best,) = translator.translate(["the cat sat"])
    ids = translator.tokenizer.ids(best.tokens)
    (batch,) = source_batches([translator.tokenizer.encode("the cat sat")], sentences=1)
    (expected,) = cross_attentions(
        translator.models[0],
        *translator.read(batch),
        torch.tensor([[START, *ids]]),
        [AlignmentSetting(1, False, 2)],
    )
    found = torch.tensor(answer["matrix"])
    torch.testing.assert_close(found, expected[0, : len(ids)], atol=1e-3, rtol=0.0)
    torch.testing.assert_close(found.sum(1), torch.ones(len(ids)), atol=1e-3, rtol=0.0)
    mean = client.post("/v1/translate", json=body | {"attention": {}}).json()["answers"][0]
    assert (mean["attention"]["layer"], mean["attention"]["head"]) == (2, "mean")


def test_answers_do_not_depend_on_their_company(client, translator):
    """Requests of mixed lengths from many clients share batches."""
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "the",
        "mat",
        "and",
        "the",
        "dog",
        "barked",
        "I",
        "am",
        "a",
        "student",
    ]
    texts = [" ".join(words[place % 5 : place % 5 + 1 + place % 9]) for place in range(48)]
    expected = [
        translator.translate([text], beam=1 + place % 3)[0] for place, text in enumerate(texts)
    ]

    def ask(place: int) -> dict[str, object]:
        body = {"text": texts[place], "beam": 1 + place % 3}
        answer = client.post("/v1/translate", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["answers"][0]

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, range(len(texts))))
    assert [each["text"] for each in found] == [each.text for each in expected]
    scores = [each["score"] for each in found]
    assert scores == pytest.approx([each.score for each in expected], abs=1e-3)


def test_a_forced_beginning_belongs_to_its_request(client, translator):
    body = {"text": ["the cat", "the dog"], "prefix": "고양이"}
    found = [each["text"] for each in client.post("/v1/translate", json=body).json()["answers"]]
    expected = translator.translate(["the cat", "the dog"], prefixes=["고양이"] * 2)
    assert found == [each.text for each in expected]


def test_scores_are_those_of_the_systems(client, translator, folders):
    body = {"text": ["the cat"], "target": ["고양이가"]}
    (answer,) = client.post("/v1/score", json=body).json()["answers"]
    (expected,) = translator.score(["the cat"], ["고양이가"])
    assert answer["log_probability"] == pytest.approx(expected.log_probability, abs=1e-4)
    (answer,) = client.post("/v1/score", json={"text": "the cat"}).json()["answers"]
    (one,) = LanguageModel.load(folders["letters"], device="cpu").score(["the cat"])
    assert answer["log_probability"] == pytest.approx(one.log_probability, abs=1e-4)
    assert answer["perplexity"] == pytest.approx(one.perplexity, rel=1e-4)


def test_texts_are_classified_and_gaps_filled(client, folders):
    body = {"text": ["the cat", "the dog barked"], "top": 1}
    found = client.post("/v1/classify", json=body).json()["answers"]
    expected = TextClassification.load(folders["labels"], device="cpu").classify(body["text"])
    assert [each["label"] for each in found] == [each.label for each in expected]
    assert [len(each["probabilities"]) for each in found] == [1, 1]
    (found,) = client.post("/v1/fill", json={"text": "the ___ sat", "top": 2}).json()["answers"]
    (filled,) = MaskedModel.load(folders["gaps"], device="cpu").fill(["the ___ sat"], top=2)
    assert found["text"] == filled.text
    assert [each["text"] for each in found["gaps"][0]] == [each.text for each in filled.gaps[0]]


def test_images_are_classified_and_captioned(client, folders, picture, tmp_path):
    (tmp_path / "red.png").write_bytes(picture)
    image = base64.b64encode(picture).decode()
    (found,) = client.post("/v1/classify", json={"image": image}).json()["answers"]
    colours = ImageClassification.load(folders["colours"], device="cpu")
    assert found["label"] == colours.classify([tmp_path / "red.png"])[0].label
    body = {"image": [f"data:image/png;base64,{image}"], "looks": True}
    (found,) = client.post("/v1/caption", json=body).json()["answers"]
    captioner = Captioner.load(folders["captions"], device="cpu")
    (expected,) = captioner.caption([tmp_path / "red.png"], looks=True)
    assert found["text"] == expected.text
    assert found["looks"]["words"] == list(expected.looks.words)


def test_a_card_says_what_a_model_is(client):
    card = client.get("/v1/models/en-ko/card").json()
    assert card["task"] == "translation"
    assert card["card"]["scores"][0]["value"] == 12.5
    assert card["config"]["source_language"] == "en"


@pytest.mark.parametrize(
    ("route", "body", "status", "code", "text"),
    [
        ("translate", {"text": []}, 400, "invalid_request", "text is empty"),
        ("translate", {}, 400, "invalid_request", "text: Field required"),
        ("translate", {"text": "a", "beam": 0}, 400, "invalid_request", "beam: Input should be"),
        ("translate", {"text": "a", "bean": 1}, 400, "invalid_request", "bean is not known"),
        ("translate", {"text": "a", "model": "x"}, 404, "model_not_found", "en-ko, letters"),
        ("translate", {"text": "a", "model": "gaps"}, 400, "wrong_model", "its task is masked-lm"),
        ("translate", {"text": "a", "to": "fr"}, 400, "invalid_request", "Known: en to ko"),
        (
            "translate",
            {"text": "a", "alternatives": 11},
            400,
            "too_many_alternatives",
            "At most 10",
        ),
        ("translate", {"text": "\ud800"}, 400, "invalid_request", "text"),
        ("translate", {"text": "a", "deadline_ms": 0}, 400, "invalid_request", "greater than 0"),
        (
            "translate",
            {"text": "I am. The cat sat.", "return": ["attention"]},
            400,
            "invalid_request",
            "attention is returned for a text of one sentence",
        ),
        (
            "translate",
            {"text": "a", "return": ["attention"], "attention": {"layer": 3}},
            400,
            "invalid_request",
            "the model has no such layer. Expected: a layer from 0 to 2",
        ),
        (
            "translate",
            {"text": "the cat", "return": ["attention"], "attention": {"head": 9}},
            400,
            "invalid_request",
            "head",
        ),
        ("score", {"text": ["a"], "target": ["b", "c"]}, 400, "invalid_request", "1 texts and 2"),
        ("classify", {}, 400, "invalid_request", "either text or image"),
        ("classify", {"text": " "}, 400, "invalid_request", "there is nothing to classify"),
        ("classify", {"image": "?"}, 400, "invalid_request", "not base64"),
        ("caption", {"image": "AAAA"}, 400, "invalid_request", "not an image"),
        ("fill", {"text": "a", "top": 0}, 400, "invalid_request", "top: Input should be"),
    ],
)
def test_problems_have_a_code_and_a_text(client, route, body, status, code, text):
    content = json.dumps(body)
    headers = {"Content-Type": "application/json", "X-Request-Id": "this-one"}
    answer = client.post(f"/v1/{route}", content=content, headers=headers)
    problem = answer.json()
    assert (answer.status_code, problem.get("code")) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert text in problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"] == "this-one"


def test_the_routes_are_described(client):
    paths = client.get("/openapi.json").json()["paths"]
    own = {f"/v1/{name}" for name in ("translate", "classify", "fill", "caption", "score")}
    assert own | {"/translate", "/languages", "/v1/completions", "/metrics"} <= set(paths)
    assert client.get("/docs").status_code == 404  # its scripts would come from elsewhere


def test_other_content_types_are_refused(client):
    answer = client.post("/v1/translate", content=b"a", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    deep = client.post(
        "/v1/translate", content=b"[" * 50_000, headers={"Content-Type": "application/json"}
    )
    assert deep.status_code == 400
