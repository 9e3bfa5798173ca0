"""Request handlers, one class per task.

Each calls its system with the inputs of several requests at once. Importing it imports no torch: a
model may run on the native engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from jumok.data.texts.tokenizer import NOT_UTF8, CertainText
from jumok.decoding import DecodingOptions
from jumok.decoding.options import FOR_CAPTIONS, FOR_TRANSLATION
from jumok.decoding.stepper import largest
from jumok.engine.language import Passes
from jumok.engine.packing import Array
from jumok.systems.conversation import Conversation, text_before
from jumok.systems.embedding import Embedder
from jumok.systems.text_writer import UntilStop
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import Split
from jumok.systems.translation.terms.glossary import Glossary
from jumok.systems.translation.translator import Translator

if TYPE_CHECKING:
    from jumok.systems.caption import Caption
    from jumok.systems.captioner import Captioner
    from jumok.systems.classification import Classification
    from jumok.systems.image_classifier import ImageClassification
    from jumok.systems.language_model import LanguageModel, TextScore
    from jumok.systems.masked_model import Filled, MaskedModel
    from jumok.systems.text_classifier import TextClassification

QueuedInput = TypeVar("QueuedInput")
QueuedOutput = TypeVar("QueuedOutput")


def in_batches(
    run: Callable[[Sequence[QueuedInput]], list[QueuedOutput]],
    given: Sequence[QueuedInput],
    options: DecodingOptions,
) -> list[QueuedOutput]:
    """An answer for each; samples one by one, for those of a batch depend on each other."""
    if not options.sample:
        return run(given)
    return [answer for each in given for answer in run([each])]


@dataclass(frozen=True)
class Required:
    """What translations must contain, and how texts are cut.

    Attributes:
        keep: regular expressions of strings that are kept besides the usual ones; None: nothing is.
    """

    glossary: Glossary | None = None
    keep: tuple[str, ...] | None = ()
    split: Split = "auto"

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `Translator.translate`."""
        keep = False if self.keep is None else list(self.keep) or True
        return {"glossary": self.glossary, "keep": keep, "split": self.split}


FREE = Required()


@dataclass(frozen=True)
class TranslateHandler:
    """Lines of text, each with the forced beginning of its translation."""

    system: Translator
    options: DecodingOptions = FOR_TRANSLATION
    alignments: bool = False
    required: Required = FREE

    def run(self, given: Sequence[tuple[str, str]]) -> list[Translation]:
        return in_batches(self._translated, given, self.options)

    def _translated(self, given: Sequence[tuple[str, str]]) -> list[Translation]:
        texts, prefixes = [text for text, _ in given], [prefix for _, prefix in given]
        return self.system.translate(
            texts,
            self.options,
            alignments=self.alignments,
            prefixes=prefixes if any(prefixes) else None,
            **self.required.arguments,
        )


@dataclass(frozen=True)
class ScorePairsHandler:
    """Sources with given translations."""

    system: Translator

    def run(self, given: Sequence[tuple[str, str]]) -> list[Translation]:
        return self.system.score([source for source, _ in given], [target for _, target in given])


@dataclass(frozen=True)
class ScoreTextsHandler:
    """Texts by a language model."""

    system: LanguageModel

    def run(self, given: Sequence[str]) -> list[TextScore]:
        return self.system.score(given)


@dataclass(frozen=True)
class ClassifyTextsHandler:
    """Texts to label."""

    system: TextClassification

    def run(self, given: Sequence[str]) -> list[Classification]:
        return self.system.classify(given)


@dataclass(frozen=True)
class ClassifyImagesHandler:
    """Images, given as the bytes of their files."""

    system: ImageClassification

    def run(self, given: Sequence[bytes]) -> list[Classification]:
        from jumok.data.files.images import read_image

        return self.system.classify([read_image(each, "the image") for each in given])


