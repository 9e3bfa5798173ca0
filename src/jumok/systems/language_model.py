"""A model as a thing that writes on: it streams text, and says how probable a text is."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import torch

from jumok.attention.heard import tell
from jumok.bundle.reading import CONFIG, TOKENIZER
from jumok.data.text_tokenizer import TextTokenizer, load_text_tokenizer
from jumok.data.texts import Rule
from jumok.data.tokenizer import END, PAD, START, UNKNOWN
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.sample import drawer
from jumok.decoding.stream import stream
from jumok.decoding.topk import place_of_largest
from jumok.decoding.window import Window
from jumok.errors import BundleError, DataError, ModelError, Place
from jumok.models.causal import CausalLanguageModel
from jumok.shapes import Tensor
from jumok.systems.base import FOUND, GIVEN, ROWS, Shown, System, at_work, loaded_from
from jumok.systems.device import PrecisionName
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import load_one

DEFAULTS = DecodingOptions(beam=1, sample=True)

BROKEN = "\ufffd"


@dataclass(frozen=True)
class TextScore:
    """How probable a text is to a model.

    Attributes:
        tokens: its tokens, and END.
        token_log_probabilities: natural logarithms, one a token, END's last.
        bytes: of the text in UTF-8.
    """

    tokens: tuple[int, ...]
    token_log_probabilities: tuple[float, ...]
    bytes: int

    @property
    def log_probability(self) -> float:
        """The sum: a natural logarithm."""
        return math.fsum(self.token_log_probabilities)

    @property
    def loss(self) -> float:
        """Nats a token, END counted."""
        return -self.log_probability / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(loss): among how many tokens the model hesitates, on average."""
        return math.exp(self.loss)

    @property
    def bits_per_byte(self) -> float:
        """-log2 P(text) / bytes: what counts the same whatever the tokens are."""
        return -self.log_probability / math.log(2.0) / self.bytes


def together(scored: Iterable[TextScore]) -> TextScore:
    """Several texts as one; at least one."""
    scores = list(scored)
    return TextScore(
        tuple(token for one in scores for token in one.tokens),
        tuple(value for one in scores for value in one.token_log_probabilities),
        sum(one.bytes for one in scores),
    )


def _rule(documents: str, file: Path) -> Rule:
    """What a bundle says that it reads as one document.

    Raises:
        BundleError: something that this jumok does not know.
    """
    for known in get_args(Rule):
        if documents == known:
            return known
    raise BundleError(
        "what this language model reads as one document is not known.",
        expected=", ".join(get_args(Rule)),
        got=repr(documents),
        do="pip install --upgrade jumok, or get an undamaged copy of the bundle",
        place=Place(file),
    )


