"""A language model on the native engine: the next tokens of a text. Nothing here imports torch.

Its readable twin is `systems/language_on_torch.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite

import numpy as np

from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.drawing import Draws
from jumok.decoding.rank import no_attention, no_probability
from jumok.decoding.steps.methods import searches_of
from jumok.decoding.steps.sentence import run
from jumok.engine.choosing import Sampling, WrittenCounts, draw, repeats
from jumok.engine.language import NativeCausal
from jumok.engine.packing import Array
from jumok.halting import heed
from jumok.systems.native.windowed import WindowedSteps

Watch = Callable[[Array], None]
"""Receives the log-probabilities of a step, (vocabulary), before its token."""

Choose = Callable[[Array], int]
"""The next token, from the log-probabilities of all, lowered by penalties."""


def next_tokens(
    engine: NativeCausal,
    prompt: Sequence[int],
    options: DecodingOptions,
    watch: Watch | None = None,
) -> Iterator[int]:
    """The tokens that follow the prompt, without END, each as soon as it is chosen.

    In float32 they are those of torch, from equal seeds too, unless two tokens are within rounding
    of each other (or a sample of the border between two).

    Raises:
        ModelError: log-probabilities are not numbers.
        MemoryError: there is not enough memory.
    """
    written, new = list(prompt), [START, *prompt]
    choose = _chooser(options)
    counts = WrittenCounts(options.frequency_penalty, options.presence_penalty, engine.vocabulary)
    with engine.reader() as reader:
        while len(written) < options.maximum_length:
            heed()
            scores = reader.read(new)
            scores[list(options.forbidden)] = -inf
            if options.no_repeat_ngram:
                scores[repeats(written, options.no_repeat_ngram)] = -inf
            token = choose(counts.penalised(scores) if options.penalised else scores)
            if not isfinite(scores[token]):
                raise no_probability(f"{scores[token]} after {len(written)} tokens")
            if token == END:
                return
            if watch is not None:
                watch(scores)
            yield token
            counts.note(token)
            written.append(token)
            new = [token]


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
    with engine.begun([engine.context], search.slots) as (session, request):
        run([(0, search)], WindowedSteps(session, request, engine.context, engine.vocabulary))
    return search.found()


def _chooser(options: DecodingOptions) -> Choose:
    if not options.sample:
        return lambda scores: int(np.argmax(scores))
    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.min_p)
    draws = Draws(options.seed)
    return lambda scores: draw(sampling.of(scores), draws.next())
