"""tokenizer.json of others with the ids of a bundle, and names for rows that have none."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.bundle.huggingface import TOKENIZER
from jumok.bundle.reading import read_json_object
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.errors import BundleError, Location, optional_import
from jumok.interop.vocabulary import Vocabulary

DESCRIPTION, SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
WORDS, VOCABULARY, MERGES = "vocab.txt", "vocab.json", "merges.txt"


def read_tokenizer(folder: Path, *models: str) -> dict[str, Any]:
    """The tokenizer in this folder as tokenizer.json has it, made of older files where needed.

    Args:
        models: the kinds that the family has: "WordPiece", "BPE", "Unigram".

    Raises:
        BundleError: there is none, it is damaged, or it is of another kind.
    """
    file = folder / TOKENIZER
    if not file.is_file():
        return _of_older_files(folder, models[0])
    described = read_json_object(file)
    JsonTokenizer(json.dumps(described).encode(), Location(file))  # the library reads it
    kind = described["model"]["type"]  # type: ignore[index]
    if kind not in models:
        raise BundleError(
            "the tokenizer is not one of this family.",
            expected=" or ".join(models),
            got=str(kind),
            place=Location(file),
        )
    return described


def _of_older_files(folder: Path, model: str) -> dict[str, Any]:
    with optional_import("reading a Hugging Face tokenizer", extra="huggingface"):
        import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers

    needed = [WORDS] if model == "WordPiece" else [VOCABULARY, MERGES]
    files = [folder / name for name in needed]
    for file in files:
        if not file.is_file():
            raise BundleError(
                "there is no tokenizer in this folder.",
                expected=f"{TOKENIZER}, or {' and '.join(needed)}",
                do="copy or download the whole folder again",
                place=Location(folder),
            )
    try:
        if model == "WordPiece":
            lower = described_value(folder, "do_lower_case", True)
            made = tokenizers.Tokenizer(models.WordPiece.from_file(str(files[0])))
            made.normalizer = normalizers.BertNormalizer(lowercase=bool(lower))
            made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            made.decoder = decoders.WordPiece()
        else:
            made = tokenizers.Tokenizer(models.BPE.from_file(*map(str, files)))
            first = bool(described_value(folder, "add_prefix_space", False))
            made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=first)
            made.decoder = decoders.ByteLevel()
        return dict(json.loads(made.to_str()))
    except Exception as error:  # the library has no class for faults of a file
        raise BundleError(
            "the tokenizer cannot be read.", got=str(error), place=Location(files[0])
        ) from None


def described_value(folder: Path, key: str, default: Any) -> Any:
    """A value of tokenizer_config.json; a token is given by its text."""
    file = folder / DESCRIPTION
    values = read_json_object(file) if file.is_file() else {}
    value = values.get(key, default)
    return value.get("content", default) if isinstance(value, dict) else value


def extra_tokens(folder: Path) -> list[str]:
    """The special tokens that are no subwords, in the order of their ids."""
    for name in (DESCRIPTION, SPECIAL_TOKENS):
        values = read_json_object(folder / name) if (folder / name).is_file() else {}
        for key in ("additional_special_tokens", "extra_special_tokens"):
            tokens = values.get(key)
            if isinstance(tokens, list):
                return [
                    str(each.get("content") if isinstance(each, dict) else each) for each in tokens
                ]
    return []


def known_id(file: Path, ids: dict[str, int], token: str) -> int:
    """The id of a special token there; a BundleError if there is none."""
    if token not in ids:
        raise BundleError(
            "the tokenizer lacks a token that this family needs.",
            expected=token,
            place=Location(file),
        )
    return ids[token]


def names_of(described: dict[str, Any], rows: int, place: Path) -> dict[int, str]:
    """The subwords by their ids there; a row without one gets a name that no text has.

    Raises:
        BundleError: there are more subwords than rows.
    """
    known = described["model"]["vocab"]
    if isinstance(known, dict):
        names = {id: piece for piece, id in known.items()}
    else:  # of Unigram, with scores
        names = dict(enumerate(piece for piece, _ in known))
    names |= {each["id"]: each["content"] for each in described["added_tokens"]}
    return named_rows(names, rows, place / TOKENIZER)


def named_rows(names: dict[int, str], rows: int, file: Path) -> dict[int, str]:
    """The names, and one that no text has for each row without one; raises as `names_of`."""
    if len(names) > rows or max(names, default=0) >= rows:
        raise BundleError(
            "the tokenizer is not this model's.",
            expected=f"at most {rows:,} subwords, as many as the model has rows",
            got=f"{max(len(names), max(names) + 1):,}",
            place=Location(file),
        )
    return {id: names.get(id, f"[row {id}]") for id in range(rows)}


def with_ids(
    described: dict[str, Any], order: Sequence[int], names: dict[int, str], special: Sequence[str]
) -> bytes:
    """The tokenizer with our ids.

    Args:
        order: for each of our ids that there.
        names: by their ids there.
        special: what ids 0 to 3 are called; text that looks like them is encoded as text.
    """
    stored = described["model"]
    controls = {each["content"] for each in described["added_tokens"] if each["special"]}
    pieces = list(special)
    for id in order[len(special) :]:
        name = f"[{names[id]}]" if names[id] in special else names[id]
        pieces.append(name)
    ids = {piece: id for id, piece in enumerate(pieces)}
    added = [
        each | {"id": ids[each["content"]]}
        for each in described["added_tokens"]
        if not each["special"] and ids.get(each["content"], 0) >= len(special)
    ]
    model = stored | {"vocab": ids}
    if stored["type"] == "Unigram":
        scores = dict(stored["vocab"])
        model["vocab"] = [
            # spaces are ▁ before the text is cut: a name with one is never found in it
            [f"{piece} " if id < len(special) or piece in controls else piece, score]
            for id, piece in enumerate(pieces)
            for score in (scores.get(piece, 0.0),)
        ]
        model["unk_id"] = 1
    elif stored.get("unk_token") is not None:
        model["unk_token"] = special[1]
    changed = {"added_tokens": added, "model": model, "post_processor": None}
    decoder = described["decoder"] or {"type": "WordPiece", "prefix": "##", "cleanup": True}
    whole = described | changed | {"padding": None, "truncation": None, "decoder": decoder}
    return json.dumps(whole, ensure_ascii=False).encode()


@dataclass(frozen=True)
class Marks:
    """The ids there of a text's begin and end, and of what fills it up; None: it has none."""

    start: int | None
    end: int | None
    pad: int | None


