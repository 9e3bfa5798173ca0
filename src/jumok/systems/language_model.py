"""Language model system: it continues prompts and scores texts. Importing it imports no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from jumok.attention.events import emit
from jumok.bundle.card import ChatFormat
from jumok.bundle.reading import CONFIG, TOKENIZER, Bundle
from jumok.data.texts.corpus import Rule
from jumok.data.texts.tokenizer import TextTokenizer, certain_text, load_text_tokenizer
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions
from jumok.decoding.options import FOR_CONTINUATION
from jumok.decoding.writing import Watch
from jumok.engine.language import NativeCausal
from jumok.errors import BundleError, DataError, Location, ModelError
from jumok.systems.base import FOUND, GIVEN, ROWS, Facts, known_origin, numbered
from jumok.systems.conversation import Conversation, Messages, conversation_of, text_before
from jumok.systems.device import EngineName, EnginePrecision, choose_device, dtype_of
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import check_vocabulary, load_ready_model, only_one, read_bundles
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.models import choose_engine, native_causal
from jumok.systems.text_writer import (
    TokenWriter,
    WrittenElsewhere,
    beam_searched,
    native_writer,
    until_stop,
    without_gradients,
    writer_of,
    written_tokens,
)

if TYPE_CHECKING:
    import torch

    from jumok.models.causal import CausalLanguageModel


@dataclass(frozen=True)
class TextScore:
    """The probability of a text by a model.

    Attributes:
        tokens: those of the text, and END.
        token_log_probabilities: natural logarithms, one for each token, END's last.
        bytes: the length of the text in UTF-8.
    """

    tokens: tuple[int, ...]
    token_log_probabilities: tuple[float, ...]
    bytes: int

    @property
    def log_probability(self) -> float:
        """A natural logarithm."""
        return math.fsum(self.token_log_probabilities)

    @property
    def loss(self) -> float:
        """Nats a token, END included."""
        return -self.log_probability / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(loss): the number of equally probable tokens that would be as hard to predict."""
        return math.exp(self.loss)

    @property
    def bits_per_byte(self) -> float:
        """-log2 P(text) / bytes: comparable between tokenizers."""
        return -self.log_probability / math.log(2.0) / self.bytes


def joined_scores(scored: Iterable[TextScore]) -> TextScore:
    """The score of several texts, at least one, as if they were one."""
    scores = list(scored)
    return TextScore(
        tuple(token for one in scores for token in one.tokens),
        tuple(value for one in scores for value in one.token_log_probabilities),
        sum(one.bytes for one in scores),
    )


def _rule(documents: str, file: Path) -> Rule:
    for known in get_args(Rule):
        if documents == known:
            return known
    raise BundleError(
        "this language model's rule for documents is not known.",
        expected=", ".join(get_args(Rule)),
        got=repr(documents),
        do="pip install --upgrade jumok, or get an undamaged copy of the bundle",
        place=Location(file),
    )


