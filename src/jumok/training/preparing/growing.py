"""Vocabularies that grow: frequent words of the new data, each a subword of its own.

Added subwords are cut out of a text before all others (`user_defined_symbols` of SentencePiece), so
a text without them is cut as before, and the old ids stay. Their rows begin as the mean of the rows
of the subwords that wrote them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch

from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.config import Config
from jumok.config.families import TranslationConfig
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.pair_tokenizer import PairTokenizer, SymbolTokenizer
from jumok.data.pairs.corpus import read_pairs
from jumok.data.pieces import USER_DEFINED, Piece, read_pieces, with_pieces
from jumok.data.tokenizer import SPACE, UNKNOWN, Tokenizer, normalize
from jumok.errors import ConfigError, Location
from jumok.shapes import Tensor
from jumok.training.preparing.pairs import corpora
from jumok.training.task import Reporter

WORD = re.compile(r"[^\W\d_]{2,}")
SHOWN = 5
OTHERS: dict[type[Tokenizer], str] = {
    PairTokenizer: "a vocabulary of two SentencePiece models, as of Marian",
    SymbolTokenizer: "a vocabulary of letters",
    JsonTokenizer: "a tokenizer.json, as of BART",
}
"""What other translators are cut by."""


def start_tokenizer(config: Config, bundle: Bundle, home: Path, say: Reporter) -> bytes:
    """The file of the bundle's tokenizer, with as many new subwords as [start] asks for.

    Raises:
        ConfigError: it cannot grow, or no word of the new data needs it.
    """
    file, start = bundle.folder / TOKENIZER, config.start
    if start is None or start.grow is None:
        return file.read_bytes()
    tokenizer = Tokenizer.load(file) if isinstance(config, TranslationConfig) else None
    if type(tokenizer) is not Tokenizer or not isinstance(config, TranslationConfig):
        kind = "a model of another task" if tokenizer is None else OTHERS[type(tokenizer)]
        raise ConfigError(
            "the vocabulary of this model cannot grow.",
            expected="a translator with one SentencePiece model",
            got=kind,
            do="leave out --grow-vocabulary (start.grow)",
            place=Location(file),
        )
    train, _ = corpora(config, home, say)
    texts = (
        text for one in train for each in read_pairs(one) for text in (each.source, each.target)
    )
    counts = Counter(word for text in texts for word in WORD.findall(normalize(text)))
    words = new_words(counts, tokenizer, start.grow)
    if not words:
        raise ConfigError("no word of the new data is cut into several subwords twice.")
    table = read_pieces(tokenizer.model)
    old = map(Piece, table.subwords, table.scores, table.types)
    grown = with_pieces(
        tokenizer.model, [*old, *(Piece(SPACE + word, 0.0, USER_DEFINED) for word in words)]
    )
    total = counts.total()
    before, after = (_cuts(counts, each) / total for each in (tokenizer, Tokenizer(grown)))
    say(
        f"vocabulary: {len(words):,} new subwords, such as {', '.join(words[:SHOWN])}: "
        f"{before:.2f} subwords a word of the new data become {after:.2f}"
    )
    return grown


def new_words(counts: Mapping[str, int], tokenizer: Tokenizer, most: int) -> list[str]:
    """The words, at least twice there, that save the most tokens as one subword each."""
    often = [word for word, count in counts.items() if count > 1]
    known = {*tokenizer.pieces(range(tokenizer.size))}
    saved = {
        word: counts[word] * (len(ids) - 1)
        for word, ids in zip(often, tokenizer.encode_batch(often), strict=True)
        if SPACE + word not in known and (len(ids) > 1 or UNKNOWN in ids)
    }
    return sorted(saved, key=lambda word: (-saved[word], word))[:most]


def _cuts(counts: Mapping[str, int], tokenizer: Tokenizer) -> int:
    cut = tokenizer.encode_batch([*counts])
    return sum(count * len(ids) for count, ids in zip(counts.values(), cut, strict=True))


def spelled(old: Path, grown: Path) -> list[list[int]]:
    """For each subword that a tokenizer has grown by, the ids that wrote it before."""
    before, after = Tokenizer.load(old), Tokenizer.load(grown)
    new = after.pieces(range(before.size, after.size))
    return before.encode_batch([piece.replace(SPACE, " ") for piece in new])


def grown_rows(rows: Tensor, old: Iterable[Sequence[int]]) -> Tensor:
    """The rows of a table, and those of new subwords: the mean of what wrote each, of unknown
    characters the mean of all rows.
    """
    means = []
    for ids in old:
        known = [id for id in ids if id != UNKNOWN]
        means.append((rows[known] if known else rows).float().mean(dim=0).to(rows.dtype))
    return torch.cat([rows, torch.stack(means)]) if means else rows
