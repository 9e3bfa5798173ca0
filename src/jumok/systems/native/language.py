"""A language model on the native engine: the next tokens of a text, as `decoding/stream.py`."""

from collections.abc import Callable, Iterator, Sequence
from math import inf, isfinite

import numpy as np

from jumok.bundle.described import section_of
from jumok.bundle.reading import Bundle
from jumok.config.causal import CausalConfig
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions
from jumok.decoding.rank import no_probability
from jumok.engine.choosing import Draws, Sampling, log_softmax, repeats
from jumok.engine.language import NativeCausal
from jumok.engine.packing import Array, Kind
from jumok.halting import heed
from jumok.models.causal import CausalLanguageModel

Choose = Callable[[Array], int]
"""The next token, from the scores of all: log-probabilities, or logits where these do as well."""


def engine_of(bundle: Bundle, model: CausalLanguageModel, kind: Kind) -> NativeCausal:
    """The model of a bundle on the engine, which has to serve it.

    Args:
        model: with the bundle's weights, in float32.
    """
    config = section_of(bundle)
    assert isinstance(config, CausalConfig)
    weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
    return NativeCausal(config, weights, bundle.config.max_tokens, kind)


def serves(options: DecodingOptions) -> bool:
    """Whether the engine writes with these options: it has no beams of language models."""
    return options.sample or options.beam == 1


def next_tokens(
    engine: NativeCausal, prompt: Sequence[int], options: DecodingOptions
) -> Iterator[int]:
    """The tokens that follow the prompt, without END, each as soon as it is chosen.

    In float32 they are those of torch, from equal seeds too, unless two tokens are within rounding
    of each other (or a sample of the border between two).

    Raises:
        ModelError: logits are not numbers.
        MemoryError: there is not enough memory.
    """
    written, new = list(prompt), [START, *prompt]
    choose = _chooser(options)
    with engine.reader() as reader:
        while len(written) < options.maximum_length:
            heed()
            scores = reader.read(new)
            if options.sample:  # the most probable token has also the largest logit
                scores = log_softmax(scores)
            scores[list(options.forbidden)] = -inf
            if options.no_repeat_ngram:
                scores[repeats(written, options.no_repeat_ngram)] = -inf
            token = choose(scores)
            if not isfinite(scores[token]):
                raise no_probability(f"{scores[token]} after {len(written)} tokens")
            if token == END:
                return
            yield token
            written.append(token)
            new = [token]


def _chooser(options: DecodingOptions) -> Choose:
    if not options.sample:
        return lambda scores: int(np.argmax(scores))
    sampling = Sampling(options.temperature, options.top_k, options.top_p)
    draws = Draws(options.seed)
    return lambda scores: draws.draw(sampling.of(scores))
