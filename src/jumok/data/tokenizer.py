"""Text to ids and back: a SentencePiece model whose four special tokens never come from text."""

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from math import exp, floor, log, log1p
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
import sentencepiece

from jumok.data import special_tokens
from jumok.data.files.atomic import write_durably
from jumok.data.pieces import read_pieces
from jumok.data.sampling import MergeSampler, UnigramSampler, piece_sampler
from jumok.data.word_ids import WordIds, words_decide
from jumok.errors import ConfigError, DataError, Location
from jumok.places import import_string

PAD, UNKNOWN = special_tokens.PAD, special_tokens.UNKNOWN
START, END = special_tokens.START, special_tokens.END
SPECIALS = {"pad_id": PAD, "unk_id": UNKNOWN, "bos_id": START, "eos_id": END}
SPACE = "▁"  # how SentencePiece writes the space before a word
NEWLINE = "<newline>"  # the token of a line break, which no text is encoded as

OTHER_KINDS = {
    b'{"jumok": "two': "jumok.data.pair_tokenizer:PairTokenizer",
    b'{"jumok": "letters': "jumok.data.pair_tokenizer:SymbolTokenizer",
    b"{": "jumok.data.json_tokenizer:JsonTokenizer",
}
"""The beginnings of the files of imported tokenizers, and the classes that read them."""

SAMPLE = 300_000
"""The lines that a tokenizer is trained on, at most."""

CAPITALS = 0.02  # of the subwords that begin words, the least share of those with a capital

TextLine = TypeVar("TextLine", str, bytes)
TokenizerKind = Literal["unigram", "bpe", "char"]

# Control characters would break the line contract of the output; SPACE is a space to SentencePiece.
BLANKS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, ord(SPACE)], " ")
# Soft hyphens, byte order marks, joiners, and marks of the direction are no part of a word.
INVISIBLE: dict[int, None] = dict.fromkeys(
    [0xAD, 0x34F, 0x61C, 0x180E, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, 0xFEFF]
) | dict.fromkeys(range(0x2066, 0x206A))
REPLACED = BLANKS | INVISIBLE
# Scripts whose letters are not joined.
_UNJOINED = r"[A-Za-z\u00c0-\u024f\u0370-\u052f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
_JOINER = "[\u200b-\u200d\ufe00-\ufe0f]+"
JOINERS = re.compile(rf"(?<={_UNJOINED}){_JOINER}|{_JOINER}(?={_UNJOINED})")


def normalize(text: str) -> str:
    """The text in NFC, without invisible characters in words, and with control characters and line
    breaks replaced by spaces.
    """
    # Translating is half the cost of reading a corpus, and most lines have nothing to replace.
    if not text.isprintable() or SPACE in text or "\u034f" in text or "\ufe0f" in text:
        text = JOINERS.sub("", writable(text).translate(REPLACED))
    return unicodedata.normalize("NFC", text)


def plain_words(text: str) -> list[str]:
    """The words of a normalised text, which only plain spaces separate."""
    return [word for word in text.split(" ") if word]


