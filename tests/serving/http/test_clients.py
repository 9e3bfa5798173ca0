"""The requests of programs that speak LibreTranslate's language, byte for byte as they send them.

Sources, read for the form of the requests: src/libse/AutoTranslate/LibreTranslate.cs of Subtitle
Edit; LibreTranslateTranslator of Linguist (translate-tools/core); libre_translate.rb of Mastodon;
weblate/machinery/libretranslate.py of Weblate. The texts are our own. At the end is what
LibreTranslate's own tests expect (libretranslate/tests/test_api).
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from jumok.systems.translation.translator import Translator
from tests.serving.http.process import ServedProcess, serving

TEXTS = ["the cat sat on the mat.", "I am a student.", "the dog barked."]


@pytest.fixture(scope="module")
def translator(folders) -> Translator:
    return Translator.load(folders["en-ko"], device="cpu")


@pytest.fixture(scope="module")
def keyed(tiny_bundle: Path, tmp_path_factory):
    """A server that asks for a key."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = folder / "keys"
    keys.write_text("a-key\n")
    keys.chmod(0o600)
    with serving(folder, f"m={tiny_bundle}", "--key-file", str(keys)) as server:
        yield server


def plain(translator: Translator, text: str) -> str:
    return translator.translate([text])[0].text


SUBTITLE_EDIT = {"Content-Type": "application/json", "accept": "application/json"}


def subtitle_edit(text: str) -> bytes:
    """JSON from joined strings: quotes and backslashes escaped, a line break as <br />."""
    escaped = text.strip().replace("\\", "\\\\").replace('"', '\\"').replace("\r\n", "<br />")
    return ('{"q": "' + escaped + '", "source": "en", "target": "ko"}').encode()


@pytest.mark.parametrize(
    "text", [*TEXTS, 'he said: "the cat".', "- a cat\r\n- a dog", "<i>the cat</i>", "a \\N b"]
)
def test_subtitle_edit_sends_a_line_of_subtitles(client, translator, text):
    body = subtitle_edit(text)
    answer = client.post("/translate", content=body, headers=SUBTITLE_EDIT)
    assert answer.status_code == 200, answer.text
    sent = json.loads(body)["q"]
    assert answer.json()["translatedText"] == plain(translator, sent)


def test_subtitle_edits_key_is_not_json_and_is_refused_as_such(keyed):
    """Its releases that were read leave out the comma before the key."""
    body = subtitle_edit("a cat")[:-1] + b' "api_key": "a-key" }'
    with keyed.client() as client:
        answer = client.post("/translate", content=body, headers=SUBTITLE_EDIT)
        assert answer.status_code == 400
        assert list(answer.json()) == ["error"]


LINGUIST = {
    "User-Agent": "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:99.0) Gecko/20100101 Firefox/99.0",
    "Accept": "*/*",
    "Accept-Language": "en-US,en;q=0.5",
    "Sec-Fetch-Dest": "empty",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/x-www-form-urlencoded",
}


def test_linguist_translates_the_nodes_of_a_page_at_the_same_time(served, translator):
    """A request for each node, all at once; each must get its own answer, and never null."""
    nodes = [f"{text} {number}" for number, text in enumerate(TEXTS * 8)]

    def ask(text: str) -> httpx.Response:
        fields = {"q": text, "source": "auto", "target": "ko", "format": "text"}
        content = urlencode(sorted(fields.items()))  # its library sorts the names
        return httpx.post(
            f"{served.url}/translate", content=content, headers=LINGUIST, timeout=120.0
        )

    with ThreadPoolExecutor(len(nodes)) as pool:
        answers = list(pool.map(ask, nodes))
    assert {answer.status_code for answer in answers} == {200}
    expected = [each.text for each in translator.translate(nodes)]
    assert [answer.json()["translatedText"] for answer in answers] == expected


