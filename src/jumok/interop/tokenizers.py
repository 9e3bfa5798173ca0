"""tokenizer.json of others with the ids of a bundle, and names for rows that have none."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jumok.bundle.huggingface import TOKENIZER
from jumok.bundle.reading import read_json_object
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.errors import BundleError, Location, optional_import

DESCRIPTION = "tokenizer_config.json"
WORDS, VOCABULARY, MERGES = "vocab.txt", "vocab.json", "merges.txt"


def read_tokenizer(folder: Path, model: str) -> dict[str, Any]:
    """The tokenizer in this folder as tokenizer.json has it, made of older files where needed.

    Args:
        model: the kind that the family has, "WordPiece" or "BPE".

    Raises:
        BundleError: there is none, it is damaged, or it is of another kind.
    """
    file = folder / TOKENIZER
    if not file.is_file():
        return _of_older_files(folder, model)
    described = read_json_object(file)
    JsonTokenizer(json.dumps(described).encode(), Location(file))  # the library reads it
    kind = described["model"]["type"]  # type: ignore[index]
    if kind != model:
        raise BundleError(
            "the tokenizer is not one of this family.",
            expected=model,
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
            made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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
    names = {id: piece for piece, id in described["model"]["vocab"].items()}
    names |= {each["id"]: each["content"] for each in described["added_tokens"]}
    if len(names) > rows or max(names, default=0) >= rows:
        raise BundleError(
            "the tokenizer is not this model's.",
            expected=f"at most {rows:,} subwords, as many as the model has rows",
            got=f"{max(len(names), max(names) + 1):,}",
            place=Location(place / TOKENIZER),
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
    pieces = [*special, *(names[id] for id in order[len(special) :])]
    ids = {piece: id for id, piece in enumerate(pieces)}
    added = [
        each | {"id": ids[each["content"]], "special": False}
        for each in described["added_tokens"]
        if ids.get(each["content"], 0) >= len(special)
    ]
    model = described["model"] | {"vocab": ids}
    if model.get("unk_token") is not None:
        model["unk_token"] = special[1]
    changed = {"added_tokens": added, "model": model, "post_processor": None}
    decoder = described["decoder"] or {"type": "WordPiece", "prefix": "##", "cleanup": True}
    whole = described | changed | {"padding": None, "truncation": None, "decoder": decoder}
    return json.dumps(whole, ensure_ascii=False).encode()
