"""A language model on torch: the readable twin of `systems/native/language.py`, and its beams."""

from collections.abc import Iterator, Sequence

import torch

from jumok.data.tokenizer import END
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.filters import Choose, most_probable
from jumok.decoding.sample import Sampler
from jumok.decoding.stream import stream
from jumok.decoding.window import Window
from jumok.models.causal import CausalLanguageModel
from jumok.models.decoder import TransformerState
from jumok.shapes import Float, Tensor
from jumok.systems.native.language import Watch


def next_tokens_on_torch(
    model: CausalLanguageModel,
    decoder: Window[TransformerState],
    prompt: Sequence[int],
    options: DecodingOptions,
    watch: Watch | None = None,
) -> Iterator[int]:
    """The tokens that follow the prompt, without END, each as soon as it is chosen.

    Args:
        decoder: the model's, in a window of its context.

    Raises:
        ModelError: logits are not numbers.
    """
    choose: Choose = most_probable
    if options.sample:
        choose = Sampler(options.seed, [len(prompt)], options.filters())
    choose = options.penalties().before(choose, [len(prompt)])

    def watching(values: Float[Tensor, " vocabulary"]) -> None:
        if watch is not None:
            watch(values.cpu().numpy())

    yield from stream(decoder, model.nothing(), options.limits(), choose, prompt, watching)


def searched_on_torch(
    model: CausalLanguageModel,
    decoder: Window[TransformerState],
    prompt: Sequence[int],
    options: DecodingOptions,
) -> list[list[Hypothesis]]:
    """The hypotheses of a beam search, which begin with the prompt, for the one text."""
    return decode(decoder, model.nothing(), options, [prompt])


@torch.inference_mode()
def scored_on_torch(
    model: CausalLanguageModel, texts: Sequence[Sequence[int]]
) -> list[list[float]]:
    """The log-probability of each token of these texts but the first."""
    device = model.decoder.embedding.table.device
    width = max(map(len, texts))
    # padding follows the tokens that are read, so no query attends to it
    rows = [[*ids, *[END] * (width - len(ids))] for ids in texts]
    tokens = torch.tensor(rows, device=device)
    logits = model.decoder.logits(model.hidden(tokens[:, :-1]))
    chosen: list[list[float]] = (
        logits.float().log_softmax(2).gather(2, tokens[:, 1:, None])[..., 0].tolist()
    )
    return chosen
