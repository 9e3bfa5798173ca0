"""A language model as a callable object: it continues a prompt, and scores texts."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import torch

from jumok.attention.heard import tell
from jumok.bundle.reading import CONFIG, TOKENIZER, Bundle
from jumok.data.texts.corpus import Rule
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.filters import place_of_largest
from jumok.decoding.sample import drawer
from jumok.decoding.stream import stream
from jumok.decoding.window import Window
from jumok.engine.language import NativeCausal
from jumok.errors import BundleError, DataError, ModelError, Place
from jumok.models.causal import CausalLanguageModel
from jumok.models.decoder import TransformerState
from jumok.shapes import Tensor
from jumok.systems.base import FOUND, GIVEN, ROWS, Facts, Shown, at_work
from jumok.systems.device import EngineName, EnginePrecision, PrecisionName
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import load_one, read_bundles
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.language import engine_of, next_tokens, serves
from jumok.systems.translation.on_engine import choose_engine, precision_of

DEFAULTS = DecodingOptions(beam=1, sample=True)

BROKEN = "\ufffd"


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

    Args:
        model: in evaluation mode.
        tokenizer: the one it was trained with.
        context: the maximum number of tokens it reads at once.
        documents: what one document was in training.

    Raises:
        ModelError: the vocabulary is not the tokenizer's.
    """

    task = "language-model"
    model: Shown[CausalLanguageModel] = Shown()
    decoder: Shown[Window[TransformerState]] = Shown()

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
        self.model, self.tokenizer, self.context = model, tokenizer, context
        self.documents = documents
        self.decoder = Window(model.decoder, context)

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [{"text": "".join(self.generate(prompt))} for prompt in given]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
    ) -> "LanguageModel":
        """The bundle in this folder.

        Args:
            precision: "int8" is one of the native engine alone; "auto" is there that of the bundle,
                otherwise "fp32".
            engine: "native" is several times faster on a CPU; "auto" is that where it serves the
                model and there is no GPU. The model is then there twice, because beams, listeners
                and changes need torch.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist, or the engine does not serve the model.
        """
        bundles = read_bundles(folders, cls.task) if folders else []
        choice = choose_engine(bundles, device, precision, engine)
        known = precision_of(bundles, choice, precision)
        on_torch: PrecisionName = "bf16" if known == "bf16" and not choice.native else "fp32"
        bundle, model = load_one(
            bundles, CausalLanguageModel, "cpu" if choice.native else device, on_torch,
            "language models form no ensemble.",
        )  # fmt: skip
        config = bundle.config
        system = cls(
            model,
            load_text_tokenizer(bundle.folder / TOKENIZER),
            context=config.max_tokens,
            documents=_rule(config.documents, bundle.folder / CONFIG),
        )
        native = engine_of(bundle, model, known) if choice.native else None
        system._came_from([bundle], native, known, (device, precision, engine))
        return system

    def modules(self) -> Sequence[CausalLanguageModel]:
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
        watch: Callable[[Tensor], None] | None = None,
    ) -> Iterator[int]:
        """The tokens of the text that `generate` writes with the same arguments.

        Args:
            watch: receives the log-probabilities of every step, (vocabulary), before its token;
                not in beam search.
        """
        ids = self.tokenizer.encode(text_of(prompt, "prompt"))
        options = replace(
            options, nbest=1, minimum_length=0, maximum_length=len(ids) + max_tokens,
            maximum_ratio=None, forbidden=(PAD, UNKNOWN, START),
        )  # fmt: skip
        engine = self.engine if serves(options) and watch is None else None
        if engine is not None:
            return next_tokens(engine, ids, options)
        return self.each_at_work(self._tokens(ids, options, watch))

    def _tokens(
        self,
        prompt: list[int],
        options: DecodingOptions,
        watch: Callable[[Tensor], None] | None = None,
    ) -> Iterator[int]:
        memory = self.model.nothing()
        if not options.sample and options.beam > 1:
            hypotheses = decode(self.decoder, memory, options, [prompt])
            tell(self, FOUND, hypotheses)
            best = hypotheses[0][0]
            yield from best.tokens[len(prompt) :]
            return
        choose: Callable[[Tensor], Tensor] = place_of_largest
        if options.sample:
            generator = torch.Generator(memory.states.device).manual_seed(options.seed % 2**63)
            choose = drawer(generator, options.filters())
        yield from stream(self.decoder, memory, options.limits(), choose, prompt, watch)

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

    def _windows(self, row: int, length: int) -> Iterator["_Span"]:
        """The windows that cover a text of `length` tokens, START and END included."""
        scored, start = 0, 0
        while scored < length - 1:
            end = min(start + self.context, length - 1)
            yield _Span(row, start, end, scored)
            scored, start = end, start + (self.context + 1) // 2

    @torch.inference_mode()
    def _score_windows(
        self, windows: Sequence["_Span"], encoded: list[list[int]], values: list[list[float]]
    ) -> None:
        """Writes the log-probabilities of the tokens that these windows predict."""
        engine = self.engine
        if engine is not None:
            texts = [encoded[one.row][one.start : one.end + 1] for one in windows]
            found = [row.tolist() for row in engine.score(texts)]
        else:
            found = self._scored(windows, encoded)
        for window, row in zip(windows, found, strict=True):
            new = row[window.scored - window.start : window.end - window.start]
            values[window.row][window.scored : window.end] = new

    def _scored(self, windows: Sequence["_Span"], encoded: list[list[int]]) -> list[list[float]]:
        """On torch, the log-probability of each token of these windows but the first."""
        device = self.model.decoder.embedding.table.device
        width = max(window.end - window.start for window in windows)
        # padding follows the tokens that are read, so no query attends to it
        rows = [
            [*(ids := encoded[one.row][one.start : one.end + 1]), *[END] * (width + 1 - len(ids))]
            for one in windows
        ]
        tokens = torch.tensor(rows, device=device)
        logits = self.model.decoder.logits(self.model.hidden(tokens[:, :-1]))
        chosen: list[list[float]] = (
            logits.float().log_softmax(2).gather(2, tokens[:, 1:, None])[..., 0].tolist()
        )
        return chosen


@dataclass(frozen=True)
class _Span:
    """A window of a text: tokens `start` to `end` are read; predictions before `scored` were
    counted by an earlier window."""

    row: int
    start: int
    end: int
    scored: int


def certain_text(tokenizer: TextTokenizer, prompt: str, tokens: Iterable[int]) -> Iterator[str]:
    """The text of `tokens`, which continue `prompt`, as soon as later tokens cannot change it.

    A character may be written in several tokens; it is handed out with the last of them. Joined,
    the parts are what decoding everything at once gives after the prompt's text.
    """
    line = tokenizer.encode(prompt.rpartition("\n")[2])
    known = len(tokenizer.decode(line))
    for token in tokens:
        line.append(token)
        text = tokenizer.decode(line)
        if not text.endswith(BROKEN) and len(text) > known:
            yield text[known:]
            known = len(text)
        if text.endswith("\n"):  # what follows a line break does not depend on what precedes it
            line, known = [], 0
    rest = tokenizer.decode(line)[known:]
    if rest:
        yield rest