def writable(text: str) -> str:
    """The text, if UTF-8 can encode it: command-line arguments may contain unpaired surrogates.

    Raises:
        DataError: it cannot be encoded.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            "the text is not valid Unicode: it contains an unpaired surrogate (half a character).",
            got=ascii(text[max(0, error.start - 20) : error.end + 20]),
            do="give it in UTF-8; it may come from a program or a terminal of another encoding",
        ) from None
    return text


class Tokenizer:
    """A trained SentencePiece model.

    Ids 0 to 3 are PAD, UNKNOWN, START and END. `encode` adds neither START nor END, and encodes
    text that looks like a special token ("<s>", "</s>", "<pad>") as text. Words are separated by
    plain spaces; no token contains parts of two words.

    Attributes:
        newline: the id of the line break; None for a tokenizer of single lines.
        opening: the ids at the beginning of every text (`data/tagged_tokenizer.py`).

    Raises:
        DataError: the bytes are not a SentencePiece model, or its special-token ids differ.
    """

    opening: tuple[int, ...] = ()

    def __init__(self, model: bytes, place: Location | None = None) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self._processor.id_to_piece(list(range(self._processor.get_piece_size())))
        except (RuntimeError, UnicodeDecodeError):  # subwords are not UTF-8
            raise DataError("this is not a SentencePiece model.", place=place) from None
        ids = {name: getattr(self._processor, name)() for name in SPECIALS}
        if ids != SPECIALS:
            raise DataError(
                "the tokenizer's special-token ids differ from jumok's.",
                expected=", ".join(f"{name}={id}" for name, id in SPECIALS.items()),
                got=", ".join(f"{name}={id}" for name, id in ids.items()),
                do="train it with spm_train --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3",
                place=place,
            )
        self.model = model
        self.size: int = self._processor.get_piece_size()
        newline = self._processor.piece_to_id(NEWLINE)
        self.newline: int | None = newline if self._processor.is_control(newline) else None
        self.hash = hashlib.sha256(model).hexdigest()

    @cached_property
    def _sampler(self) -> UnigramSampler | MergeSampler:
        """Made when text is first sampled: it reads the whole vocabulary."""
        return piece_sampler(self._processor, SPACE, UNKNOWN)

    @cached_property
    def _words(self) -> WordIds | None:
        """The ids of words, if those of texts follow from them; None: they do not."""
        return WordIds(self.encode_batch) if words_decide(read_pieces(self.model)) else None

    @cached_property
    def has_capitals(self) -> bool:
        """Whether words of the text it was trained on begin with capitals."""
        pieces = self.pieces(range(self.size))
        begun = [piece[1:] for piece in pieces if piece[:1] == SPACE and piece[2:].isalpha()]
        return sum(map(str.istitle, begun)) > CAPITALS * len(begun)

    def __reduce__(self) -> tuple[type["Tokenizer"], tuple[object, ...]]:
        """Pickled as its model; SentencePiece objects are created again."""
        return type(self), (self.model,)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        kind: TokenizerKind,
        size: int,
        *,
        coverage: float = 1.0,
        byte_fallback: bool = True,
        keep_layout: bool = False,
        languages: Sequence[str] = (),
        sample: int = SAMPLE,
        seed: int = 0,
    ) -> "Tokenizer":
        """Trains a tokenizer of exactly `size` subwords (special tokens and bytes included).

        Args:
            lines: the training text; for a joint vocabulary, both sides of the corpora.
            kind: unigram (Kudo 2018), bpe (Sennrich et al. 2016), or char (`size` is then the
                maximum).
            coverage: the share of the characters of the text in the vocabulary; other characters
                become bytes, or UNKNOWN without `byte_fallback`.
            keep_layout: keep every space, and add a token for the line break.
            languages: adds a token for each (`language_tag`); no text is encoded as one of them.
            sample: the maximum number of training lines, sampled uniformly with `seed`.

        Raises:
            DataError: `size` is larger than the text allows, or smaller than its characters need.
        """
        out = io.BytesIO()
        text = [normalize(line) for line in sample_lines(lines, sample, seed)]
        if not any(line.strip() for line in text):
            raise DataError("there is no text to train a tokenizer on.")
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(text),
                model_writer=out,
                model_type=kind,
                vocab_size=size,
                character_coverage=coverage,
                byte_fallback=byte_fallback,
                remove_extra_whitespaces=not keep_layout,
                control_symbols=[
                    *([NEWLINE] if keep_layout else []),
                    *map(language_tag, languages),
                ],
                normalization_rule_name="identity",
                max_sentence_length=1 << 16,
                num_threads=2,  # fixed: sums in another order could give a different model
                minloglevel=2,
                pad_id=PAD,
                unk_id=UNKNOWN,
                bos_id=START,
                eos_id=END,
            )
        except RuntimeError as error:
            raise _size_error(str(error), size, byte_fallback) from None
        return cls(out.getvalue())

    @staticmethod
    def load(path: Path | str) -> "Tokenizer":
        """The tokenizer in a SentencePiece file or a file of another kind (OTHER_KINDS)."""
        path = Path(path)
        try:
            model = path.read_bytes()
        except OSError as error:
            raise DataError(
                "the tokenizer cannot be read.", got=error.strerror, place=Location(path)
            ) from None
        return tokenizer_of(model, Location(path))

    def save(self, path: Path | str) -> None:
        write_durably(Path(path), self.model)

    def encode(self, text: str) -> list[int]:
        return self._processor.encode(normalize(text))

    def encode_sampled(self, text: str, alpha: float, random: Random) -> list[int]:
        """The ids of a sampled tokenization of the text (subword regularization).

        For unigram, a segmentation x is sampled from the 64 best ones of the word, with P(x)
        proportional to P_unigram(x)^alpha. For BPE, alpha is the probability that a merge is left
        out: 0 is `encode`, 1 gives characters. A character model has only one segmentation.

        Source: Kudo 2018, section 3 (unigram); Provilkov et al. 2020, BPE-dropout (BPE).
        """
        return [
            id
            for word in normalize(text).split(" ")
            if word
            for id in self._sampler.sample(word, alpha, random)
        ]

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        """The ids of each text, computed by `threads` threads outside Python's lock."""
        normal = [normalize(text) for text in texts]
        if threads == 1:  # SentencePiece would start a thread, which takes longer than a short text
            return [self._processor.encode(text) for text in normal]
        return self._processor.encode(normal, num_threads=threads)

    def encode_flat(
        self, texts: Sequence[str], threads: int = 1
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids of all texts, concatenated, and the number of ids of each text."""
        if self._words is not None and texts:
            joined = "\n".join(texts)
            if joined.count("\n") != len(texts) - 1:
                joined = "\n".join(text.replace("\n", " ") for text in texts)
            try:
                return self._words.flat(f"{joined}\n".encode(), len(texts))
            except UnicodeEncodeError:
                writable(joined)  # raises, with the place
        return flattened(self.encode_batch(texts, threads))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, without PAD, START and END; no token decodes to a line break."""
        text = [int(id) for id in ids if id not in (PAD, START, END)]
        return normalize(self._processor.decode(text))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._processor.id_to_piece(int(id)) for id in ids]

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The id of each subword name; UNKNOWN for a name that is not in the vocabulary."""
        return [self._processor.piece_to_id(piece) for piece in pieces]

    def words(self, ids: Sequence[int]) -> list[int]:
        return word_indices(self.pieces(ids))

    @property
    def target(self) -> "Tokenizer":
        """The tokenizer of targets, with the same ids; its subwords may differ."""
        return self

    @property
    def plain(self) -> "Tokenizer":
        """The tokenizer of parts of texts, which adds no opening."""
        return self

    def normalize(self, text: str) -> str:
        """The normalized text."""
        return normalize(text)

    def split(self, text: str) -> list[str]:
        """The words of a text, as `words` counts them."""
        return plain_words(normalize(text))


def language_tag(language: str) -> str:
    """The token that opens a source that is to be translated into a language.

    Source: Johnson et al. 2017, Google's multilingual neural machine translation system.
    """
    return f"<2{language}>"


def flattened(
    ids: Sequence[Sequence[int]],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The ids of several texts one after another, and how many each text has."""
    lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
    flat = np.fromiter(chain.from_iterable(ids), dtype=np.uint32, count=int(lengths.sum()))
    return flat, lengths


