"""Terms of a glossary and strings to keep, of a request and of a server."""

import json

import pytest

from tests.serving.http.process import serving

LANGUAGES = {"source": "en", "target": "ko"}


def test_terms_are_used_or_named(client):
    body = {"text": ["cat", "the cat sat", "dog"], "glossary": {"cat": "궤짝"}}
    answers = client.post("/v1/translate", json=body).json()["answers"]
    assert answers[0]["text"] == "궤짝"
    assert [each.get("missing_terms") for each in answers] == [None, ["cat"], None]
    plain = client.post("/v1/translate", json=body | {"glossary": {}}).json()["answers"]
    assert [each["text"] for each in plain[1:]] == [each["text"] for each in answers[1:]]


def test_strings_to_keep_are_no_patterns(client):
    for wanted in ("sa+t", "mat"):
        body = {"text": f"the cat {wanted} now", "keep": [wanted]}
        (answer,) = client.post("/v1/translate", json=body).json()["answers"]
        assert answer["text"].count(wanted) == 1


@pytest.mark.parametrize("form", ["text", "html"])
def test_libretranslate_s_routes_take_them_too(client, form):
    fields = {"glossary": {"cat": "궤짝"}, "keep": ["sa+t"], "format": form} | LANGUAGES
    answer = client.post("/translate", json=fields | {"q": ["cat", "the sa+t cat"]})
    first, second = answer.json()["translatedText"]
    assert first == "궤짝"
    assert "sa+t" in second
    as_form = fields | {"glossary": json.dumps(fields["glossary"]), "keep": '["sa+t"]'}
    given = client.post("/translate", data=as_form | {"q": "cat"}).json()
    assert given["translatedText"] == "궤짝"


def test_documents_take_them_too(client):
    fields = LANGUAGES | {"glossary": '{"cat": "궤짝"}'}
    answer = client.post("/translate_file", data=fields, files={"file": ("a.md", b"# cat\n")})
    assert client.get(answer.json()["translatedFileUrl"]).text == "# 궤짝\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"glossary": {str(number): "x" for number in range(201)}},
        {"glossary": {"x" * 101: "y"}},
        {"glossary": {"cat": " "}},
        {"glossary": ["cat"]},
        {"glossary": {"cat": 3}},
        {"keep": "cat"},
        {"keep": [""]},
        {"keep": ["x"] * 201},
    ],
)
def test_what_is_no_glossary_is_refused(client, wrong):
    assert client.post("/v1/translate", json={"text": "cat"} | wrong).status_code == 400
    fields = {"q": "cat"} | LANGUAGES | wrong
    assert client.post("/translate", json=fields).status_code == 400


def test_a_server_has_terms_of_its_own(tiny_bundle, tmp_path):
    terms, others = tmp_path / "terms.tsv", tmp_path / "others.tsv"
    terms.write_text("cat\t궤짝\nmat\t돗자리\n", "utf-8")
    others.write_text("cat\t새\n", "utf-8")
    models = [f"{name}={tiny_bundle}" for name in ("one", "two")]
    options = ["--glossary", str(terms), "--glossary", f"two={others}"]
    with serving(tmp_path / "server", *models, *options) as server, server.client() as client:

        def said(model: str, text: str, **more: object) -> str:
            body = {"model": model, "text": text} | more
            return client.post("/v1/translate", json=body).json()["answers"][0]["text"]

        assert [said("one", "cat"), said("two", "cat")] == ["궤짝", "새"]
        assert said("one", "cat", glossary={"cat": "개"}) == "개"
        assert said("one", "mat", glossary={"cat": "개"}) == "돗자리"
