"""A served model of several pairs of languages."""

import json
import shutil

import pytest

from jumok.errors import ConfigError
from jumok.systems.translation.translator import Translator
from tests.serving.http.process import serving


@pytest.fixture(scope="module")
def bundle(tiny_bundle, tmp_path_factory):
    """The tiny model, two of whose subwords become the names of languages."""
    folder = shutil.copytree(tiny_bundle, tmp_path_factory.mktemp("pairs") / "model")
    config = json.loads((folder / "config.json").read_text())
    config["languages"] = {"en": {}, "de": {"asked": 7}, "fr": {"asked": 9}}
    config["pairs"] = [["en", "de"], ["en", "fr"]]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_requests_choose_the_pair(bundle, tmp_path):
    text = "the cat sat on the mat."
    system = Translator.load(bundle, device="cpu")
    expected = {code: system.between("en", code).translate([text])[0].text for code in ("de", "fr")}
    with serving(tmp_path, f"both={bundle}") as server, server.client() as client:
        known = {each["code"]: each["targets"] for each in client.get("/languages").json()}
        assert known["en"] == ["de", "en", "fr"]
        for code, written in expected.items():
            asked = {"q": text, "source": "en", "target": code}
            assert client.post("/translate", json=asked).json()["translatedText"] == written
            own = {"text": text, "from": "en", "to": code}
            answer = client.post("/v1/translate", json=own).json()
            assert answer["answers"][0]["text"] == written
        assert client.post("/v1/translate", json={"text": text}).status_code == 400
        other = {"q": text, "source": "en", "target": "ko"}
        assert client.post("/translate", json=other).status_code == 400


def test_a_short_code_finds_the_one_language_that_it_may_mean(bundle, tmp_path):
    config = json.loads((bundle / "config.json").read_text())
    config["languages"] = {
        "eng_Latn": {}, "fra_Latn": {"asked": 7}, "zho_Hans": {"asked": 8},
        "zho_Hant": {"asked": 9},
    }  # fmt: skip
    config["pairs"] = [["eng_Latn", code] for code in list(config["languages"])[1:]]
    named = tmp_path / "named"
    shutil.copytree(bundle, named)
    (named / "config.json").write_text(json.dumps(config))
    text = "the cat sat on the mat."
    system = Translator.load(named, device="cpu")
    assert system.between("en", "fr") is system.between("eng_Latn", "fra_Latn")
    with pytest.raises(ConfigError, match="several pairs") as raised:
        system.between("en", "zh")
    assert "zho_Hans" in str(raised.value)
    assert "fra_Latn" not in str(raised.value)
    with serving(tmp_path, f"both={named}") as server, server.client() as client:
        known = {each["code"]: each["targets"] for each in client.get("/languages").json()}
        assert known["en"] == ["en", "fr", "zho_Hans", "zho_Hant"]
        for code in ("fra", "fr_XX", "zho_Hant", "zho_Hans"):
            (expected,) = system.between("en", code).translate([text])
            asked = {"q": text, "source": "en", "target": code}
            answer = client.post("/translate", json=asked).json()
            assert answer["translatedText"] == expected.text
            own = {"text": text, "from": "eng_Latn", "to": code, "model": "both"}
            answer = client.post("/v1/translate", json=own).json()
            assert answer["answers"][0]["text"] == expected.text
        for path, asked in (
            ("/translate", {"q": text, "source": "en", "target": "zh-CN"}),
            ("/v1/translate", {"text": text, "from": "en", "to": "zh"}),
        ):
            refused = client.post(path, json=asked)
            assert refused.status_code == 400
            assert "zho_Hans, zho_Hant" in refused.text
