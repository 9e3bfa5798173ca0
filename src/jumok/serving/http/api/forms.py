"""Request parsing for LibreTranslate: JSON, forms, files and query parameters."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.requests import RequestContext, read_body, repeated

REPEATED = "q"
"""The field that a form may have several times."""

OTHER_FIELDS = 64
"""The most fields of a form besides its texts."""

MOST_HEAD = 4096
"""The most bytes of a head of a part of a form."""

_DISPOSITION = re.compile(
    r"^content-disposition:[ \t]*form-data(.*)$", re.IGNORECASE | re.MULTILINE
)
_ENCODED = re.compile(r"^content-transfer-encoding:[ \t]*(?!7bit|8bit|binary)", re.I | re.M)
_PARAMETER = re.compile(r';[ \t]*([\w*]++)=(?:"((?:[^"\\]|\\.)*+)"|([^";\s]*+))')


@dataclass(frozen=True)
class SentFile:
    """A file in a form, under the name that the client gave it."""

    name: str
    content: bytes


def fields_of(context: RequestContext) -> dict[str, object]:
    """What a client sends: JSON, a form, or values in the address.

    Raises:
        RequestRefused: it is none of these, or the key is wrong.
    """
    kind, body = context.headers.get("content-type", ""), context.content
    fields: dict[str, object] = _gathered(context.query_params.multi_items())
    most = context.service.settings.limits.texts + OTHER_FIELDS
    kind_only = kind.partition(";")[0].strip().lower()
    sent: Mapping[str, object] = {}
    if kind_only == "application/json":
        sent = _json(body)
    elif kind_only == "multipart/form-data":
        sent = _multipart(kind, body, most)
    elif kind_only in ("application/x-www-form-urlencoded", ""):
        sent = _urlencoded(body, most)
    elif body:
        text = "The body must be JSON or a form."
        raise RequestRefused(415, "unsupported_media_type", text)
    for name in fields.keys() & sent.keys():
        raise repeated(name)  # in the address and in the body
    fields |= sent
    given = fields.get("api_key")
    key = given if isinstance(given, str) else context.bearer
    context.authorize(key, missing=400)
    return fields


def _json(body: bytes) -> Mapping[str, object]:
    try:
        value = read_body(body)
    except (ValueError, RecursionError):
        raise invalid("Invalid request: the body is not JSON.") from None
    if not isinstance(value, dict):
        raise invalid("Invalid request: the body is not a JSON object.")
    return value


def _gathered(pairs: Iterable[tuple[str, str | SentFile]]) -> dict[str, object]:
    """The fields of a form; a repeated q is an array of texts.

    Raises:
        RequestRefused: another field is repeated, of which only one value could be read.
    """
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name not in fields:
            fields[name] = value
        elif name == REPEATED:
            before = fields[name]
            if isinstance(before, list):
                before.append(value)
            else:
                fields[name] = [before, value]
        else:
            raise repeated(name)
    return fields


def _urlencoded(body: bytes, most: int) -> Mapping[str, object]:
    if body.count(b"&") >= most:
        raise _too_many_fields(most)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise invalid("Invalid request: the form is not UTF-8.") from None
    return _gathered((name, unified(value)) for name, value in pairs)


def _too_many_fields(most: int) -> RequestRefused:
    text = f"Invalid request: a form has at most {most} fields."
    return RequestRefused(400, "too_many_fields", text)


def _multipart(kind: str, body: bytes, most: int) -> Mapping[str, object]:
    """The fields of a form. (By RFC 7578.)"""
    boundary = _parameters(kind).get("boundary")
    if not boundary:
        return {}
    # What precedes the first boundary, the parts, and what follows the last.
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode(), most + 2)[1:]
    if len(parts) > most + 1:
        raise _too_many_fields(most)
    fields: list[tuple[str, str | SentFile]] = []
    for part in parts:
        if part.startswith(b"--"):
            break
        begin, _, content = part.partition(b"\r\n\r\n")
        head = begin[:MOST_HEAD].decode("utf-8", "replace")
        disposition = _DISPOSITION.search(head)
        known = _parameters(disposition[1] if disposition else "")
        if len(begin) > MOST_HEAD or "name" not in known or _ENCODED.search(head):
            raise invalid("Invalid request: the head of a part of the form is wrong.")
        encoded = known.get("filename*", "").partition("'")[2].partition("'")[2]  # by RFC 5987
        if "filename" in known or encoded:
            file = SentFile(unquote(encoded) or known["filename"], content)
            fields.append((known["name"], file))
            continue
        try:
            fields.append((known["name"], unified(content.decode())))
        except UnicodeDecodeError:
            raise invalid("Invalid request: the form is not UTF-8.") from None
    return _gathered(fields)


def _parameters(value: str) -> dict[str, str]:
    """The parameters of the value of a header."""
    return {
        match[1].lower(): match[3] if match[2] is None else re.sub(r'\\(["\\])', r"\1", match[2])
        for match in _PARAMETER.finditer(value)
    }


def unified(text: str) -> str:
    """The text with line ends of one kind."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