class LanguageModel(BesideTorch[NativeCausal]):
    """A causal language model with its tokenizer.

    Attributes:
        model: on torch. On the native engine it is loaded when it is first read; torch computes
            once it is hooked or changed, with what it is then.

    Args:
        model: in evaluation mode.
        tokenizer: the one it was trained with.
        context: the maximum number of tokens it reads at once.
        documents: what one document was in training.

    Raises:
        ModelError: the vocabulary is not the tokenizer's.
    """

    task = "language-model"
    _held: CausalLanguageModel

    def __init__(
        self,
        model: CausalLanguageModel,
        tokenizer: TextTokenizer,
        *,
        context: int,
        documents: Rule = "file",
    ) -> None:
        if model.decoder.vocabulary_size != tokenizer.size:
            raise ModelError(
                "the tokenizer is not this model's.",
                expected=f"{model.decoder.vocabulary_size} subwords",
                got=f"{tokenizer.size} subwords",
            )
        self.tokenizer, self.context, self.documents = tokenizer, context, documents
        self.chat_format: ChatFormat | None = None
        self._held = model

    @property
    def model(self) -> CausalLanguageModel:
        return self.expose(self._model)

    @property
    def _model(self) -> CausalLanguageModel:
        self._load_on_torch()
        return self._held

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [{"text": "".join(self.generate(prompt))} for prompt in given]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
    ) -> LanguageModel:
        """The bundle in this folder; arguments as of `jumok.load`.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist, or the engine does not serve the model.
        """
        bundles = read_bundles(folders, cls.task) if folders else []
        choice = choose_engine(bundles, device, precision, engine)
        bundle = only_one(bundles, "language models form no ensemble.")
        file = bundle.folder / TOKENIZER
        system = cls.__new__(cls)
        system.tokenizer = load_text_tokenizer(file)
        check_vocabulary(bundle, system.tokenizer.size)
        system.context = bundle.config.max_tokens
        system.documents = _rule(bundle.config.documents, bundle.folder / CONFIG)
        system.chat_format = bundle.config.chat
        system._precision = choice.precision
        if choice.native:
            system._unread, system._engine = (bundle,), native_causal(bundle, choice.precision)
        else:
            system._read_models([bundle], choose_device(device), dtype_of(choice.torch_precision))
        return known_origin(system, [bundle], device=device, precision=precision, engine=engine)

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        (bundle,) = bundles
        from jumok.models.causal import CausalLanguageModel

        self._held = load_ready_model(bundle, CausalLanguageModel, device, dtype)

    def _modules(self) -> Sequence[CausalLanguageModel]:
        return [self._model]

    def conversation(self, messages: Messages) -> Conversation:
        """What is read of messages, the last of which is answered; `generate` takes it as a prompt.

        Raises:
            ConfigError: the model reads no conversations, or not these.
        """
        return conversation_of(messages, self.chat_format, self.tokenizer)

    def generate(
        self,
        prompt: str | Conversation = "",
        options: DecodingOptions = FOR_CONTINUATION,
        *,
        max_tokens: int = 256,
    ) -> Iterator[str]:
        """The text that follows `prompt`, or answers it, in parts, each as soon as it is final.

        Text longer than the model's context is read and written in a sliding window
        (`jumok.decoding.window`). Beam search has no final text before its end, so it yields one
        part.

        Args:
            prompt: may be empty: the text then starts from scratch; or a `conversation`.
            options: how to decode; its lengths and `nbest` have no effect here, `stop` only here.
            max_tokens: the maximum number of tokens to write.

        Raises:
            ConfigError: options are out of range.
            ModelError: logits are not finite numbers.
        """
        tokens = self.generate_tokens(prompt, options, max_tokens=max_tokens)
        stop = options.stop if isinstance(prompt, str) else (*options.stop, *prompt.stop)
        return until_stop(certain_text(self.tokenizer, text_before(prompt), tokens), stop)

    def generate_tokens(
        self,
        prompt: str | Conversation = "",
        options: DecodingOptions = FOR_CONTINUATION,
        *,
        max_tokens: int = 256,
        watch: Watch | None = None,
    ) -> Iterator[int]:
        """The tokens of the text that `generate` writes with the same arguments.

        Args:
            watch: receives the log-probabilities of every step, (vocabulary), before its token;
                not in beam search.
        """
        ids, options = self._asked(prompt, options, max_tokens)
        engine = self.engine
        if engine is None:
            return without_gradients(self._on_torch(ids, options, watch))
        return written_tokens(self._on_engine(engine, ids, options, watch), engine.pass_reader())

    def writer(
        self,
        prompt: str | Conversation = "",
        options: DecodingOptions = FOR_CONTINUATION,
        *,
        max_tokens: int = 256,
        watch: Watch | None = None,
    ) -> TokenWriter:
        """What writes the tokens of `generate_tokens`, for texts that share the engine's steps.

        Raises:
            ConfigError: options are out of range.
            MemoryError: there is not enough memory.
        """
        ids, options = self._asked(prompt, options, max_tokens)
        engine = self.engine
        if engine is None:
            return WrittenElsewhere(without_gradients(self._on_torch(ids, options, watch)))
        return self._on_engine(engine, ids, options, watch)

    def _asked(
        self, prompt: str | Conversation, options: DecodingOptions, max_tokens: int
    ) -> tuple[list[int], DecodingOptions]:
        """The tokens of a prompt, and the options with the limits of its text."""
        if isinstance(prompt, Conversation):
            options = replace(options, start=prompt.tokens[0])
            ids = [*prompt.tokens[1:]]
        else:
            ids = self.tokenizer.encode(text_of(prompt, "prompt"))
        return ids, replace(
            options, nbest=1, minimum_length=0, maximum_length=len(ids) + max_tokens,
            maximum_ratio=None, forbidden=(PAD, UNKNOWN, START),
        )  # fmt: skip

    def _on_engine(
        self, engine: NativeCausal, prompt: list[int], options: DecodingOptions, watch: Watch | None
    ) -> TokenWriter:
        if options.sample or options.beam == 1:
            return native_writer(engine, prompt, options, watch)

        def tokens() -> Iterator[int]:
            yield from beam_searched(engine, prompt, options)[0].tokens[len(prompt) :]

        return WrittenElsewhere(tokens())

    def _on_torch(
        self, prompt: list[int], options: DecodingOptions, watch: Watch | None
    ) -> Iterator[int]:
        """Tokens as they are chosen, or what a search finds."""
        from jumok.decoding.torch_stepper import TorchStepper, decode
        from jumok.decoding.window import Window

        decoder, nothing = Window(self._model.decoder, self.context), self._model.nothing()
        if options.sample or options.beam == 1:
            stepper = TorchStepper(decoder, nothing)
            yield from written_tokens(writer_of(stepper, prompt, options, watch), None)
            return
        hypotheses = decode(decoder, nothing, options, [prompt])
        emit(self, FOUND, hypotheses)
        yield from hypotheses[0][0].tokens[len(prompt) :]

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`."""
        self.score(texts, batch_size=batch_size)

    def score(self, texts: Sequence[str], *, batch_size: int = 32) -> list[TextScore]:
        """The log-probabilities of given texts, each a document of its own.

        A text longer than the context is read in windows that overlap by half, so that every token
        is predicted from at least half a context, or from all tokens before it.

        Raises:
            DataError: a text is empty.
        """
        texts = texts_in(texts)
        for number, text in enumerate(texts, start=1):
            if not text:
                raise DataError("there is nothing to score.", got=f"text {number} is empty")
        encoded = [[START, *self.tokenizer.encode(text), END] for text in texts]
        values = [[0.0] * (len(ids) - 1) for ids in encoded]
        windows = [
            window for row, ids in enumerate(encoded) for window in self._windows(row, len(ids))
        ]
        numbers = dict(zip(windows, numbered([one.row for one in windows]), strict=True))
        windows.sort(key=lambda window: window.end - window.start)
        emit(self, GIVEN, len(texts))
        for first in range(0, len(windows), batch_size):
            batch = windows[first : first + batch_size]
            emit(self, ROWS, [one.row for one in batch], [numbers[one] for one in batch])
            self._score_windows(batch, encoded, values)
        return [
            TextScore(tuple(ids[1:]), tuple(of_text), len(text.encode()))
            for ids, of_text, text in zip(encoded, values, texts, strict=True)
        ]

    def _windows(self, row: int, length: int) -> Iterator[_Span]:
        """The windows that cover a text of `length` tokens, START and END included."""
        scored, start = 0, 0
        while scored < length - 1:
            end = min(start + self.context, length - 1)
            yield _Span(row, start, end, scored)
            scored, start = end, start + (self.context + 1) // 2

    def _score_windows(
        self, windows: Sequence[_Span], encoded: list[list[int]], values: list[list[float]]
    ) -> None:
        engine = self.engine
        texts = [encoded[one.row][one.start : one.end + 1] for one in windows]
        if engine is not None:
            scored = [row.tolist() for row in engine.score(texts)]
        else:
            scored = _scored_on_torch(self._model, texts)
        for window, row in zip(windows, scored, strict=True):
            new = row[window.scored - window.start : window.end - window.start]
            values[window.row][window.scored : window.end] = new


@dataclass(frozen=True)
class _Span:
    """A window of a text: tokens `start` to `end` are read; predictions before `scored` were
    counted by an earlier window."""

    row: int
    start: int
    end: int
    scored: int


def _scored_on_torch(
    model: CausalLanguageModel, texts: Sequence[Sequence[int]]
) -> list[list[float]]:
    """The log-probability of each token of these texts but the first."""
    import torch

    device, width = model.decoder.embedding.table.device, max(map(len, texts))
    # padding follows the tokens that are read, so no query attends to it
    rows = [[*ids, *[END] * (width - len(ids))] for ids in texts]
    with torch.inference_mode():
        tokens = torch.tensor(rows, device=device)
        logits = model.decoder.logits(model.hidden(tokens[:, :-1])).float()
        values = logits.log_softmax(2).gather(2, tokens[:, 1:, None])
    chosen: list[list[float]] = values[..., 0].tolist()
    return chosen
