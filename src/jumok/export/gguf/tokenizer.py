"""The tokenizer of a bundle as the header of a GGUF file has it.

A tokenizer.json fits if the header that is made of it is read as the same one
(`interop.gguf_tokenizer`): there is no second list of what llama.cpp cuts how.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from jumok.data.json_tokenizer import piece_of_byte
from jumok.data.pieces import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN_PIECE,
    UNUSED,
    USER_DEFINED,
    PieceTable,
    read_pieces,
)
from jumok.data.special_tokens import END, SPECIAL, UNKNOWN
from jumok.data.texts.tokenizer import BYTE_KIND
from jumok.data.tokenizer import NEWLINE
from jumok.errors import ConfigError
from jumok.interop.gguf_tokenizer import (
    NO_MERGE,
    PRETOKENIZERS,
    Part,
    tokenizer_described_by,
)

Values = dict[str, Any]
BY_ROW = "tokens", "token_type", "scores"
"""The lists with a value for each id."""
FITTING = 'tokenizer.kind = "byte" or "bpe" would fit'


def tokenizer_values(model: bytes) -> Values:
    """The values by their names after "tokenizer.ggml.", each id ours.

    Args:
        model: the bundle's file.

    Raises:
        ConfigError: llama.cpp has no tokenizer that gives the same ids.
    """
    if model == BYTE_KIND:
        tokens = [*SPECIAL, *map(piece_of_byte, range(256))]
        types = [CONTROL] * len(SPECIAL) + [NORMAL] * 256
        given = {"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": types}
        return given | {"merges": [NO_MERGE]}
    if model.startswith(b"{"):
        return _of_json(json.loads(model))
    return _of_pieces(read_pieces(model))


def reads_unknown(values: Values) -> bool:
    """Whether a text may hold what no token stands for."""
    return bool(values["model"] != "gpt2")


def with_rows(values: Values, kept: Sequence[int]) -> Values:
    """The values with these ids alone."""
    chosen = {key: [values[key][id] for id in kept] for key in BY_ROW if key in values}
    return values | chosen


def _of_pieces(pieces: PieceTable) -> Values:
    if (lacks := _lacking(pieces)) is not None:
        raise _unfit(lacks)
    tokens, types = list(pieces.subwords), list(pieces.types)
    if NEWLINE in tokens:  # found in a text before it is cut, and what follows is cut alone
        place = tokens.index(NEWLINE)
        tokens[place], types[place] = "\n", USER_DEFINED
    return {
        "model": "llama", "pre": "default", "tokens": tokens, "token_type": types,
        "scores": list(pieces.scores), "unknown_token_id": UNKNOWN,
        "add_space_prefix": pieces.dummy_prefix,
    }  # fmt: skip


def _lacking(pieces: PieceTable) -> str | None:
    if pieces.segmentation != "bpe":
        return f"a tokenizer of the kind {pieces.segmentation}; {FITTING}"
    if not pieces.byte_fallback:
        return "a tokenizer that does not write unknown characters as bytes"
    if UNUSED in pieces.types:
        return "a tokenizer with unused subwords"
    if pieces.charsmap or pieces.remove_extra or pieces.denormalized:
        return "a tokenizer that changes what it reads"
    if pieces.suffix or not pieces.escape:
        return "a tokenizer whose subwords do not begin with the space"
    return None


def _of_json(described: Part) -> Values:
    model = described["model"]
    if model["type"] != "BPE":
        raise _unfit(f"a tokenizer of the kind {model['type']}")
    ids = dict(model["vocab"]) | {each["content"]: each["id"] for each in described["added_tokens"]}
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        raise _unfit("a tokenizer with ids that no token has")
    merges = [list(_pair(merge)) for merge in model["merges"]]
    values: Values = {"tokens": tokens, "token_type": list(_types(described, tokens, merges))}
    candidates = (
        _of_characters(values, tokens, merges)
        if model.get("byte_fallback")
        else _over_bytes(values, merges)
    )
    for each in candidates:
        if _cut(tokenizer_described_by(each)) == _cut(described):
            return each
    known = ", ".join(PRETOKENIZERS)
    raise _unfit(f"a tokenizer that cuts texts otherwise than {known} and SentencePiece")


def _pair(merge: str | Sequence[str]) -> Sequence[str]:
    return merge.split(" ", 1) if isinstance(merge, str) else merge


def _types(
    described: Part, tokens: Sequence[str], merges: Sequence[Sequence[str]]
) -> Iterator[int]:
    """A subword that nothing is merged to is never read from a text: it controls the model."""
    made = {left + right for left, right in merges}
    given = {each["content"] for each in described["added_tokens"] if not each["special"]}
    falls_back = described["model"].get("byte_fallback")
    for id, token in enumerate(tokens):
        if token in given:
            yield USER_DEFINED
        elif id == UNKNOWN and falls_back:
            yield UNKNOWN_PIECE
        elif id <= END:
            yield CONTROL
        elif falls_back and len(token) == len("<0x00>") and token.startswith("<0x"):
            yield BYTE
        else:
            yield NORMAL if token in made or len(token) == 1 else CONTROL


def _over_bytes(values: Values, merges: Sequence[Sequence[str]]) -> Iterator[Values]:
    joined = [" ".join(merge) for merge in merges] or [NO_MERGE]
    for before in PRETOKENIZERS:
        yield values | {"model": "gpt2", "pre": before, "merges": joined}


def _of_characters(
    values: Values, tokens: Sequence[str], merges: Sequence[Sequence[str]]
) -> Iterator[Values]:
    """The earlier a merge, the higher the score of what it makes."""
    ranks: dict[str, float] = {}
    for left, right in merges:
        ranks.setdefault(left + right, -float(len(ranks)))
    scores = [ranks.get(token, 0.0) for token in tokens]
    for spaced in (True, False):
        yield values | {
            "model": "llama", "pre": "default", "scores": scores, "unknown_token_id": UNKNOWN,
            "add_space_prefix": spaced,
        }  # fmt: skip


def _cut(described: Part) -> Part:
    """What of a tokenizer.json decides on the ids of a text."""
    model = {key: value for key, value in described["model"].items() if value}
    if not model.get("byte_fallback"):
        model.pop("unk_token", None)  # there is a token for each byte
    model["merges"] = [list(_pair(merge)) for merge in described["model"]["merges"]]
    model.pop("fuse_unk", None)
    return {
        "model": model,
        "added": {each["content"] for each in described["added_tokens"] if not each["special"]},
        "normalizer": list(_steps(described.get("normalizer"), "normalizers")),
        "pre_tokenizer": list(_steps(described.get("pre_tokenizer"), "pretokenizers")),
    }


def _steps(part: Part | None, inside: str) -> Iterator[Part]:
    """Those of a sequence, without what changes no id."""
    if part is None:
        return
    if part["type"] == "Sequence":
        for each in part[inside]:
            yield from _steps(each, inside)
        return
    yield {key: value for key, value in part.items() if key != "trim_offsets"}


def _unfit(lacks: str) -> ConfigError:
    return ConfigError("llama.cpp has no tokenizer that gives the same ids.", got=lacks)
