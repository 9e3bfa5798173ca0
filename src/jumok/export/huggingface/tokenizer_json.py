"""A SentencePiece model as a tokenizer.json, which transformers and transformers.js read."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jumok.data.json_tokenizer import piece_of_byte
from jumok.data.pieces import (
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
from jumok.data.tokenizer import INVISIBLE, JOINERS, NEWLINE, SPACE
from jumok.errors import ConfigError
from jumok.export.rows import ExportedRows

UNREAD = -1e4
"""The score of a subword of Unigram that no text is cut into."""


def lacking(pieces: PieceTable) -> str | None:
    """What of it a tokenizer.json does not hold; None: it holds all."""
    if pieces.segmentation not in ("unigram", "bpe", "char"):
        return f"a tokenizer of whole {pieces.segmentation}s"
    if UNUSED in pieces.types:
        return "a tokenizer with unused subwords"
    if pieces.suffix or not pieces.escape:
        return "a tokenizer whose subwords do not begin with the space"
    if pieces.dummy_prefix and (within := _found_within_words(pieces)):
        return f"the subword {within[0]!r}, which is found within words, too"
    return "a tokenizer that changes what it decodes" if pieces.denormalized else None


def _found_within_words(pieces: PieceTable) -> list[str]:
    """Subwords that are found before a text is cut, and begin with no space.

    A tokenizer.json would normalise them as a text, with a space before them.
    """
    return [
        text
        for text, kind in zip(pieces.subwords, pieces.types, strict=True)
        if kind == USER_DEFINED and not text.startswith(SPACE) and text != NEWLINE
    ]


def tokenizer_json(
    model: bytes,
    rows: ExportedRows,
    template: Sequence[int | None],
    mask: str | None = None,
) -> dict[str, Any]:
    """The contents of the file.

    Args:
        model: of a bundle's tokenizer.
        template: our ids of the tokens around a text, which is None.
        mask: the name of the token after all others that a text is masked with.

    Raises:
        ConfigError: a tokenizer.json does not hold this tokenizer.
    """
    if model == BYTE_KIND:
        described = _of_bytes()
    elif model.startswith(b"{"):
        described = json.loads(model)
        described["added_tokens"] = [*_specials_of(described), *described["added_tokens"]]
    else:
        described = _of_sentencepiece(read_pieces(model))
    names = _renumber(described, rows)
    if mask is not None:
        _add(described, len(names), mask)
        described["added_tokens"].append(_token(len(names), mask, special=True))
    around = [None if id is None else names[rows.order[id]] for id in template]
    described["post_processor"] = _around(around, names)
    return described


def _of_bytes() -> dict[str, Any]:
    """Four special tokens, and all bytes by the letters that GPT-2 has for them."""
    bytes_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pieces = [*SPECIAL, *map(piece_of_byte, range(256))]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_token(id, name, special=True) for id, name in enumerate(SPECIAL)],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": bytes_level | {"use_regex": False},
        "decoder": bytes_level | {"use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": SPECIAL[UNKNOWN],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {piece: id for id, piece in enumerate(pieces)},
            "merges": [],
        },
    }


def _of_sentencepiece(pieces: PieceTable) -> dict[str, Any]:
    if (lacks := lacking(pieces)) is not None:
        raise ConfigError("a tokenizer.json does not hold this tokenizer.", got=lacks)
    lines = NEWLINE in pieces.subwords
    words = {
        "type": "Metaspace",
        "replacement": SPACE,
        "prepend_scheme": "never",
        "split": not any(SPACE in each[1:] for each in pieces.subwords),
    }
    if lines:  # whose breaks are a token
        pieces = _with_breaks(pieces)
        cut = {"type": "Split", "pattern": {"String": "\n"}, "behavior": "Isolated"}
        words = {"type": "Sequence", "pretokenizers": [cut | {"invert": False}, words]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(pieces),
        "normalizer": _normalizer(pieces, lines=lines),
        "pre_tokenizer": words,
        "decoder": _decoder(pieces, lines=lines),
        "model": _bpe(pieces) if pieces.segmentation == "bpe" else _unigram(pieces),
    }


def _with_breaks(pieces: PieceTable) -> PieceTable:
    """The line break is a subword like others."""
    at = pieces.subwords.index(NEWLINE)
    subwords, scores, types = list(pieces.subwords), list(pieces.scores), list(pieces.types)
    subwords[at], scores[at], types[at] = "\n", 0.0, NORMAL
    return replace(pieces, subwords=tuple(subwords), scores=tuple(scores), types=tuple(types))


def _renumber(described: dict[str, Any], rows: ExportedRows) -> list[str]:
    """Leaves the copies out; the names of the rows."""
    model = described["model"]
    known = model["vocab"]
    kept = [id for id in rows.kept() if id < len(known)]  # beside them the mask
    if isinstance(known, dict):
        pieces = sorted(known, key=known.__getitem__)
        model["vocab"] = {pieces[id]: row for row, id in enumerate(kept)}
    else:
        pieces = [piece for piece, _ in known]
        model["vocab"] = [known[id] for id in kept]
        model["unk_id"] = rows.order[UNKNOWN]
    described["added_tokens"] = [
        each | {"id": rows.order[each["id"]]}
        for each in described["added_tokens"]
        if each["id"] not in rows.copied
    ]
    names = [pieces[id] for id in kept]
    for each in described["added_tokens"]:  # that are called otherwise in the text
        names[each["id"]] = each["content"]
    return names


def _add(described: dict[str, Any], id: int, piece: str) -> None:
    known = described["model"]["vocab"]
    if isinstance(known, dict):
        known[piece] = id
    else:
        known.append([piece, UNREAD])


def _specials_of(described: dict[str, Any]) -> list[dict[str, Any]]:
    """The four special tokens of an imported tokenizer, which are only subwords in a bundle."""
    known = described["model"]["vocab"]
    if isinstance(known, dict):
        first = sorted(known, key=known.__getitem__)[: END + 1]
    else:  # their names there end with a space
        first = [piece.rstrip(" ") for piece, _ in known[: END + 1]]
        known[: END + 1] = [[piece, UNREAD] for piece in first]
    return [_token(id, name, special=True) for id, name in enumerate(first)]


def _token(id: int, content: str, *, special: bool) -> dict[str, Any]:
    sides = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": id, "content": content, **sides, "special": special}


def _added_tokens(pieces: PieceTable) -> list[dict[str, Any]]:
    """Special tokens, and those that are found in a text before it is cut, with ▁ for a space."""
    return [
        _token(id, text, special=kind != USER_DEFINED) | {"normalized": kind == USER_DEFINED}
        for id, (text, kind) in enumerate(zip(pieces.subwords, pieces.types, strict=True))
        if kind in (CONTROL, UNKNOWN_PIECE, USER_DEFINED)
    ]


def _normalizer(pieces: PieceTable, *, lines: bool) -> dict[str, Any]:
    """What `data/tokenizer.normalize` does, of `lines` in each, then SentencePiece's rules."""
    invisible = "".join(map(chr, INVISIBLE))
    controls = "\0-\t\x0b-\x1f" if lines else "\0-\x1f"
    steps: list[dict[str, Any]] = [
        _replaced(f"[{invisible}]", ""),
        _replaced(f"[{controls}\x7f-\x9f\u2028\u2029{SPACE}]", " "),
        _replaced(JOINERS.pattern, ""),
        {"type": "NFC"},
    ]
    if pieces.charsmap:
        rules = base64.b64encode(pieces.charsmap).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": rules})
    if pieces.remove_extra:
        steps.append(_replaced(" {2,}", " "))
        steps.append(_replaced("^ | $", ""))
    if pieces.dummy_prefix:
        steps.append({"type": "Prepend", "prepend": SPACE})
        if lines:  # an empty one has no prefix
            steps += [_replaced(f"^{SPACE}(?=\n)", ""), _replaced("\n(?=[^\n])", f"\n{SPACE}")]
    steps.append(_replaced(" ", SPACE))
    return {"type": "Sequence", "normalizers": steps}


