"""A language model as a callable object: it continues a prompt, and scores texts.

On the native engine, importing and using this imports no torch. The model on torch is loaded when
it is first needed: for listeners and changes, and for code that asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from jumok.attention.heard import tell
from jumok.bundle.reading import CONFIG, TOKENIZER, Bundle
from jumok.data.texts.certain import certain_text
from jumok.data.texts.corpus import Rule
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions
from jumok.engine.language import NativeCausal
from jumok.errors import BundleError, DataError, ModelError, Place
from jumok.late import late_imports
from jumok.systems.base import FOUND, GIVEN, ROWS, Facts, Shown, at_work, known_origin
from jumok.systems.device import EngineName, EnginePrecision, choose_device, dtype_of
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import check_size, model_of, only_one, read_bundles
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.language import (
    NativeWriter,
    TokenWriter,
    Watch,
    WrittenElsewhere,
    next_tokens,
    searched,
)
from jumok.systems.native.models import native_causal
from jumok.systems.translation.on_engine import choose_engine, precision_of

with late_imports():
    import torch

    from jumok.decoding import window
    from jumok.models import causal as models_causal
    from jumok.models import decoder as models_decoder
    from jumok.systems import language_on_torch

DEFAULTS = DecodingOptions(beam=1, sample=True)


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
        """The sum of the log-probabilities: a natural logarithm."""
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


def together(scored: Iterable[TextScore]) -> TextScore:
    """The score of several texts as if they were one; at least one."""
    scores = list(scored)
    return TextScore(
        tuple(token for one in scores for token in one.tokens),
        tuple(value for one in scores for value in one.token_log_probabilities),
        sum(one.bytes for one in scores),
    )


def _rule(documents: str, file: Path) -> Rule:
    """The rule that a bundle names for what is one document.

    Raises:
        BundleError: the rule is not known.
    """
    for known in get_args(Rule):
        if documents == known:
            return known
    raise BundleError(
        "this language model's rule for documents is not known.",
        expected=", ".join(get_args(Rule)),
        got=repr(documents),
        do="pip install --upgrade jumok, or get an undamaged copy of the bundle",
        place=Place(file),
    )


class LanguageModel(BesideTorch[NativeCausal]):
    """A causal language model with its tokenizer.

    Attributes:
        model: on torch. One on the native engine loads it when it is first read, and from then on
            torch computes, with what the model is then.

    Args:
        model: in evaluation mode.
        tokenizer: the one it was trained with.
        context: the maximum number of tokens it reads at once.
        documents: what one document was in training.

    Raises:
        ModelError: the vocabulary is not the tokenizer's.
    """

    task = "language-model"
    model: Shown[models_causal.CausalLanguageModel] = Shown()
    decoder: Shown[window.Window[models_decoder.TransformerState]] = Shown()

    def __init__(
        self,
        model: models_causal.CausalLanguageModel,
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
        self._hold(model)

    def _hold(self, model: models_causal.CausalLanguageModel) -> None:
        self.model, self.decoder = model, window.Window(model.decoder, self.context)

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
        """The bundle in this folder.

        Args:
            precision: "int8" is one of the native engine alone; "auto" is there that of the bundle,
                otherwise "fp32".
            engine: "native" is several times faster on a CPU; "auto" is that where it serves the
                model and there is no GPU. The model on torch is loaded when it is needed: for
                listeners and changes.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist, or the engine does not serve the model.
        """
        bundles = read_bundles(folders, cls.task) if folders else []
        choice = choose_engine(bundles, device, precision, engine)
        known = precision_of(bundles, choice, precision)
        bundle = only_one(bundles, "language models form no ensemble.")
        file = bundle.folder / TOKENIZER
        system = cls.__new__(cls)
        system.tokenizer = load_text_tokenizer(file)
        check_size(bundle, system.tokenizer.size)
        system.context = bundle.config.max_tokens
        system.documents = _rule(bundle.config.documents, bundle.folder / CONFIG)
        system._precision = known
        if choice.native:
            system._unread, system._engine = (bundle,), native_causal(bundle, known)
        else:
            dtype = dtype_of("bf16" if known == "bf16" else "fp32")
            system._read_models([bundle], choose_device(device), dtype)
        return known_origin(system, [bundle], device=device, precision=precision, engine=engine)

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        (bundle,) = bundles
        self._hold(model_of(bundle, models_causal.CausalLanguageModel, device, dtype))

    def modules(self) -> Sequence[models_causal.CausalLanguageModel]:
        return [self.model]

    def generate(
        self, prompt: str = "", options: DecodingOptions = DEFAULTS, *, max_tokens: int = 256
    ) -> Iterator[str]:
        """The text that follows `prompt`, in parts, each as soon as it is final.

        Text longer than the model's context is read and written in a sliding window: see
        `jumok.decoding.window`. Beam search has no final text before its end, so it yields one
        part.

        Args:
            prompt: may be empty: the text then starts from scratch.
            options: how to decode; its lengths and `nbest` have no effect here.
            max_tokens: the maximum number of tokens to write.

        Raises:
            ConfigError: options are out of range.
            ModelError: logits are not finite numbers.
        """
        tokens = self.generate_tokens(prompt, options, max_tokens=max_tokens)
        return certain_text(self.tokenizer, prompt, tokens)

    def generate_tokens(
        self,
        prompt: str = "",
        options: DecodingOptions = DEFAULTS,
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
        engine = self._writing_engine(options)
        if engine is not None:
            return next_tokens(engine, ids, options, watch)
        return self._written(ids, options, watch)

    def writer(
        self,
        prompt: str = "",
        options: DecodingOptions = DEFAULTS,
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
        engine = self._writing_engine(options)
        if engine is not None:
            return NativeWriter(engine, ids, options, watch)
        return WrittenElsewhere(self._written(ids, options, watch))

    def _asked(
        self, prompt: str, options: DecodingOptions, max_tokens: int
    ) -> tuple[list[int], DecodingOptions]:
        """The tokens of a prompt, and the options with the limits of its text."""
        ids = self.tokenizer.encode(text_of(prompt, "prompt"))
        return ids, replace(
            options, nbest=1, minimum_length=0, maximum_length=len(ids) + max_tokens,
            maximum_ratio=None, forbidden=(PAD, UNKNOWN, START),
        )  # fmt: skip

    def _writing_engine(self, options: DecodingOptions) -> NativeCausal | None:
        """The native engine, if it is there and the text is written token by token."""
        return self.engine if options.sample or options.beam == 1 else None

    def _written(
        self, prompt: list[int], options: DecodingOptions, watch: Watch | None
    ) -> Iterator[int]:
        """Tokens that torch writes, or that a search finds."""
        if self.engine is None:
            return self.each_at_work(self._tokens(prompt, options, watch))
        return self._found(self.engine, prompt, options)

    def _found(
        self, engine: NativeCausal, prompt: list[int], options: DecodingOptions
    ) -> Iterator[int]:
        yield from searched(engine, prompt, options)[0].tokens[len(prompt) :]

    def _tokens(
        self, prompt: list[int], options: DecodingOptions, watch: Watch | None
    ) -> Iterator[int]:
        given = self.model, self.decoder, prompt, options
        if options.sample or options.beam == 1:
            yield from language_on_torch.next_tokens_on_torch(*given, watch)
            return
        hypotheses = language_on_torch.searched_on_torch(*given)
        tell(self, FOUND, hypotheses)
        yield from hypotheses[0][0].tokens[len(prompt) :]

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`, without writing any."""
        self.score(texts, batch_size=batch_size)

    @at_work
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
        windows = sorted(
            (window for row, ids in enumerate(encoded) for window in self._windows(row, len(ids))),
            key=lambda window: window.end - window.start,
        )
        tell(self, GIVEN, len(texts))
        for first in range(0, len(windows), batch_size):
            tell(self, ROWS, [one.row for one in windows[first : first + batch_size]])
            self._score_windows(windows[first : first + batch_size], encoded, values)
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
        """Writes the log-probabilities of the tokens that these windows predict."""
        engine = self.engine
        texts = [encoded[one.row][one.start : one.end + 1] for one in windows]
        if engine is not None:
            found = [row.tolist() for row in engine.score(texts)]
        else:
            with self.torch_at_work():
                found = language_on_torch.scored_on_torch(self.model, texts)
        for window, row in zip(windows, found, strict=True):
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
