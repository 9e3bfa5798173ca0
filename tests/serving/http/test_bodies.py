"""No value of a field makes the server fail: what it cannot read, it refuses."""

import json
import random

import pytest

VALUES = [
    *(None, True, -1, 0, 1e308, 2**70, "", "\x00", "\ud800", "a" * 5000, "auto", "html", " "),
    *([], [[]], {}, [1], ["a", None], ["a"] * 3, ["\ud800"], {"a": {}}, {"layer": 0, "head": 1}),
    *("\u202e", "\n\n\n", "<p", "<a href='", "<b>a</i>", "&amp;&#xd800;", "[MASK]" * 3, "data:,"),
]
QUESTIONS = {
    "/translate": {
        "q": "the cat",
        "source": "en",
        "target": "ko",
        "format": "text",
        "alternatives": 1,
        "api_key": "",
    },
    "/detect": {"q": "a"},
    "/v1/translate": {
        "text": "a",
        "from": "en",
        "to": "ko",
        "beam": 1,
        "prefix": "",
        "alternatives": 1,
        "model": "en-ko",
        "return": ["tokens", "alignment"],
        "attention": {},
    },
    "/v1/completions": {
        "prompt": "a",
        "max_tokens": 2,
        "temperature": 1,
        "stop": ["b"],
        "n": 1,
        "seed": 1,
        "top_p": 0.5,
        "top_k": 3,
        "echo": True,
        "stream": False,
        "stream_options": {},
        "model": "letters",
    },
    "/v1/embeddings": {"input": "a", "encoding_format": "float", "dimensions": None},
    "/v1/fill": {"text": "the ___", "top": 2},
    "/v1/score": {"text": "a", "target": "b"},
    "/v1/classify": {"text": "a", "top": 1},
    "/v1/caption": {"image": "a", "looks": True},
}


@pytest.mark.parametrize("route", QUESTIONS)
def test_any_value_is_answered_or_refused(client, route):
    for field in QUESTIONS[route]:
        for value in VALUES:
            body = json.dumps(QUESTIONS[route] | {field: value})
            answer = client.post(route, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in (200, 400, 404, 413), (body, answer.text)


def test_damaged_bodies_are_refused(client):
    draw = random.Random(1)
    for _ in range(100):
        route = draw.choice(list(QUESTIONS))
        body = bytearray(json.dumps(QUESTIONS[route]).encode())
        body[draw.randrange(len(body))] = draw.randrange(256)
        content = bytes(body[: draw.randrange(1, len(body) + 1)])
        answer = client.post(route, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 400, 404, 413), (content, answer.text)