def test_browsers_ask_first_whether_a_page_may_call(tiny_bundle, tmp_path):
    """A browser's preflight for JSON, as the custom translators of Linguist send it."""
    origin = "https://page.example.org"
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    with serving(tmp_path, f"m={tiny_bundle}", "--cors", "*") as server, server.client() as client:
        allowed = client.options("/translate", headers=asked)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] in ("*", origin)
        assert "content-type" in allowed.headers["access-control-allow-headers"].lower()
        body = {"q": "a cat", "source": "en", "target": "ko", "format": "text", "api_key": ""}
        answer = client.post("/translate", json=body, headers={"Origin": origin})
        assert isinstance(answer.json()["translatedText"], str)
        assert answer.headers["access-control-allow-origin"] in ("*", origin)


MASTODON = {
    "User-Agent": "Mastodon/4.5.0 (http.rb/5.3.1; +https://social.example/)",
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "Date": "Mon, 23 Nov 2026 10:00:00 GMT",
}
STATUS = [
    '<p><span class="h-card" translate="no"><a href="https://social.example/@ann" '
    'class="u-url mention">@<span>ann</span></a></span> the cat sat<br />on the mat.</p>'
    '<p>the dog barked <a href="https://social.example/tags/dogs" class="mention hashtag" '
    'rel="tag">#<span>dogs</span></a></p>',
    "a warning",
    "yes",
    "I am a student.",
]
"""The content of a status, the warning before it, an answer of its poll, and an image's text."""


def tags(text: str) -> list[str]:
    return re.findall(r"</?[a-z]+", text)


@pytest.mark.parametrize("source", ["auto", "en"])
def test_mastodon_sends_the_parts_of_a_status_as_html(client, translator, source):
    fields = {"q": STATUS, "source": source, "target": "ko", "format": "html", "api_key": None}
    body = json.dumps(fields, separators=(",", ":")).encode()
    answer = client.post("/translate", content=body, headers=MASTODON)
    assert answer.status_code == 200, answer.text
    found = answer.json()["translatedText"]
    assert len(found) == len(STATUS)
    for before, after in zip(STATUS, found, strict=True):
        assert sorted(tags(after)) == sorted(tags(before))
        assert re.findall('href="([^"]*)"', after) == re.findall('href="([^"]*)"', before)
    assert found[-1] == plain(translator, STATUS[-1])
    detected = answer.json().get("detectedLanguage")
    if source == "auto":
        assert [each["language"] for each in detected] == ["en"] * len(STATUS)
    else:
        assert detected is None


def test_mastodon_tells_a_wrong_key_from_too_many_requests(keyed):
    fields = {"q": ["a"], "source": "en", "target": "ko", "format": "html", "api_key": "wrong"}
    with keyed.client() as client:
        assert client.post("/translate", json=fields, headers=MASTODON).status_code == 403
        fields["api_key"] = "a-key"
        answer = client.post("/translate", json=fields, headers=MASTODON)
        assert len(answer.json()["translatedText"]) == 1


