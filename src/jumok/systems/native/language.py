"""A language model on the native engine: the next tokens of a text. Nothing here imports torch.

Its readable twin is `systems/language_on_torch.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from math import inf, isfinite
from typing import Protocol, runtime_checkable

from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.rank import no_attention, no_probability
from jumok.decoding.steps.methods import searches_of
from jumok.decoding.steps.sentence import run
from jumok.decoding.steps.writing import chooser
from jumok.engine.choosing import WrittenCounts, repeats
from jumok.engine.language import NativeCausal, Reading
from jumok.engine.packing import Array
from jumok.halting import heed
from jumok.systems.native.windowed import WindowedSteps

Watch = Callable[[Array], None]
"""Receives the log-probabilities of a step, (vocabulary), before its token."""


def next_tokens(
    engine: NativeCausal,
    prompt: Sequence[int],
    options: DecodingOptions,
    watch: Watch | None = None,
) -> Iterator[int]:
    """The tokens that follow the prompt, without END, each as soon as it is chosen.

    Raises:
        ModelError: log-probabilities are not numbers.
        MemoryError: there is not enough memory.
    """
    reader = engine.pass_reader()
    with closing(NativeWriter(engine, prompt, options, watch)) as writer:
        while True:
            heed()
            token = reader.finish(writer.next())
            if token is None:
                return
            yield token


@runtime_checkable
class TokenWriter(Protocol):
    """Writes one text."""

    def next(self) -> Reading[int | None]:
        """The next token, without END; None: the text has ended."""
        ...

    def close(self) -> None:
        """Frees what the writing needs."""
        ...


class NativeWriter:
    """Writes one text on the engine, by passes that others make.

    In float32 its tokens are those of torch, from equal seeds too, unless two tokens are within
    rounding of each other (or a sample of the border between two).

    Raises:
        MemoryError: there is not enough memory.
    """

    def __init__(
        self,
        engine: NativeCausal,
        prompt: Sequence[int],
        options: DecodingOptions,
        watch: Watch | None = None,
    ) -> None:
        self._options, self._watch = options, watch
        self._written, self._new = list(prompt), [START, *prompt]
        self._choose = chooser(options)
        self._counts = WrittenCounts(
            options.frequency_penalty, options.presence_penalty, engine.vocabulary
        )
        self._text = engine.begin()

    def next(self) -> Reading[int | None]:
        """The next token, without END; None: the text has ended.

        Raises:
            ModelError: log-probabilities are not numbers.
        """
        options, written = self._options, self._written
        if len(written) >= options.maximum_length:
            return None
        scores = yield from self._text.read(self._new)
        scores[list(options.forbidden)] = -inf
        if options.no_repeat_ngram:
            scores[repeats(written, options.no_repeat_ngram)] = -inf
        token = self._choose(self._counts.penalised(scores) if options.penalised else scores)
        if not isfinite(scores[token]):
            raise no_probability(f"{scores[token]} after {len(written)} tokens")
        if token == END:
            return None
        if self._watch is not None:
            self._watch(scores)
        self._counts.note(token)
        written.append(token)
        self._new = [token]
        return token

    def close(self) -> None:
        """Frees what the engine knows of the text."""
        self._text.close()


class WrittenElsewhere:
    """Tokens that are not written by passes of the engine."""

    def __init__(self, tokens: Iterator[int]) -> None:
        self._tokens = tokens

    def next(self) -> Reading[int | None]:
        """The next token; None: there is none. Nothing is read for it."""
        yield from ()
        return next(self._tokens, None)

    def close(self) -> None:
        """Lets go of what writes them."""
        self._tokens = iter(())


def searched(
    engine: NativeCausal, prompt: Sequence[int], options: DecodingOptions
) -> list[Hypothesis]:
    """The hypotheses of a beam search, which begin with the prompt, best first.

    Raises:
        ConfigError: a coverage penalty.
        ModelError: log-probabilities are not numbers.
        MemoryError: there is not enough memory.
    """
    if options.coverage_penalty:
        raise no_attention()
    longest = options.limits().longest_of(0)
    ((search,),) = searches_of(options, [longest], engine.vocabulary, [prompt])
    with (
        engine.session() as session,
        engine.begun([engine.context], search.slots) as request,
    ):
        run([(0, search)], WindowedSteps(session, request, engine.context, engine.vocabulary))
    return search.found()
