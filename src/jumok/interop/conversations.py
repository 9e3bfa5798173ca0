"""The chat templates of others: in a file of their own, in tokenizer_config.json, or in GGUF."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumok.bundle.card import LONGEST_TEMPLATE, ChatFormat
from jumok.bundle.huggingface import TOKENIZER
from jumok.bundle.reading import read_json_object
from jumok.data.pieces import CONTROL, USER_DEFINED
from jumok.errors import BundleError, Location
from jumok.interop.gguf_tokenizer import GGML
from jumok.interop.source import Source
from jumok.interop.tokenizers import DESCRIPTION, described_value

TEMPLATE_FILE = "chat_template.jinja"
GGUF_TEMPLATE = "tokenizer.chat_template"


def chat_format(plan: Any) -> ChatFormat | None:
    """How the model reads conversations; None: it has no template.

    Raises:
        BundleError: the template is no text, or too long.
    """
    source, tokenizer = plan.source, plan.tokenizer
    template = _template(source)
    if not template or tokenizer is None:
        return None
    if not isinstance(template, str) or len(template) > LONGEST_TEMPLATE:
        raise BundleError(
            "the chat template cannot be read.",
            expected=f"a text of up to {LONGEST_TEMPLATE:,} characters",
            place=Location(source.path),
        )
    named = {each: id for id, each in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    start, end = _ends(source)
    found = sorted({each for each in _controls(source) if each in template} | {start, end} - {""})
    marks = tuple(each for each in found if each in named)
    return ChatFormat(template, marks, start, end)


def _template(source: Source) -> object:
    if GGUF_TEMPLATE in source.config:
        return source.config[GGUF_TEMPLATE]
    file = source.folder / TEMPLATE_FILE
    if file.is_file():
        with file.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(LONGEST_TEMPLATE + 1)
    template = _described(source.folder).get("chat_template")
    if isinstance(template, list):  # several, by their names
        named = {each.get("name"): each.get("template") for each in template}
        return named.get("default")
    return template


def _described(folder: Path) -> dict[str, object]:
    file = folder / DESCRIPTION
    return read_json_object(file) if file.is_file() else {}


def _ends(source: Source) -> tuple[str, str]:
    """bos_token and eos_token of the template."""
    if GGUF_TEMPLATE not in source.config:
        found = [described_value(source.folder, f"{each}_token", "") for each in ("bos", "eos")]
        return str(found[0] or ""), str(found[1] or "")
    tokens = source.config[f"{GGML}tokens"]
    ids = [source.config.get(f"{GGML}{each}_token_id") for each in ("bos", "eos")]
    assert isinstance(tokens, list)
    start, end = (tokens[id] if isinstance(id, int) else "" for id in ids)
    return start, end


def _controls(source: Source) -> Iterator[str]:
    """The texts that the tokenizer there reads as one token each."""
    if GGUF_TEMPLATE in source.config:
        tokens, types = (source.config[f"{GGML}{each}"] for each in ("tokens", "token_type"))
        assert isinstance(tokens, list)
        assert isinstance(types, list)
        yield from (
            token
            for token, kind in zip(tokens, types, strict=True)
            if kind in (CONTROL, USER_DEFINED)
        )
        return
    file = source.folder / TOKENIZER
    for each in json.loads(file.read_bytes())["added_tokens"] if file.is_file() else ():
        yield each["content"]
