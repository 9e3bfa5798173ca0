"""Texts of a language that is not named."""

import json
import os
import shutil
from types import SimpleNamespace

import pytest

from jumok.data.pairs.cleaning.languages import written_in
from jumok.serving.http.api import languages
from jumok.serving.http.api.languages import likely_languages, reading_of
from jumok.serving.http.refusals import RequestRefused
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import serving

ENGLISH, FRENCH = "The cat sat on the mat.", "Le chat est sur la table de la cuisine."
KOREAN = "고양이는 개를 봤어요."


@pytest.mark.parametrize(
    ("text", "language", "least"),
    [
        ("Où est la maison ?", "fr", 90),
        ("THE CAT SAW A DOG.", "en", 90),
        ("<p class='der die das'>The <b>cat</b> saw it.</p>", "en", 70),
        ("https://example.de/die/der/das The cat saw it.", "en", 70),
        ("私は学生です", "ja", 99),
        ("Barna leker ute i hagen hele dagen.", "nb", 20),
        (KOREAN, "ko", 100),
    ],
)
def test_the_language_is_that_of_the_words(text, language, least):
    (first, confidence), *_ = likely_languages(text, ["en", "ko"])
    assert (first, confidence >= least) == (language, True), confidence


def test_a_code_that_is_served_keeps_its_name():
    assert likely_languages("Barna leker ute i hagen hele dagen.", ["no", "en"])[0][0] == "no"


LATIN = 100 / len(written_in("LATIN"))


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("the cat", ["en", "ko"], [("en", LATIN)]),
        ("the cat", ["en", "de"], [("en", LATIN), ("de", LATIN)]),
        ("고양이가", ["en", "fr"], [("ko", 100.0)]),
        ("고양이 cat", ["en", "ko"], [("ko", 50.0), ("en", LATIN / 2)]),
        ("кот", ["en", "ko"], []),
        ("123 ...", ["en"], []),
    ],
)
def test_without_the_extra_they_are_those_of_the_script(monkeypatch, text, known, expected):
    monkeypatch.setattr(languages, "identifier_installed", lambda: False)
    assert likely_languages(text, known) == expected


def model(source: str, target: str) -> SimpleNamespace:
    return SimpleNamespace(id=source, languages=(source, target))


def test_each_text_is_read_by_the_model_of_its_language():
    models = [model("en", "ko"), model("fr", "ko")]
    for text, language in ((ENGLISH, "en"), (FRENCH, "fr"), ("...", "en")):
        reading = reading_of(text, models)
        assert (reading.language, reading.model.id) == (language, language)
    assert reading_of(KOREAN, models).model is None
    with pytest.raises(RequestRefused, match="German"):
        reading_of("Wo ist das Haus?", models)
    corrects = model("ko", "ko")
    assert reading_of(KOREAN, [corrects]).model is corrects


@pytest.fixture(scope="module")
def server(folders, tmp_path_factory):
    """One model from English and one from French."""
    home = tmp_path_factory.mktemp("two")
    french = shutil.copytree(folders["en-ko"], home / "fr-ko")
    config = json.loads((french / "config.json").read_text())
    (french / "config.json").write_text(json.dumps(config | {"source_language": "fr"}))
    with serving(home, f"en-ko={folders['en-ko']}", f"fr-ko={french}") as server:
        yield server


def test_texts_of_several_languages_are_translated_by_their_models(server, folders):
    translator = Translator.load(folders["en-ko"], device="cpu")
    english, french = (each.text for each in translator.translate([ENGLISH, FRENCH]))
    with server.client() as client:
        body = {"q": [ENGLISH, KOREAN, FRENCH], "source": "auto", "target": "ko"}
        answer = client.post("/translate", json=body).json()
        assert answer["translatedText"] == [english, KOREAN, french]
        assert answer["unchanged"] == [False, True, False]
        body = {"text": [KOREAN, FRENCH], "from": "auto", "to": "ko"}
        answer = client.post("/v1/translate", json=body).json()
        assert answer["model"] == "fr-ko"
        assert [each["text"] for each in answer["answers"]] == [KOREAN, french]
        assert [each["unchanged"] for each in answer["answers"]] == [True, False]
        assert answer["answers"][1]["detected"]["language"] == "fr"
        answer = client.post("/v1/translate", json={"text": [ENGLISH, FRENCH], "from": "auto"})
        assert (answer.status_code, answer.json()["parameter"]) == (400, "text")
        form = {"source": "auto", "target": "ko"}
        for text, expected in ((ENGLISH, english), (FRENCH, french), (KOREAN, KOREAN)):
            files = {"file": ("a.txt", f"{text}\n".encode())}
            answer = client.post("/translate_file", data=form, files=files).json()
            assert client.get(answer["translatedFileUrl"]).text == f"{expected}\n"
            assert answer["unchanged"] is (text == KOREAN)


def test_a_server_without_the_extra_goes_by_the_letters(folders, tmp_path):
    (tmp_path / "fasttext.py").write_text("raise ImportError('there is no fasttext here')\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    variables = {"PYTHONPATH": path}
    with (
        serving(tmp_path, f"m={folders['en-ko']}", variables=variables) as server,
        server.client() as client,
    ):
        (first,) = client.post("/detect", data={"q": FRENCH}).json()
        assert first == {"language": "en", "confidence": round(LATIN, 1)}
        body = {"q": [ENGLISH, KOREAN], "source": "auto", "target": "ko"}
        answer = client.post("/translate", json=body).json()
        assert answer["unchanged"] == [False, True]