def word_indices(pieces: Sequence[str]) -> list[int]:
    """For each token the index (from 0) of its word.

    A word starts at a token that starts with the space symbol; a symbol on its own belongs to the
    following word, or at the end to the last word. A line break is a word. END belongs to the last
    word.
    """
    words, word, filled = [], 0, False
    for piece in pieces:
        if filled and piece.startswith((SPACE, NEWLINE)):
            word, filled = word + 1, False
        words.append(word)
        filled = filled or piece != SPACE
        if piece == NEWLINE:
            word, filled = word + 1, False
    last = word if filled else max(word - 1, 0)
    return [min(index, last) for index in words]


def tokenizer_of(model: bytes, place: Location | None = None) -> Tokenizer:
    """The tokenizer that a file holds, of whichever kind it is; a DataError if it holds none."""
    for beginning, kind in OTHER_KINDS.items():
        if model.startswith(beginning):
            other: Tokenizer = import_string(kind)(model, place)
            return other
    return Tokenizer(model, place)


def sample_lines(lines: Iterable[TextLine], count: int, seed: int) -> list[TextLine]:
    """At most `count` of the lines, sampled uniformly and determined by the seed.

    Source: Li 1994, Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n))), L.
    """
    rest: Iterator[TextLine] = iter(lines)
    chosen = list(islice(rest, count))
    random = Random(seed)
    threshold = exp(log(1 - random.random()) / count)
    while True:
        skip = floor(log(1 - random.random()) / log1p(-threshold))
        line = next(islice(rest, skip, None), None)
        if line is None:
            return chosen
        chosen[random.randrange(count)] = line
        threshold *= exp(log(1 - random.random()) / count)


def _size_error(message: str, size: int, byte_fallback: bool) -> DataError | ConfigError:
    if most := re.search(r"value <= (\d+)", message):
        return DataError(
            "the text is too small for a vocabulary of this size.",
            expected=f"at most {most[1]} subwords",
            got=str(size),
            do=f"set the vocabulary's size to {most[1]} or less, or give more text",
        )
    least = re.search(r"required_chars\. \d+ vs (\d+)", message)
    fixed = len(SPECIALS) + 256 * byte_fallback
    if least or size < fixed:
        bytes_ = " (256 of them bytes)" if byte_fallback else ""
        return DataError(
            "the vocabulary is too small for the characters of the text.",
            expected=f"at least {least[1] if least else fixed} subwords{bytes_}",
            got=str(size),
            do="set a larger size, or lower the character coverage",
        )
    return ConfigError("SentencePiece could not train.", got=message)
