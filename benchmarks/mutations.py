"""Requests that the routes expect, and how they are damaged."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

VALUES: list[object] = [
    *(None, True, -1, 0, 1e308, 2**70, "", "\x00", "\ud800", "a" * 5000, "auto", "html", " "),
    *([], [[]], {}, [1], ["a", None], ["a"] * 3, ["\ud800"], {"a": {}}, {"layer": 0, "head": 1}),
    *("\u202e", "\n\n\n", "<p", "<a href='", "<b>a</i>", "&amp;&#xd800;", "[MASK]" * 3, "data:,"),
]
"""Values that a field may not have, or hardly ever has."""

QUESTIONS: dict[str, dict[str, object]] = {
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
"""A request of each route that takes a body."""

OTHERS = (
    *("/", "/languages", "/frontend/settings", "/health", "/health/ready", "/metrics", "/suggest"),
    *(
        "/openapi.json",
        "/v1/models",
        "/v1/models/en-ko",
        "/v1/models/en-ko/card",
        "/translate_file",
    ),
    *("/download_file/a.txt", "/v1/chat/completions", "/nothing"),
)
"""Paths besides those of QUESTIONS."""

PIECES = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\\ud800", b"\\u0000", b"\\udfff\\ud800"),
    *(
        b"1e999",
        b"-0",
        b"NaN",
        b"Infinity",
        b"9" * 400,
        b"0x1",
        b"1.",
        b"'",
        b"//",
        b"\xef\xbb\xbf",
    ),
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\r\n", b"null", b"true", b"\xe2\x80\xae"),
)
"""What is put into a body."""

Draw = random.Random
Lines = list[bytes]


def _flipped(draw: Draw, body: bytes) -> bytes:
    damaged = bytearray(body)
    for _ in range(draw.randint(1, 4)):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def _inserted(draw: Draw, body: bytes) -> bytes:
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(body) + 1)
        body = body[:place] + draw.choice(PIECES) + body[place:]
    return body


def _removed(draw: Draw, body: bytes) -> bytes:
    begin, end = sorted(draw.randrange(len(body) + 1) for _ in range(2))
    return body[:begin] + body[end:]


def _repeated(draw: Draw, body: bytes) -> bytes:
    begin, end = sorted(draw.randrange(len(body) + 1) for _ in range(2))
    return body[:end] + body[begin:end] * draw.randint(1, 5) + body[end:]


def _deep(draw: Draw, body: bytes) -> bytes:
    depth, sign = draw.choice((10, 900, 1_100, 30_000)), draw.choice((b"[", b'{"a":', b'{"text":['))
    place = draw.choice((0, body.find(b":") + 1))
    return body[:place] + sign * depth + body[place:]


def _recoded(draw: Draw, body: bytes) -> bytes:
    return body.decode("latin-1").encode(
        draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-be"))
    )


def _noise(draw: Draw, body: bytes) -> bytes:
    return draw.randbytes(draw.randrange(2 * len(body)))


BODIES: tuple[Callable[[Draw, bytes], bytes], ...] = (
    *(_flipped, _inserted, _inserted, _removed, _repeated, _deep, _recoded, _noise),
)


def _fields(draw: Draw, question: dict[str, object]) -> dict[str, object]:
    """A question of which some fields have another value, are missing, or are unknown."""
    changed = dict(question)
    for _ in range(draw.randint(1, 3)):
        name = draw.choice([*changed, "model", "deadline_ms", "\x00", "\ud800"])
        if draw.random() < 0.2:
            changed.pop(name, None)
        else:
            changed[name] = draw.choice(VALUES)
    return changed


def _body(draw: Draw, path: str) -> tuple[bytes, bytes]:
    """A damaged body, and its type."""
    question = _fields(draw, QUESTIONS.get(path, {"q": "a", "source": "en", "target": "ko"}))
    form = draw.random()
    if form < 0.08:
        plain = {name: str(value).encode("utf-8", "replace") for name, value in question.items()}
        named = {name.encode("utf-8", "replace"): value for name, value in plain.items()}
        body, kind = urlencode(named).encode(), b"application/x-www-form-urlencoded"
    elif form < 0.16:
        parts = [
            b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
            % (
                name.encode("utf-8", "replace"),
                draw.choice((b"", b'; filename="a.html"', b"; filename*=utf-8''%ff")),
                str(value).encode("utf-8", "replace"),
            )
            for name, value in [*question.items(), ("file", "<p>a")]
        ]
        body = b"".join(parts) + b"--b--\r\n"
        kind = b"multipart/form-data; boundary=" + draw.choice(
            (b"b", b'"b"', b"", b"c", b"b" * 300)
        )
    else:
        body, kind = json.dumps(question).encode(), b"application/json"
    for _ in range(draw.choice((0, 1, 1, 2))):
        body = draw.choice(BODIES)(draw, body) if body else draw.randbytes(5)
    return body, kind


HEADERS = (
    *(b"X-Request-Deadline: soon", b"X-Request-Deadline: 1e9", b"X-Request-Deadline: 9" * 40),
    *(b"X-Request-Id: \xff\xfe", b"X-Request-Id: " + b"i" * 5_000, b"X-Request-Deadline: 0.001"),
    *(b"Authorization: Bearer", b"Authorization: Basic \xff", b"Authorization: Bearer \x80"),
    *(b"Content-Type: text/plain", b"Content-Type: application/json; charset=nothing"),
    *(b"Content-Type: ;;;", b"Content-Type: multipart/form-data", b"Content-Type: \xff/\xfe"),
    *(b"Content-Encoding: gzip", b"Expect: 100-continue", b"Connection: close", b"Cookie: \x00"),
    *(b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c", b"Origin: null", b"Accept: \x7f"),
    *(b"Connection: Upgrade\r\nUpgrade: websocket", b"Range: bytes=0-", b"X: " + b"x" * 70_000),
    *(
        b"X-Forwarded-For: \xff, 1",
        b"X-Forwarded-Proto: gopher",
        b": empty",
        b"no colon",
        b" folded",
    ),
    *(b"a: b\r\n" * 300 + b"c: d", b"Host:", b"Host: [::", b"Host: \xff", b"Forwarded: for=\x01"),
)
"""Lines that are put into a head."""


def _path(draw: Draw, path: str) -> bytes:
    """A path, damaged or with values after it."""
    if draw.random() < 0.85:
        return path.encode()
    ends = (
        *("?q=%ff&source=%00", "?" + "a=b&" * 500, "%00", "%2e%2e/", "/", "//", "#a", "%", "%zz"),
        *("?q=a&source=en&target=ko", "\xff", " ", "\x00", "a" * 70_000, ";a", "/../../etc/passwd"),
    )
    return path.encode() + draw.choice(ends).encode("latin-1")


def _framed(draw: Draw, body: bytes) -> tuple[Lines, bytes, bool]:
    """The lines that tell the body's length, the body as it is sent, and whether it is whole."""
    size, how = len(body), draw.random()
    if how < 0.9:
        return [b"Content-Length: %d" % size], body, True
    if how < 0.92:
        return [b"Content-Length: %d" % (size + draw.choice((1, 1_000, 10**6)))], body, False
    if how < 0.94:
        return [b"Content-Length: %d" % draw.randrange(size + 1)], body, True
    if how < 0.97:
        wrong = (b"-1", b"x", b"", b"1" * 30, b"0x10", b"1, 1", b"+1", b"1 1", b"%d.0" % size)
        lines = [b"Content-Length: " + draw.choice(wrong)]
        return lines + draw.choice(([], [b"Content-Length: %d" % size])), body, False
    sizes = (b"%x\r\n", b"-%x\r\n", b"%x;" + b"e" * 200 + b"\r\n", b"0%x\r\n", b"%xg\r\n")
    chunks = draw.choice(sizes) % size + body + draw.choice((b"\r\n", b"", b"\n"))
    chunks += draw.choice(
        (b"0\r\n\r\n", b"", b"0\r\nA: b\r\n\r\n", b"0\r\n" + b"a" * 999 + b"\r\n\r\n")
    )
    return [b"Transfer-Encoding: " + draw.choice((b"chunked", b"gzip, chunked"))], chunks, False


