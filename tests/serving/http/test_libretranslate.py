"""LibreTranslate's routes, by its own client and by what other clients send."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from jumok.systems.translation.translator import Translator

JSON = "application/json"


@pytest.fixture(scope="module")
def translator(folders) -> Translator:
    return Translator.load(folders["en-ko"], device="cpu")


def plain(translator: Translator, text: str) -> str:
    return translator.translate([text])[0].text


def test_its_client_for_python_works_unchanged(served, translator):
    libre = LibreTranslateAPI(served.url)
    text = "the cat sat on the mat."
    assert libre.translate(text, "en", "ko") == plain(translator, text)
    english, korean = libre.languages()
    assert english == {"code": "en", "name": "English", "targets": ["en", "ko"]}
    assert korean == {"code": "ko", "name": "Korean", "targets": ["ko"]}
    first = libre.detect("the cat sat on the mat.")[0]
    assert first["language"] == "en"
    assert 50 < first["confidence"] < 100


ARGOS = """
import json, sys
from argostranslate.apis import LibreTranslateAPI

api = LibreTranslateAPI(sys.argv[1])
text = "the cat sat on the mat."
print(json.dumps([api.languages(), api.detect("the cat"), api.translate(text, "en", "ko")]))
"""


@pytest.fixture(scope="module")
def argostranslate(tmp_path_factory) -> Path:
    """A folder with the package alone: its client needs none of the engines that come with it."""
    folder = tmp_path_factory.mktemp("argos")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    done = subprocess.run(
        [*command, str(folder), "argostranslate==1.11.0"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"pip cannot install argostranslate: {done.stderr[-200:]}")
    return folder


def test_the_client_of_argostranslate_works_unchanged(served, translator, argostranslate):
    done = subprocess.run(
        [sys.executable, "-c", ARGOS, f"{served.url}/"],
        env=os.environ | {"PYTHONPATH": str(argostranslate)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    languages, detected, translated = json.loads(done.stdout)
    assert [each["code"] for each in languages] == ["en", "ko"]
    assert detected[0]["language"] == "en"
    assert translated == plain(translator, "the cat sat on the mat.")


@pytest.mark.parametrize("form", ["urlencoded", "multipart", "query", "json"])
def test_texts_come_in_four_forms(client, translator, form):
    fields = {"q": "the cat sat on the mat.", "source": "EN", "target": "ko-KR"}
    given: dict[str, object] = {
        "urlencoded": {"data": fields},
        "multipart": {"files": {name: (None, value) for name, value in fields.items()}},
        "query": {"params": fields},
        "json": {"json": fields},
    }[form]
    answer = client.post("/translate", **given)
    assert answer.json()["translatedText"] == plain(translator, fields["q"])


def test_line_breaks_and_texts_without_letters_stay(client, translator):
    cat, dog = plain(translator, "the cat sat"), plain(translator, "the dog barked")
    q = ["the cat sat\r\n\r\nthe dog barked", "\U0001f642 !", "..."]
    body = {"q": q, "source": "en", "target": "ko"}
    answer = client.post("/translate", json=body).json()["translatedText"]
    assert answer == [f"{cat}\n\n{dog}", "\U0001f642 !", "..."]


def test_what_is_odd_about_a_text_is_named(client):
    body = {"q": ["Кот сидел.", "..."], "source": "en", "target": "ko"}
    notes = client.post("/translate", json=body).json()["notes"]
    assert "unknown-script" in notes[0]
    assert notes[1] == []


def test_alternatives_are_the_next_best(client, translator):
    (best,) = translator.translate(["the cat sat"], nbest=3)
    body = {"q": "the cat sat", "source": "en", "target": "ko", "alternatives": 2}
    answer = client.post("/translate", json=body).json()
    assert answer["translatedText"] == best.text
    assert answer["alternatives"] == [each.text for each in best.alternatives]
    answer = client.post("/translate", json=body | {"q": ["the cat sat"]}).json()
    assert answer["alternatives"] == [[each.text for each in best.alternatives]]


def test_languages_that_no_model_reads_are_detected(client):
    first, *others = client.post("/detect", data={"q": "Où est la maison ?"}).json()
    assert (first["language"], first["confidence"] > 90) == ("fr", True)
    assert len(others) == 2
    (half,) = client.post("/detect", data={"q": "고양이 cat"}).json()[:1]
    assert half == {"confidence": 50.0, "language": "ko"}
    nothing = [{"confidence": 0.0, "language": "en"}]
    assert client.post("/detect", data={"q": "12"}).json() == nothing


def test_a_text_that_no_model_reads_is_refused_and_not_translated_from_another_language(
    client, translator
):
    body = {"q": ["the cat sat", "Où est la maison ?"], "source": "auto", "target": "ko"}
    answer = client.post("/translate", json=body)
    assert answer.status_code == 400
    assert "seems to be in French (fr, 9" in answer.json()["error"]
    body = {"q": "Où ?", "source": "auto", "target": "ko"}  # too short to be sure
    answer = client.post("/translate", json=body).json()
    assert answer["translatedText"] == plain(translator, "Où ?")
    assert answer["detectedLanguage"]["language"] == "en"
    assert answer["detectedLanguage"]["confidence"] < 50


def test_what_is_in_the_target_language_already_is_answered_as_it_is(client, translator):
    texts = ["고양이는 개를 봤어요.", "the cat sat"]
    answer = client.post("/translate", json={"q": texts, "source": "auto", "target": "ko"}).json()
    (best,) = translator.translate(texts[1:])
    assert answer["translatedText"] == [texts[0], best.text]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["ko", "en"]
    assert answer["unchanged"] == [True, False]
    alone = {"q": texts[0], "source": "auto", "target": "ko", "alternatives": 1}
    answer = client.post("/translate", json=alone).json()
    assert answer["translatedText"] == texts[0]
    assert answer["detectedLanguage"] == {"confidence": 100.0, "language": "ko"}
    assert answer["unchanged"] is True


@pytest.mark.parametrize("files", [None, {"x": ("x", b"")}])
def test_a_repeated_q_is_an_array_and_another_repeated_field_is_refused(client, translator, files):
    form = {"q": ["the cat sat", "the dog"], "source": "en", "target": "ko"}
    answer = client.post("/translate", data=form, files=files).json()
    assert answer["translatedText"] == [one.text for one in translator.translate(form["q"])]
    answer = client.post("/translate", data=form | {"target": ["ko", "en"]}, files=files)
    assert answer.status_code == 400
    assert "target is given more than once" in answer.text


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/translate?target=ko", '{"q": "the cat", "source": "en", "target": "ko"}'),
        ("/translate", '{"q": "the cat", "q": "the dog", "source": "en", "target": "ko"}'),
        ("/v1/translate", '{"text": "the cat", "text": "the dog"}'),
        ("/v1/translate", '{"text": "the cat", "glossary": {"cat": "a", "cat": "b"}}'),
    ],
)
def test_a_name_twice_is_refused_as_one_value_would_be_lost(client, route, body):
    answer = client.post(route, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert "is given more than once" in answer.text


def test_addresses_begin_with_the_path_of_a_proxy(client):
    form = {"source": "en", "target": "ko"}
    files = {"file": ("a.txt", b"the cat sat")}
    for prefix, path in (("/mt", "/mt/"), ("/a/b", "/a/b/"), ("//evil.org", "/"), ("x", "/")):
        headers = {"X-Forwarded-Prefix": prefix}
        answer = client.post("/translate_file", data=form, files=files, headers=headers).json()
        assert urlsplit(answer["translatedFileUrl"]).path.startswith(f"{path}download_file/")


def test_front_ends_are_given_their_settings(client):
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["target"] == {"code": "ko", "name": "Korean"}
    assert settings["keyRequired"] is settings["suggestions"] is False
    assert settings["filesTranslation"] is True
    assert ".docx" in settings["supportedFilesFormat"]
    assert client.get("/health").json() == {"status": "ok"}


OK = {"q": "a", "source": "en", "target": "ko"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"q": ""}, "missing q parameter"),
        ({"q": []}, "missing q parameter"),
        ({"q": None}, "missing q parameter"),
        ({"q": 3}, "q is a text or an array of texts"),
        ({"q": ["a", {}]}, "q is a text or an array of texts"),
        ({"source": None}, "missing source parameter"),
        ({"target": 1}, "missing target parameter"),
        ({"format": "pdf"}, "expected text or html"),
        ({"alternatives": 11}, "a number from 0 to 10"),
        ({"alternatives": -1}, "a number from 0 to 10"),
        ({"q": ["a"] * 257}, "at most 256 texts, and this one has 257"),
        ({"q": "word " * 20_000}, "at most 16384 tokens, and this one has about 33335"),
    ],
)
def test_what_cannot_be_translated_is_said(client, change, text):
    answer = client.post("/translate", json=OK | change)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert text in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/nothing", 404, "There is no such route."),
        ("GET", "/translate", 405, "This route does not answer GET."),
        ("DELETE", "/languages", 405, "This route does not answer DELETE."),
        ("POST", "/suggest", 403, "Suggestions are disabled on this server."),
        ("POST", "/translate_file", 400, "Invalid request: missing file parameter"),
    ],
)
def test_every_error_is_json(client, method, path, status, text):
    answer = client.request(method, path)
    assert (answer.status_code, answer.json()) == (status, {"error": text})


BODIES = [
    (b"{", JSON, 400),
    (b"[1]", JSON, 400),
    (b"\xff\xfe", JSON, 400),
    (b'{"q": "\\ud800", "source": "en", "target": "ko"}', JSON, 400),
    (b'{"q": "a\\u0000b", "source": "en", "target": "ko"}', JSON, 200),
    (b"[" * 50_000, JSON, 400),
    (b'{"q": ' + b"9" * 5_000 + b"}", JSON, 400),
    (b"q=%ff&source=en&target=ko", "application/x-www-form-urlencoded", 400),
    (b"<q/>", "text/xml", 415),
    (b"--", "multipart/form-data", 400),
    (b"--x\r\n\r\n", "multipart/form-data; boundary=x", 400),
    (
        b"--x\r\nContent-Disposition: form-data; name=q; filename*=utf-8\0''%ff\r\n\r\na\r\n--x--",
        "multipart/form-data; boundary=x",
        400,
    ),
    # Which would take minutes with the standard library's parser, or a list that grows by copying.
    (
        b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\na\r\n--x--' % (b";" * 500_000),
        "multipart/form-data; boundary=x",
        400,
    ),
    (
        b"--x\r\nContent-Disposition: form-data; name=q\r\n\r\na\r\n" * 15_000,
        "multipart/form-data; boundary=x",
        400,
    ),
    (b"q=a&" * 250_000, "application/x-www-form-urlencoded", 400),
    (
        b"--x\r\nContent-Disposition: form-data; name=q\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--x--",
        "multipart/form-data; boundary=x",
        400,
    ),
]


@pytest.mark.parametrize(("body", "kind", "status"), BODIES)
def test_no_body_makes_the_server_fail(client: httpx.Client, body, kind, status):
    answer = client.post("/translate", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text
    assert ("error" in answer.json()) == (status != 200)
