"""The options of decoding over HTTP are those of the library, with its limits."""

import json
from dataclasses import replace

import pytest
from click import Context
from typer.main import get_command

from jumok.cli.main import app
from jumok.decoding.options import FOR_TRANSLATION, DecodingOptions
from jumok.systems.language_model import LanguageModel
from jumok.systems.translation.translator import Translator

TEXT = "the cat sat"
CHANGES = [
    {"length_penalty": 0.0, "length_rule": "power", "patience": None},
    {"minimum_length": 4, "maximum_length": 6},
    {"beam": 2, "no_repeat_ngram": 1, "coverage_penalty": 2.0},
    {"beam": 1, "frequency_penalty": 1.5},
    {"sample": True, "temperature": 1.5, "top_k": 9, "top_p": 0.9, "min_p": 0.01, "seed": 5},
]
PAIR = {"source": "en", "target": "ko"}


@pytest.fixture(scope="module")
def translator(folders) -> Translator:
    return Translator.load(folders["en-ko"], device="cpu")


@pytest.mark.parametrize("options", CHANGES, ids=" ".join)
def test_translations_are_those_of_the_options(client, translator, options):
    (expected,) = translator.translate([TEXT], replace(FOR_TRANSLATION, **options))
    answer = client.post("/v1/translate", json={"text": TEXT, **options}).json()["answers"][0]
    assert answer["text"] == expected.text
    assert answer["score"] == pytest.approx(expected.score, abs=1e-4)
    answer = client.post("/translate", json={"q": TEXT, **PAIR, **options}).json()
    assert answer["translatedText"] == expected.text
    form = {name: str(value) for name, value in options.items() if value is not None}
    if "patience" not in options:  # a form has no null
        answer = client.post("/translate", data={"q": TEXT, **PAIR, **form}).json()
        assert answer["translatedText"] == expected.text


def test_samples_do_not_depend_on_what_is_asked_with_them(client, translator):
    options = {"sample": True, "seed": 3, "temperature": 2.0}
    texts = [TEXT, "I am a student", TEXT]
    found = client.post("/v1/translate", json={"text": texts, **options}).json()["answers"]
    expected = [
        translator.translate([text], replace(FOR_TRANSLATION, **options))[0].text for text in texts
    ]
    assert [each["text"] for each in found] == expected


def test_a_text_may_be_searched_for(client, folders):
    letters = LanguageModel.load(folders["letters"], device="cpu")
    options = DecodingOptions(beam=3, length_penalty=0.5, no_repeat_ngram=3)
    body = {"model": "letters", "prompt": "the cat", "max_tokens": 12, "beam": 3}
    body |= {"length_penalty": 0.5, "no_repeat_ngram": 3}
    answer = client.post("/v1/completions", json=body).json()
    expected = "".join(letters.generate("the cat", options, max_tokens=12))
    assert answer["choices"][0]["text"] == expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"beam": 65}, "beam is at most 64 on this server, and 65 was asked for"),
        ({"maximum_length": 20_000}, "maximum_length is at most 16384 on this server"),
        ({"minimum_length": 9, "maximum_length": 3}, "Expected: minimum_length <= 3"),
        ({"minimum_length": 200, "text": ["a"] * 100}, "at most 16384 tokens"),
        ({"length_rule": "long"}, "length_rule: Input should be 'google' or 'power'"),
        ({"top_p": 1.5, "sample": True}, "top_p: Input should be less than or equal to 1"),
        ({"temperature": 0, "sample": True}, "temperature: Input should be greater than 0"),
        ({"temperature": 0.5}, "these options are for sampling. Got: temperature"),
        ({"frequency_penalty": 1.0}, "need greedy decoding or sampling"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)
def test_options_out_of_range_are_refused(client, options, text):
    answer = client.post("/v1/translate", json={"text": "a", **options})
    assert answer.status_code == 400
    assert text in answer.json()["detail"]
    if "text" not in options:
        answer = client.post("/translate", json={"q": "a", **PAIR, **options})
        assert answer.status_code == 400
        assert text in answer.json()["error"]


ABOUT_TEXTS = {"Search", "Length and repetition", "Sampling", "Sentences and terms", None}
ELSEWHERE: dict[str, dict[str, str]] = {
    "translate": {
        "model": "model", "files": "text",  # what is translated, and with what
        "nbest": "alternatives",  # as LibreTranslate calls them
        "from_": "from",  # a word of Python
        "format": "", "encoding": "",  # of a file: /translate_file goes by its name
    },
    "caption": {"model": "model", "images": "image", "nbest": "alternatives"},
    "generate": {
        "model": "model", "prompt": "prompt",
        "samples": "n",  # as OpenAI calls them
        "greedy": "temperature",  # 0, as with OpenAI
        "chat": "",  # /v1/chat/completions
    },
}  # fmt: skip
"""Arguments and options of commands, and what they are called in a request; "": nothing."""


@pytest.mark.parametrize(
    ("verb", "request_model"),
    [
        ("translate", "TranslateRequest"),
        ("caption", "CaptionRequest"),
        ("generate", "CompletionRequest"),
    ],
)
def test_every_option_of_a_command_about_its_texts_is_a_field(client, verb, request_model):
    group = get_command(app)
    options = {
        option.name
        for option in group.get_command(Context(group), verb).params
        if getattr(option, "rich_help_panel", None) in ABOUT_TEXTS
    }
    assert ELSEWHERE[verb].keys() <= options
    called = {ELSEWHERE[verb].get(name, name) for name in options} - {""}
    schema = client.get("/openapi.json").json()["components"]["schemas"][request_model]
    assert called <= schema["properties"].keys()
    assert "Never repeat an n-gram" in schema["properties"]["no_repeat_ngram"]["description"]


def test_texts_are_cut_and_kept_as_the_request_says(client, translator):
    text = "the cat {name} sat. the dog sat."
    for options, arguments in (
        ({"split": "none"}, {"split": "none"}),
        ({"split": "sentences"}, {"split": "sentences"}),
        ({"no_keep": True}, {"keep": False}),
    ):
        (expected,) = translator.translate([text], **arguments)
        answer = client.post("/v1/translate", json={"text": text, **options}).json()["answers"][0]
        assert answer["text"] == expected.text
        form = {name: json.dumps(value).strip('"') for name, value in options.items()}
        answer = client.post("/translate", data={"q": text, **PAIR, **form}).json()
        assert answer["translatedText"] == expected.text
    for wrong in ({"split": "never"}, {"no_keep": True, "keep": ["cat"]}):
        assert client.post("/v1/translate", json={"text": text, **wrong}).status_code == 400
        assert client.post("/translate", json={"q": text, **PAIR, **wrong}).status_code == 400