@dataclass(frozen=True)
class Damaged:
    """A request.

    Attributes:
        whole: whether the server has all of it, and so has to answer soon.
        in_step: whether the next request on its connection begins after it for both sides.
    """

    sent: bytes
    whole: bool
    in_step: bool


def request(draw: random.Random, host: str) -> Damaged:
    """A damaged request."""
    path = draw.choice([*QUESTIONS, *QUESTIONS, *OTHERS])
    body, kind = _body(draw, path)
    framing, sent, whole = _framed(draw, body)
    usual = b"POST" if path in QUESTIONS else draw.choice((b"GET", b"POST"))
    others = (b"GET", b"PUT", b"HEAD", b"OPTIONS", b"DELETE", b"PATCH", b"FOO", b"get", b"CONNECT")
    method = usual if draw.random() < 0.95 else draw.choice(others)
    version = b"HTTP/1.1" if draw.random() < 0.98 else draw.choice((b"HTTP/1.0", b"HTTP/9.9", b""))
    lines = [b"%s %s %s" % (method, _path(draw, path), version), b"Host: " + host.encode()]
    lines += [b"Content-Type: " + kind, *framing]
    in_step = framing == [b"Content-Length: %d" % len(body)] and method == usual
    if draw.random() < 0.15:
        lines.insert(draw.randint(1, len(lines)), draw.choice(HEADERS))
        in_step = False
    message = b"\r\n".join(lines) + b"\r\n\r\n" + sent
    if draw.random() < 0.02:
        return Damaged(_flipped(draw, message), False, False)
    return Damaged(message, whole, in_step)