WEBLATE = {"User-Agent": "Weblate/5.15", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


def test_weblate_asks_for_the_languages_and_then_for_a_batch(client, translator):
    codes = [each["code"] for each in client.get("/languages", headers=WEBLATE).json()]
    assert {"en", "ko"} <= set(codes)
    q = ["the %s sat on the mat.", 'a <a href="%(url)s">cat</a>', "line one\nline two"]
    fields = {"api_key": "", "q": q, "source": "en", "target": "ko"}
    found = client.post("/translate", json=fields, headers=WEBLATE).json()["translatedText"]
    assert found[:2] == [plain(translator, text) for text in q[:2]]
    assert found[2].count("\n") == 1


def test_older_releases_of_weblate_send_a_form(client, translator):
    fields = {"api_key": "", "q": TEXTS[0], "source": "en", "target": "ko"}
    answer = client.post("/translate", data=fields, headers=WEBLATE)
    assert answer.json()["translatedText"] == plain(translator, TEXTS[0])


GIVEN = {"q": "Hello", "source": "en", "target": "ko"}


@pytest.mark.parametrize(
    ("route", "fields", "said"),
    [
        ("/translate", GIVEN | {"target": "zz"}, "zz is not supported"),
        ("/translate", GIVEN | {"source": "zz"}, "zz is not supported"),
        ("/translate", {"source": "en", "target": "ko"}, "Invalid request: missing q parameter"),
        ("/translate", {"q": "a", "target": "ko"}, "Invalid request: missing source parameter"),
        ("/translate", {"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ("/translate", GIVEN | {"format": "xml"}, "xml format is not supported"),
        ("/translate", GIVEN | {"alternatives": "abc"}, "Invalid request: alternatives"),
        ("/detect", {}, "Invalid request: missing q parameter"),
        ("/translate_file", {"source": "en", "target": "ko"}, "Invalid request: missing file"),
    ],
)
def test_what_libretranslates_tests_expect_of_refusals(client, route, fields, said):
    for given in ({"data": fields}, {"json": fields}):
        answer = client.post(route, **given)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(said)


@pytest.mark.parametrize("q", [["Hello", "World"], ["<p>Hello</p>", "<p>World</p>"]])
@pytest.mark.parametrize("form", ["text", "html"])
def test_what_libretranslates_tests_expect_of_arrays(client, q, form):
    body = {"q": q, "source": "auto", "target": "ko", "format": form, "alternatives": 2}
    answer = client.post("/translate", json=body).json()
    assert len(answer["translatedText"]) == len(answer["detectedLanguage"]) == 2
    assert {each["language"] for each in answer["detectedLanguage"]} == {"en"}
    assert ("alternatives" in answer) == (form == "text")
    if form == "html":
        assert tags(answer["translatedText"][0]) == tags(q[0])
    else:
        assert [type(each) for each in answer["alternatives"]] == [list, list]


def test_what_libretranslates_tests_expect_of_texts_without_words(client):
    one = client.post("/translate", data=GIVEN | {"q": "\U0001f600"}).json()
    assert one["translatedText"] == "\U0001f600"
    two = client.post("/translate", json=GIVEN | {"q": ["\U0001f600", "\U0001f601"]}).json()
    assert two["translatedText"] == ["\U0001f600", "\U0001f601"]


def test_what_libretranslates_tests_expect_of_detection(client):
    for given in ({"data": {"q": "Hello"}}, {"json": {"q": ["Hello there", "a second text"]}}):
        answer = client.post("/detect", **given)
        assert answer.status_code == 200, answer.text
        assert answer.json()[0]["language"] == "en"
        assert answer.json()[0]["confidence"] > 0
    assert client.get("/detect").status_code == 405


def test_what_libretranslates_tests_expect_of_the_settings_and_files(client):
    settings = client.get("/frontend/settings").json()
    assert settings["apiKeys"] is settings["keyRequired"] is settings["suggestions"] is False
    assert settings["language"]["source"]["code"] == "auto"
    assert ".txt" in settings["supportedFilesFormat"]
    for source in ("en", "auto"):
        file = {"file": ("test.txt", b"the cat sat on the mat.")}
        form = {"source": source, "target": "ko"}
        address = client.post("/translate_file", data=form, files=file).json()["translatedFileUrl"]
        path = address[address.index("/download_file") :]
        assert client.get(path).content not in (b"", b"the cat sat on the mat.")
    for change in ({"target": "zz"}, {"source": "zz"}):
        answer = client.post("/translate_file", data=GIVEN | change, files=file)
        assert (answer.status_code, answer.json()["error"]) == (400, "zz is not supported")


def test_what_libretranslates_tests_expect_of_keys(keyed: ServedProcess):
    with keyed.client() as client:
        assert client.post("/translate", data=GIVEN).status_code == 400
        wrong = client.post("/translate", data=GIVEN | {"api_key": "bogus"})
        assert (wrong.status_code, list(wrong.json())) == (403, ["error"])
        assert client.post("/translate", data=GIVEN | {"api_key": "a-key"}).status_code == 200
        assert client.post("/translate", json=GIVEN | {"api_key": "a-key"}).status_code == 200
        settings = client.get("/frontend/settings").json()
        assert settings["apiKeys"] is settings["keyRequired"] is True