def _replaced(pattern: str, by: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": by}


def _decoder(pieces: PieceTable, *, lines: bool) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        # without bytes a subword that is spelled <0x41> is no letter A
        *([{"type": "ByteFallback"}] if pieces.byte_fallback else []),
        {"type": "Fuse"},
    ]
    if pieces.dummy_prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
        if lines:
            steps.append({"type": "Replace", "pattern": {"String": "\n "}, "content": "\n"})
    return {"type": "Sequence", "decoders": steps}


def _unigram(pieces: PieceTable) -> dict[str, Any]:
    vocabulary = [
        [text, score if kind == NORMAL else UNREAD]
        for text, score, kind in zip(pieces.subwords, pieces.scores, pieces.types, strict=True)
    ]
    return {
        "type": "Unigram",
        "unk_id": UNKNOWN,
        "vocab": vocabulary,
        "byte_fallback": pieces.byte_fallback,
    }


def _bpe(pieces: PieceTable) -> dict[str, Any]:
    """Merges in the order of their subwords' scores: SentencePiece joins the best pair first."""
    ids = {text: id for id, text in enumerate(pieces.subwords)}
    usable = {
        text: score
        for text, score, kind in zip(pieces.subwords, pieces.scores, pieces.types, strict=True)
        if kind == NORMAL
    }
    merges = []
    for text in sorted(usable, key=lambda each: -usable[each]):
        cuts = ((text[:at], text[at:]) for at in range(1, len(text)))
        merges += [[left, right] for left, right in cuts if left in usable and right in usable]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": pieces.subwords[UNKNOWN],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": pieces.byte_fallback,
        "ignore_merges": False,
        "vocab": ids,
        "merges": merges,
    }


def _around(template: Sequence[str | None], names: Sequence[str]) -> dict[str, Any]:
    """A post-processor that puts tokens around a text, which is None."""
    single: list[dict[str, Any]] = []
    specials: dict[str, Any] = {}
    for name in template:
        if name is None:
            single.append({"Sequence": {"id": "A", "type_id": 0}})
            continue
        single.append({"SpecialToken": {"id": name, "type_id": 0}})
        specials[name] = {"id": name, "ids": [names.index(name)], "tokens": [name]}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 0}}]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": specials,
    }
