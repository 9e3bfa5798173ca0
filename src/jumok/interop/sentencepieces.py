"""SentencePiece models of others with the ids of a bundle."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from jumok.bundle.huggingface import TOKENIZER
from jumok.data.pieces import (
    CONTROL,
    NORMAL,
    UNKNOWN_PIECE,
    UNUSED,
    Piece,
    read_pieces,
    with_pieces,
)
from jumok.data.special_tokens import SPECIAL, START
from jumok.errors import BundleError, DataError, Location
from jumok.interop.source import Source
from jumok.interop.tokenizers import known_id, named_rows, names_of, read_tokenizer, with_ids
from jumok.interop.vocabulary import Vocabulary, order_of

MODELS = "sentencepiece.bpe.model", "spiece.model"
TYPES = CONTROL, UNKNOWN_PIECE, CONTROL, CONTROL

NameRows = Callable[[Path, Sequence[str]], Mapping[int, str]]
"""(folder, subwords of a SentencePiece model) -> the names of the rows of a table."""


def text_vocabulary(
    source: Source, rows: int, special: tuple[int, int | str, int], rule: NameRows
) -> Vocabulary:
    """The rows of a table and the tokenizer of texts: tokenizer.json where there is one, which cuts
    control characters and runs of spaces as transformers does; otherwise a SentencePiece model.

    Args:
        special: the rows of PAD, START and END; or the name of START.
        rule: for folders without a tokenizer.json.

    Raises:
        BundleError: there is neither, or they are damaged or not the model's.
    """
    folder, (pad, start, end) = source.folder, special
    file = next((folder / name for name in MODELS if (folder / name).is_file()), None)
    if file is None or (folder / TOKENIZER).is_file():
        file, described = folder / TOKENIZER, read_tokenizer(folder, "Unigram", "BPE")
        names = names_of(described, rows, folder)
    else:
        described = None
        names = named_rows(dict(rule(folder, read_pieces(read_model(file)).subwords)), rows, file)
    ids = {name: row for row, name in names.items()}
    unknown = known_id(file, ids, "<unk>")
    if isinstance(start, str):
        start = known_id(file, ids, start)
    if max(pad, start, end) >= rows:
        raise BundleError(
            "a special token is none of the vocabulary.",
            expected=f"ids below {rows:,}",
            got=f"pad_token_id = {pad}, decoder_start_token_id = {start}, eos_token_id = {end}",
            place=Location(source.config_file),
        )
    copied = names[start] != SPECIAL[START]
    order = order_of(pad, unknown, start, end, rows, copied=copied)
    copies = (START,) if copied else ()
    if described is not None:
        return Vocabulary(order, copies, rows, with_ids(described, order, names, SPECIAL))
    made, unknowns = _with_our_ids(read_model(file), [names[row] for row in order])
    more = range(len(order), len(order) + unknowns)
    return Vocabulary((*order, *[unknown] * unknowns), (*copies, *more), rows, made)


def read_model(file: Path) -> bytes:
    """The SentencePiece model in a file; a BundleError if it is none."""
    model = file.read_bytes()
    try:
        read_pieces(model)
    except DataError as error:
        raise BundleError(error.what, place=Location(file)) from None
    return model


def _with_our_ids(model: bytes, names: Sequence[str]) -> tuple[bytes, int]:
    """The model with subwords of these names; those that it has not are never made of a text. Then
    come its subwords without a name: their number.
    """
    table = read_pieces(model)
    known = {
        text: Piece(text, score, kind)
        for text, score, kind in zip(table.subwords, table.scores, table.types, strict=True)
        if kind not in TYPES
    }
    pieces = [Piece(name, 0.0, kind) for name, kind in zip(SPECIAL, TYPES, strict=True)]
    for name in names[len(SPECIAL) :]:
        shown = f"[{name}]" if name in SPECIAL else name
        pieces.append(known.pop(name, Piece(shown, 0.0, CONTROL)))
    return with_pieces(model, [*pieces, *known.values()]), len(known)


def of_these_words(file: Path, words: Collection[str]) -> bytes:
    """The SentencePiece model, which cuts texts into these subwords where it can, as its function
    SetVocabulary makes it; a BundleError if it is none.
    """
    model = read_model(file)
    known, table = set(words), read_pieces(model)
    kinds = [
        UNUSED if kind == NORMAL and len(text) > 1 and text not in known else kind
        for text, kind in zip(table.subwords, table.types, strict=True)
    ]
    if kinds == list(table.types):
        return model
    return with_pieces(model, map(Piece, table.subwords, table.scores, kinds))
