"""Request parsing for LibreTranslate: JSON, forms, files and query parameters."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.parser import BytesParser
from urllib.parse import parse_qsl

from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.requests import RequestContext

REPEATED = "q"
"""The field that a form may have several times."""


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
    kind_only = kind.partition(";")[0].strip().lower()
    if kind_only == "application/json":
        fields |= _json(body)
    elif kind_only == "multipart/form-data":
        fields |= _multipart(kind, body)
    elif kind_only in ("application/x-www-form-urlencoded", ""):
        fields |= _urlencoded(body)
    elif body:
        text = "The body must be JSON or a form."
        raise RequestRefused(415, "unsupported_media_type", text)
    given = fields.get("api_key")
    key = given if isinstance(given, str) else context.bearer
    context.authorize(key, missing=400)
    return fields


def _json(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body)
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
            fields[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            raise invalid(f"Invalid request: {name[:40]} is given more than once", name[:40])
    return fields


def _urlencoded(body: bytes) -> Mapping[str, object]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict")
    except ValueError:
        raise invalid("Invalid request: the form is not UTF-8.") from None
    return _gathered((name, unified(value)) for name, value in pairs)


def _multipart(kind: str, body: bytes) -> Mapping[str, object]:
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields: list[tuple[str, str | SentFile]] = []
    for part in message.walk():
        content = part.get_payload(decode=True)
        try:
            name, file = part.get_param("name", header="content-disposition"), part.get_filename()
        except ValueError:  # the name of a character set holds a zero byte
            raise invalid("Invalid request: the head of a part of the form is wrong.") from None
        if isinstance(name, str) and isinstance(content, bytes):
            if file is not None:
                fields.append((name, SentFile(file, content)))
                continue
            try:
                fields.append((name, unified(content.decode())))
            except UnicodeDecodeError:
                raise invalid("Invalid request: the form is not UTF-8.") from None
    return _gathered(fields)


def unified(text: str) -> str:
    """The text with line ends of one kind."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
