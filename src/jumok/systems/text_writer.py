"""Token-by-token text generation. Nothing here imports torch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol, runtime_checkable

from jumok.computation import check_cancelled
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.methods import searches_of
from jumok.decoding.native import WindowedStepper
from jumok.decoding.stepper import NextTokens, Reading, Stepper, reduced, run_searches
from jumok.decoding.writing import Watch, WrittenText
from jumok.engine.language import NativeCausal, Passes, PassReader

Read = Callable[[Reading], Passes[NextTokens]]
"""Reads tokens of a text, by passes that others make."""


@runtime_checkable
class TokenWriter(Protocol):
    """Writes one text."""

    def next(self) -> Passes[int | None]:
        """The next token, without END; None: the text has ended."""
        ...

    def close(self) -> None:
        """Frees what the writing needs."""
        ...


class TextWriter:
    """Writes one text token by token.

    On the engine others make the passes; on torch `next` never asks for one. In float32 the tokens
    are the same, unless two are within rounding of each other.

    Args:
        close: frees what the reading needs.
    """

    def __init__(self, text: WrittenText, read: Read, close: Callable[[], None]) -> None:
        self._text, self._read, self.close = text, read, close

    def next(self) -> Passes[int | None]:
        """The next token, without END; None: the text has ended.

        Raises:
            ModelError: log-probabilities are not numbers.
        """
        text, length = self._text, len(self._text.tokens)
        if length >= text.longest:
            return None
        for reading in text.reading():
            text.advance((yield from self._read(reading)))
        return text.tokens[-1] if len(text.tokens) > length else None


def native_writer(
    engine: NativeCausal, prompt: Sequence[int], options: DecodingOptions, watch: Watch | None
) -> TextWriter:
    """A writer on the engine; a MemoryError where there is not enough memory."""
    growing = engine.begin()

    def read(reading: Reading) -> Passes[NextTokens]:
        values = yield from growing.read(reading.tokens)
        return reduced(values[None, None], [reading])

    return TextWriter(text_after(prompt, options, watch), read, growing.close)


def writer_of(
    stepper: Stepper[Any], prompt: Sequence[int], options: DecodingOptions, watch: Watch | None
) -> TextWriter:
    """A writer whose steps are made at once."""

    def read(reading: Reading) -> Passes[NextTokens]:
        yield from ()
        return stepper.step([(0, reading)])

    return TextWriter(text_after(prompt, options, watch), read, lambda: None)


def text_after(
    prompt: Sequence[int], options: DecodingOptions, watch: Watch | None = None
) -> WrittenText:
    """The text that begins with a prompt, which is read at once."""
    return WrittenText(options, options.maximum_length, prompt, beginning=len(prompt), watch=watch)


def written_tokens(writer: TokenWriter, reader: PassReader | None) -> Iterator[int]:
    """The tokens of a text, each as soon as it is chosen.

    Args:
        reader: makes the passes; None: the writer asks for none.
    """
    with closing(writer):
        while True:
            check_cancelled()
            reading = writer.next()
            token = _alone(reading) if reader is None else reader.finish(reading)
            if token is None:
                return
            yield token


def _alone(reading: Passes[int | None]) -> int | None:
    try:
        next(reading)
    except StopIteration as over:
        token: int | None = over.value
        return token
    raise AssertionError("a writer on torch asks for no pass")


class WrittenElsewhere:
    """Tokens that are found all at once, by a search."""

    def __init__(self, tokens: Iterator[int]) -> None:
        self._tokens = tokens

    def next(self) -> Passes[int | None]:
        """The next token; None: there is none. Nothing is read for it."""
        yield from ()
        return next(self._tokens, None)

    def close(self) -> None:
        """Lets go of what writes them."""
        self._tokens = iter(())


def beam_searched(
    engine: NativeCausal, prompt: Sequence[int], options: DecodingOptions
) -> list[Hypothesis]:
    """The hypotheses of a beam search, which begin with the prompt, best first.

    Raises:
        ConfigError: a coverage penalty.
        ModelError: log-probabilities are not numbers.
        MemoryError: there is not enough memory.
    """
    longest = options.limits.longest_of(0)
    searches = searches_of(options, [longest], engine.vocabulary, [prompt])
    with (
        engine.session() as session,
        engine.begun([engine.context], searches[0][0].slots) as request,
    ):
        stepper = WindowedStepper(session, request, engine.context, engine.vocabulary)
        (hypotheses,) = run_searches(searches, stepper)
    return hypotheses


def without_gradients(tokens: Iterator[int]) -> Iterator[int]:
    """The same tokens, each computed without gradients; the code between them runs outside."""
    import torch

    while True:
        with torch.no_grad():
            token = next(tokens, None)
        if token is None:
            return
        yield token


class UntilStop:
    """A growing text that ends before certain texts, whose possible beginnings are kept back.

    Attributes:
        length: the number of characters so far, before `stop` is looked for.
        stopped: whether one of them was found.
    """

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._stop, self._longest = stop, max(map(len, stop), default=0)
        self._kept = ""
        self.length, self.stopped = 0, False

    def add(self, part: str) -> str:
        """What is certain now; may be empty."""
        self.length += len(part)
        self._kept += part
        places = [place for each in self._stop if (place := self._kept.find(each)) >= 0]
        self.stopped = bool(places)
        safe = min(places) if places else len(self._kept) - self._held_back()
        certain, self._kept = self._kept[:safe], self._kept[safe:]
        return certain

    def rest(self) -> str:
        """What was kept back, after the last token."""
        return self._kept

    def _held_back(self) -> int:
        """The number of characters at the end that may begin a text of `stop`."""
        for length in range(min(self._longest - 1, len(self._kept)), 0, -1):
            if any(each.startswith(self._kept[-length:]) for each in self._stop):
                return length
        return 0


def until_stop(parts: Iterable[str], stop: tuple[str, ...]) -> Iterator[str]:
    """The parts of a growing text up to the first of these texts."""
    until = UntilStop(stop)
    for part in parts:
        if certain := until.add(part):
            yield certain
        if until.stopped:
            return
    if rest := until.rest():
        yield rest
