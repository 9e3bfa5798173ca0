"""The tokenizer in the header of a GGUF file as tokenizer.json has it.

"gpt2" is BPE over bytes, cut before by a pattern that the file only names; "llama" is
SentencePiece: those neighbours are merged first whose subword has the highest score.

Source: src/llama-vocab.cpp (llama.cpp).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.pieces import CONTROL, USER_DEFINED
from jumok.errors import BundleError, DataError, Location
from jumok.interop.source import Source

GGML = "tokenizer.ggml."
NO_MERGE = ""
"""A merge where there are none: the package gguf writes no empty arrays."""
Part = dict[str, Any]


def of_bytes(*, regex: bool) -> Part:
    """The bytes of words, which the pattern of GPT-2 cuts if `regex`."""
    return {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": regex,
    }  # fmt: skip


def _split(digits: str) -> list[Part]:
    """As tiktoken cuts for GPT-4, with numbers of so many digits."""
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits +
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )  # fmt: skip
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return [cut, of_bytes(regex=False)]


PRETOKENIZERS: dict[str, list[Part]] = {
    "gpt-2": [of_bytes(regex=True)],
    "smollm": [{"type": "Digits", "individual_digits": True}, of_bytes(regex=True)],
    "llama-bpe": _split(r"\p{N}{1,3}"),
    "qwen2": _split(r"\p{N}"),
}
"""By tokenizer.ggml.pre."""


def described_tokenizer(source: Source) -> Part:
    """What tokenizer.json would say.

    Raises:
        BundleError: a value is missing or damaged, or the kind of tokenizer is not read.
    """
    values = {
        key.removeprefix(GGML): value
        for key, value in source.config.items()
        if key.startswith(GGML)
    }
    kind, before = values.get("model"), values.get("pre", "")
    if kind not in ("gpt2", "llama") or (kind == "gpt2" and before not in PRETOKENIZERS):
        raise BundleError(
            "the tokenizer of this file is of a kind that is not read.",
            expected=f"llama, or gpt2 with pre {', '.join(PRETOKENIZERS)}",
            got=f"{kind} {before}".strip(),
            do="import the model's folder of transformers, whose tokenizer.json says all",
            place=Location(source.path),
        )
    try:
        made = tokenizer_described_by(values)
        JsonTokenizer(json.dumps(made).encode())  # the library reads it
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, DataError) as error:
        raise BundleError(
            "the tokenizer of this file is damaged.",
            expected="tokens, their types, and merges or scores",
            got=f"{type(error).__name__}: {str(error)[:200]}",
            do="get an undamaged copy of the file",
            place=Location(source.path),
        ) from None
    return made


def tokenizer_described_by(values: Mapping[str, Any]) -> Part:
    """What tokenizer.json would say, given the values by their names after `GGML`."""
    if values["model"] == "llama":
        return _of_characters(values)
    return _over_bytes(values, str(values["pre"]))


def _over_bytes(values: Mapping[str, Any], before: str) -> Part:
    merges = [merge.split(" ", 1) for merge in values["merges"] if merge != NO_MERGE]
    model = {"type": "BPE", "merges": merges, "ignore_merges": before == "llama-bpe"}
    return _described(values, model) | {
        "normalizer": {"type": "NFC"} if before == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRETOKENIZERS[before]},
        "decoder": of_bytes(regex=True),
    }


def _of_characters(values: Mapping[str, Any]) -> Part:
    tokens, scores = values["tokens"], values["scores"]
    merges = list(_merges({token: (score, id) for id, (token, score) in _numbered(tokens, scores)}))
    unknown = tokens[values.get("unknown_token_id", 0)]
    model = {
        "type": "BPE", "merges": merges, "unk_token": unknown, "byte_fallback": True,
        "fuse_unk": True,
    }  # fmt: skip
    spaced = bool(values.get("add_space_prefix", True))
    mark = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    first = [{"type": "Prepend", "prepend": "▁"}] if spaced else []
    last = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if spaced else []
    unmark = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    steps = [unmark, {"type": "ByteFallback"}, {"type": "Fuse"}, *last]
    return _described(values, model) | {
        "normalizer": {"type": "Sequence", "normalizers": [*first, mark]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": steps},
    }


def _numbered(tokens: list[str], scores: list[float]) -> Iterator[tuple[int, tuple[str, float]]]:
    yield from enumerate(zip(tokens, scores, strict=True))


def _merges(known: Mapping[str, tuple[float, int]]) -> Iterator[list[str]]:
    """The pairs of subwords that are one, the best score first."""
    longest = 64  # a damaged file has a subword of millions of letters
    for token in sorted(known, key=lambda each: (-known[each][0], known[each][1])):
        cuts = range(1, len(token)) if len(token) <= longest else range(0)
        pairs = [
            (known[token[:cut]][1], known[token[cut:]][1], cut)
            for cut in cuts
            if token[:cut] in known and token[cut:] in known
        ]
        for _, _, cut in sorted(pairs):
            yield [token[:cut], token[cut:]]


def _described(values: Mapping[str, Any], model: Part) -> Part:
    tokens, types = values["tokens"], values["token_type"]
    added = [
        {
            "id": id, "content": token, "special": kind == CONTROL, "single_word": False,
            "lstrip": False, "rstrip": False, "normalized": False,
        }
        for id, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind in (CONTROL, USER_DEFINED)
    ]  # fmt: skip
    vocabulary = {token: id for id, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ValueError("a token is there twice")
    whole = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None}
    return whole | {"added_tokens": added, "model": model | {"vocab": vocabulary}}