class LanguageModel(System):
    """A causal language model with its tokenizer.

    Args:
        model: in evaluation mode.
        tokenizer: the one it was trained with.
        context: the most tokens it reads at once.
        documents: what it was trained to read as one document.

    Raises:
        ModelError: a vocabulary that is not the tokenizer's.
    """

    task = "language-model"
    model: Shown[CausalLanguageModel] = Shown()
    decoder: Shown[Window[Any]] = Shown()

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
                expected=f"{model.decoder.vocabulary_size} pieces",
                got=f"{tokenizer.size} pieces",
            )
        self.model, self.tokenizer, self.context = model, tokenizer, context
        self.documents = documents
        self.decoder = Window(model.decoder, context)

    @classmethod
    def load(
        cls, *folders: Path | str, device: str = "auto", precision: PrecisionName = "fp32"
    ) -> "LanguageModel":
        """The bundle in this folder.

        Raises:
            BundleError: a bundle that is missing, damaged or unsafe, or more than one.
            ConfigError: no such device.
        """
        bundle, model = load_one(
            folders, CausalLanguageModel, device, precision, "language models write alone."
        )
        config = bundle.config
        system = cls(
            model,
            load_text_tokenizer(bundle.folder / TOKENIZER),
            context=config.max_tokens,
            documents=_rule(config.documents, bundle.folder / CONFIG),
        )
        return loaded_from(system, [bundle])

    def modules(self) -> Sequence[CausalLanguageModel]:
        return [self.model]

    def generate(
        self, prompt: str = "", options: DecodingOptions = DEFAULTS, *, max_tokens: int = 256
    ) -> Iterator[str]:
        """The text that follows `prompt`, in pieces, each as soon as it is certain.

        What is longer than the model's context is read and written in a sliding window: see
        `jumok.decoding.window`. A beam has nothing certain before its end, so it gives one piece.

        Args:
            prompt: may be empty: then a document is begun.
            options: how to decode; its lengths and `nbest` count for nothing here.
            max_tokens: the most tokens that are written.

        Raises:
            ConfigError: options out of range.
            ModelError: logits that are not numbers.
        """
        ids = self.tokenizer.encode(text_of(prompt, "prompt"))
        options = replace(
            options, nbest=1, minimum_length=0, maximum_length=len(ids) + max_tokens,
            maximum_ratio=None, forbidden=(PAD, UNKNOWN, START),
        )  # fmt: skip
        return certain_text(self.tokenizer, prompt, self.each_at_work(self._tokens(ids, options)))

    def _tokens(self, prompt: list[int], options: DecodingOptions) -> Iterator[int]:
        memory = self.model.nothing()
        if not options.sample and options.beam > 1:
            hypotheses = decode(self.decoder, memory, options, [prompt])
            tell(self, FOUND, hypotheses)
            best = hypotheses[0][0]
            return iter(best.tokens[len(prompt) :])
        choose: Callable[[Tensor], Tensor] = place_of_largest
        if options.sample:
            generator = torch.Generator(memory.states.device).manual_seed(options.seed)
            choose = drawer(generator, options.filters())
        return stream(self.decoder, memory, options.limits(), choose, prompt)

    @at_work
    def score(self, texts: Sequence[str], *, batch_size: int = 32) -> list[TextScore]:
        """What the model thinks of given texts, each a document of its own.

        A text longer than the context is read in windows that overlap by half, so that every
        token is predicted from at least half a context, or from all that stands before it.

        Raises:
            DataError: a text without a character.
        """
        texts = texts_in(texts)
        for number, text in enumerate(texts, start=1):
            if not text:
                raise DataError("There is nothing to score.", got=f"text {number} is empty")
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
        """What of a text of `length` tokens, START and END counted, is read together."""
        scored, start = 0, 0
        while scored < length - 1:
            end = min(start + self.context, length - 1)
            yield _Span(row, start, end, scored)
            scored, start = end, start + (self.context + 1) // 2

    @torch.inference_mode()
    def _score_windows(
        self, windows: Sequence["_Span"], encoded: list[list[int]], values: list[list[float]]
    ) -> None:
        """Writes the log-probabilities of what these windows predict."""
        device = self.model.decoder.embedding.table.device
        width = max(window.end - window.start for window in windows)
        # padding stands behind what is read, where nothing sees it
        rows = [
            [*(ids := encoded[one.row][one.start : one.end + 1]), *[END] * (width + 1 - len(ids))]
            for one in windows
        ]
        tokens = torch.tensor(rows, device=device)
        logits = self.model.decoder.logits(self.model.hidden(tokens[:, :-1]))
        chosen = logits.float().log_softmax(2).gather(2, tokens[:, 1:, None])[..., 0].tolist()
        for window, row in zip(windows, chosen, strict=True):
            new = row[window.scored - window.start : window.end - window.start]
            values[window.row][window.scored : window.end] = new


@dataclass(frozen=True)
class _Span:
    """A window of a text: tokens `start` to `end` are read; predictions before `scored` are not
    counted again."""

    row: int
    start: int
    end: int
    scored: int


def certain_text(tokenizer: TextTokenizer, prompt: str, tokens: Iterable[int]) -> Iterator[str]:
    """The text of `tokens`, which go on from `prompt`, as soon as nothing can change it.

    A character may be written in several tokens; it is handed out with the last of them. Joined,
    the pieces are what decoding everything at once gives behind the prompt's text.
    """
    line = tokenizer.encode(prompt.rpartition("\n")[2])
    known = len(tokenizer.decode(line))
    for token in tokens:
        line.append(token)
        text = tokenizer.decode(line)
        if not text.endswith(BROKEN) and len(text) > known:
            yield text[known:]
            known = len(text)
        if text.endswith("\n"):  # what follows a line break does not depend on what stood before
            line, known = [], 0
    rest = tokenizer.decode(line)[known:]
    if rest:
        yield rest
