"""Masked language model system: it fills gaps and embeds texts."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from jumok.attention.events import emit
from jumok.bundle.reading import Bundle
from jumok.config.masked import MaskedConfig
from jumok.data.pairs.batches import fill, framed
from jumok.data.pairs.rows import batched_rows
from jumok.data.texts.batches import plain_batches
from jumok.data.texts.masking import word_starts
from jumok.data.tokenizer import END, SPACE, SPECIALS, START, Tokenizer
from jumok.engine.transformer import NativeEncoder
from jumok.errors import DataError, ModelError
from jumok.models.masked import MaskedLanguageModel
from jumok.shapes import Bool, Float, Int, Tensor
from jumok.systems.base import GIVEN, ROWS, Facts, known_origin
from jumok.systems.device import EngineName, EnginePrecision, cores
from jumok.systems.embedding import own_space
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import load_one, load_tokenizer, read_bundles
from jumok.systems.native.beside_torch import BesideTorch, each_batch
from jumok.systems.native.models import choose_engine, weights_of
from jumok.systems.words import WordSpace

GAP_PATTERN = re.compile(r"\[MASK\]|_{3,}")
"""How users write a gap."""

STAND_IN = "\ue000"  # a private-use character: it is in no corpus, so no token spans it


@dataclass(frozen=True)
class Candidate:
    """A token that may fill a gap; `text` is how it reads, without a space before it."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text with its gaps filled.

    Attributes:
        text: the best candidate in every gap; a text without a gap as it was.
        gaps: for each gap its candidates, most probable first. Probabilities are the model's own,
            over the whole vocabulary, while the other gaps are masked.
    """

    text: str
    gaps: tuple[tuple[Candidate, ...], ...] = ()

    def facts(self) -> Facts:
        return asdict(self)


class MaskedModel(BesideTorch[NativeEncoder]):
    """A trained masked language model.

    The native engine embeds texts; torch fills gaps.

    Attributes:
        threads: of the native engine, each of which reads a batch.

    Args:
        max_tokens: the maximum number of tokens of a text that are read at once.
    """

    task = "masked-lm"
    threads = 1

    def __init__(self, model: MaskedLanguageModel, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._model = model
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._opens = torch.from_numpy(word_starts(tokenizer))
        pieces = tokenizer.pieces(range(tokenizer.size))
        self._text = torch.tensor([_is_text_token(id, piece) for id, piece in enumerate(pieces)])

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.fill(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
        threads: int = 0,
    ) -> "MaskedModel":
        """The bundle in this folder; arguments as of `jumok.load`.

        Beside the engine the model is there on torch, too, in float32.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist, or the engine does not serve the model.
        """
        bundles = read_bundles(folders, cls.task) if folders else []
        choice = choose_engine(bundles, device, precision, engine)
        bundle, model = load_one(
            bundles, MaskedLanguageModel, "cpu" if choice.native else device, choice.torch_precision
        )
        system = cls(model, load_tokenizer(bundle), bundle.config.max_tokens)
        system.threads, system._precision = threads or cores(), choice.precision
        if choice.native:
            config = MaskedConfig.model_validate(bundle.config.model)
            system._engine = NativeEncoder(config, weights_of(model), choice.precision)
        given = {"device": device, "precision": precision, "engine": engine, "threads": threads}
        return known_origin(system, [bundle], **given)

    @classmethod
    def load_on(
        cls,
        engine: EngineName,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        threads: int = 0,
    ) -> "MaskedModel":
        """As `load`."""
        return cls.load(
            *folders, device=device, precision=precision, engine=engine, threads=threads
        )

    @property
    def model(self) -> MaskedLanguageModel:
        return self.expose(self._model)

    def _modules(self) -> Sequence[MaskedLanguageModel]:
        return [self._model]

    def fill(self, texts: Sequence[str], top: int = 5, batch_size: int = 32) -> list[Filled]:
        """Candidates for every gap, which is written `[MASK]` or `___`; one result a text.

        A gap is one token: a word, or a part of one. If a space or nothing precedes the gap, only
        tokens that start a word are candidates, and otherwise only those that do not (if the
        vocabulary has such tokens). If a text is too long, the part around its gaps is read.

        Args:
            top: the maximum number of candidates for a gap.

        Raises:
            DataError: gaps are too far apart to be read together, or not a list of texts.
            ModelError: `top` is below 1.
        """
        texts = texts_in(texts)
        if top < 1:
            raise ModelError("a gap needs a candidate.", expected="top 1 or more", got=str(top))
        encoded = [self.encode(text) for text in texts]
        rows = [row for row, (_, opens) in enumerate(encoded) if opens]
        filled = [Filled(text) for text in texts]
        ids = [self._around_gaps(encoded[row][0]) for row in rows]
        emit(self, GIVEN, len(texts))
        for tokens, allowed, places in plain_batches(ids, batch_size):
            emit(self, ROWS, [rows[place] for place in places])
            probabilities = iter(self._probabilities(tokens, allowed))
            for place in places:
                row = rows[place]
                gaps = [
                    self._candidates(next(probabilities), opens, top) for opens in encoded[row][1]
                ]
                filled[row] = Filled(_with_best(texts[row], gaps), tuple(gaps))
        return filled

    def check(self, text: str) -> None:
        """Raises the DataError that `fill` would raise."""
        self._around_gaps(self.encode(text)[0])

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`."""
        self.sentence_vectors(texts, batch_size)

    def sentence_vectors(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> Float[Tensor, "texts dim"]:
        """For each text the mean of the last block's states, START's and END's included, over its
        first `max_tokens` tokens.
        """
        texts = texts_in(texts)
        ids = [each[: self.max_tokens] for each in self.tokenizer.encode_batch(texts)]
        vectors = torch.empty(len(ids), self._table.shape[1])
        emit(self, GIVEN, len(texts))

        def read(rows: list[int]) -> None:
            emit(self, ROWS, rows)
            for row, states in zip(rows, self._states([ids[row] for row in rows]), strict=True):
                vectors[row] = states.mean(0)

        each_batch(list(batched_rows(ids, batch_size)), read, self.threads if self.engine else 1)
        return vectors

    def word_vectors(self, text: str) -> tuple[tuple[str, ...], Float[Tensor, "words dim"]]:
        """The words of a text, and for each the mean of its tokens' last states; of a long text
        those of its first `max_tokens` tokens.
        """
        ids = self.tokenizer.encode(text_of(text, "text"))[: self.max_tokens]
        if not ids:
            return (), torch.empty(0, self._table.shape[1])
        (states,) = self._states([ids])
        states = states[1:-1]
        words = torch.tensor(self.tokenizer.words(ids))
        sums = torch.zeros(int(words[-1]) + 1, states.shape[1]).index_add_(0, words, states)
        names = self.tokenizer.split(text)[: len(sums)]
        return tuple(names), sums / words.bincount()[:, None]

    def word_space(self) -> WordSpace:
        return own_space(self._model, self.tokenizer)

    @property
    def _table(self) -> Float[Tensor, "vocabulary dim"]:
        return self._model.encoder.embedding.table

    @torch.inference_mode()
    def _states(self, ids: Sequence[Sequence[int]]) -> list[Float[Tensor, "length dim"]]:
        """The last block's states of each text, with those of START and END."""
        engine = self.engine
        if engine is not None:
            texts = [[START, *each, END] for each in ids]
            return list(map(torch.from_numpy, engine.states(texts)))
        tokens, allowed = framed(*fill(ids))
        device = self._table.device
        allowed = None if allowed is None else allowed.to(device)
        states = self._model.encoder(tokens.to(device), allowed).float().cpu()
        return [of_text[: len(each) + 2] for of_text, each in zip(states, ids, strict=True)]

    @torch.inference_mode()
    def _probabilities(
        self, tokens: Int[Tensor, "batch length"], allowed: Bool[Tensor, "batch length"] | None
    ) -> Float[Tensor, "gaps vocabulary"]:
        """The probability of every subword, for every gap of the texts in their order."""
        device = self._table.device
        allowed = None if allowed is None else allowed.to(device)
        tokens = tokens.to(device)
        logits = self._model(tokens, allowed, tokens == self._model.mask)
        return logits.float().softmax(dim=1).cpu()

    def _candidates(
        self, row: Float[Tensor, " vocabulary"], opens_word: bool, top: int
    ) -> tuple[Candidate, ...]:
        values, ids = self.fitting(row, opens_word, top)
        pieces = self.tokenizer.pieces(ids.tolist())
        return tuple(
            Candidate(piece.replace(SPACE, ""), value)
            for piece, value in zip(pieces, values.tolist(), strict=True)
            if value > 0.0
        )

    def fitting(
        self, row: Float[Tensor, " vocabulary"], opens_word: bool, top: int
    ) -> tuple[Float[Tensor, " top"], Int[Tensor, " top"]]:
        """The probabilities and ids of the most probable tokens that fit a gap.

        Args:
            row: the probability of every subword.
            opens_word: whether a word starts at the gap.
        """
        fitting = self._text & (self._opens == opens_word)
        if not fitting.any():  # a vocabulary of characters has no subwords that start words
            fitting = self._text
        return row[: len(fitting)].masked_fill(~fitting, 0.0).topk(min(top, len(fitting)))

    def encode(self, text: str) -> tuple[list[int], list[bool]]:
        """The tokens with MASK for every gap; for each gap whether a word starts there."""
        ends = [0, *(gap.end() for gap in GAP_PATTERN.finditer(text))]
        starts = [*(gap.start() for gap in GAP_PATTERN.finditer(text)), len(text)]
        ids: list[int] = []
        opens: list[bool] = []
        for number, (end, start) in enumerate(zip(ends, starts, strict=True)):
            between = self.tokenizer.normalize(text[end:start])
            if number:
                ids.append(self._model.mask)
            ids += self._continued(between) if number else self.tokenizer.encode(between)
            if number < len(ends) - 1:
                first = number == 0 and not between.strip()
                opens.append(first or between.endswith(" "))
        return ids, opens

    def _continued(self, text: str) -> list[int]:
        """The tokens of a text that follows a gap: no word starts unless a space precedes it."""
        if not text or text.startswith(" "):
            return self.tokenizer.encode(text)
        before = len(self.tokenizer.encode(STAND_IN))
        return self.tokenizer.encode(STAND_IN + text)[before:]

    def _around_gaps(self, ids: list[int]) -> list[int]:
        """At most `max_tokens` of the tokens, every gap among them."""
        gaps = [place for place, id in enumerate(ids) if id == self._model.mask]
        if not gaps or len(ids) <= self.max_tokens:
            return ids
        if gaps[-1] - gaps[0] >= self.max_tokens:
            raise DataError(
                "the gaps are too far apart to be read together.",
                expected=f"at most {self.max_tokens} tokens from the first gap to the last",
                got=f"{gaps[-1] - gaps[0] + 1} tokens",
                do="cut the text",
            )
        middle = (gaps[0] + gaps[-1] + 1) // 2
        start = min(max(middle - self.max_tokens // 2, 0), len(ids) - self.max_tokens)
        return ids[start : start + self.max_tokens]


def _with_best(text: str, gaps: Sequence[Sequence[Candidate]]) -> str:
    best = iter(gap[0].text if gap else "" for gap in gaps)
    return GAP_PATTERN.sub(lambda _: next(best), text)


def _is_text_token(id: int, piece: str) -> bool:
    """Whether the subword is text on its own: not a special token, a byte or a lone space."""
    byte = piece.startswith("<0x") and piece.endswith(">") and len(piece) == 6
    return id >= len(SPECIALS) and not byte and piece != SPACE