def causal_vocabulary(
    described: dict[str, Any], marks: Marks, rows: int, config: Path
) -> Vocabulary:
    """The vocabulary of a language model, whose marks come first; the end is also what it lacks.

    Raises:
        BundleError: there is no end, a mark is none of the rows, or there are more subwords.
    """
    names = names_of(described, rows, config.parent)
    ids = {name: id for id, name in names.items()}
    unknown = ids.get(described["model"].get("unk_token"))
    given = [marks.pad, unknown, marks.start, marks.end]
    if marks.end is None or any(id is not None and id not in names for id in given):
        raise BundleError(
            "the tokenizer's marks are not this model's.",
            expected=f"an end, and all below {rows:,}",
            got=f"pad {marks.pad}, start {marks.start}, end {marks.end}",
            place=Location(config),
        )
    first = [marks.end if id is None else id for id in given]
    copied = tuple(here for here in range(3) if first[here] in first[here + 1 :])
    special = [names[id] for id in first]
    for here in copied:
        special[here] = f"<|{('pad', 'unknown', 'start')[here]}|>"
        while special[here] in ids:
            special[here] = f"<{special[here]}>"
    order = (*first, *(id for id in range(rows) if id not in first))
    return Vocabulary(order, copied, rows, with_ids(described, order, names, special))