@dataclass(frozen=True)
class CaptionHandler:
    """Images, given as the bytes of their files."""

    system: Captioner
    options: DecodingOptions = FOR_CAPTIONS
    looks: bool = False

    def run(self, given: Sequence[bytes]) -> list[Caption]:
        return in_batches(self._captioned, given, self.options)

    def _captioned(self, given: Sequence[bytes]) -> list[Caption]:
        pictures = [self.system.reader.read(each, "the image") for each in given]
        return self.system.caption(pictures, self.options, looks=self.looks)


@dataclass(frozen=True)
class FillHandler:
    """Texts with gaps."""

    system: MaskedModel
    top: int = 5

    def run(self, given: Sequence[str]) -> list[Filled]:
        return self.system.fill(given, self.top)


@dataclass(frozen=True)
class EmbedHandler:
    """Texts as vectors."""

    system: Embedder

    def run(self, given: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.system.sentence_vectors(given).tolist()
        return vectors


@dataclass(frozen=True)
class WrittenToken:
    """A token of a generated text.

    Attributes:
        text: its own, or its name in the vocabulary where that is no whole character.
        log_probability: by the model, whatever sampling does with it: a natural logarithm.
        top: the most probable tokens of its step.
        offset: the number of characters that are complete before it.
    """

    text: str
    log_probability: float
    top: Mapping[str, float]
    offset: int


@dataclass
class Continuation:
    """A text that a language model writes after a prompt.

    Attributes:
        top: tokens whose log-probabilities are kept at every step, besides the one that is written;
            None: none are kept.
        tokens: the number of tokens written so far.
        steps: what is kept of every step.
        ended: afterwards "stop", or "length" if `max_tokens` were written.
    """

    system: LanguageModel
    prompt: str | Conversation
    options: DecodingOptions
    max_tokens: int
    top: int | None = None
    tokens: int = 0
    steps: list[WrittenToken] = field(default_factory=list)
    ended: str = "length"
    _text: _TextInWriting | None = None
    _over: bool = False

    @property
    def prompt_tokens(self) -> int:
        """How many tokens are read before the first one is written."""
        if isinstance(self.prompt, str):
            return len(self.system.tokenizer.encode(self.prompt))
        return len(self.prompt.tokens)

    def next_part(self) -> Passes[str | None]:
        if self._over:
            return None
        text = self._text = self._text or _TextInWriting(self)
        token = yield from text.writer.next()
        if token is None:
            self._over = True
            part = text.until.add(text.certain.rest())
            self.ended = "length" if self.tokens >= self.max_tokens else "stop"
            return part if text.until.stopped else part + text.until.rest()
        self.tokens += 1
        if self.top is not None:
            self.steps.append(self._kept(token, text.seen.pop(), self.top, text.until.length))
        part = text.until.add(text.certain.add(token))
        if text.until.stopped:
            self._over, self.ended = True, "stop"
        return part

    def close(self) -> None:
        if self._text is not None:
            self._text.writer.close()

    def _kept(self, token: int, values: Array, top: int, length: int) -> WrittenToken:
        best = largest(values[None], top)[0][0]
        others = dict(zip(self._names(best.tolist()), values[best].tolist(), strict=True))
        (name,) = self._names([token])
        return WrittenToken(name, float(values[token]), others, length)

    def _names(self, ids: Sequence[int]) -> list[str]:
        """The texts of single tokens; names from the vocabulary where one is no whole character."""
        tokenizer = self.system.tokenizer
        texts = [tokenizer.decode([each]) for each in ids]
        pieces = tokenizer.pieces(ids)
        return [
            piece if not text or NOT_UTF8 in text else text
            for text, piece in zip(texts, pieces, strict=True)
        ]


class _TextInWriting:
    """What a text is written by: its tokens, their characters, and where it stops.

    Attributes:
        seen: the log-probabilities of the step, if they are wanted.
    """

    def __init__(self, given: Continuation) -> None:
        self.seen: list[Array] = []
        self.writer = given.system.writer(
            given.prompt,
            given.options,
            max_tokens=given.max_tokens,
            watch=None if given.top is None else self.seen.append,
        )
        self.certain = CertainText(given.system.tokenizer, text_before(given.prompt))
        self.until = UntilStop(given.options.stop)
