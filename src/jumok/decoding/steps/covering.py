"""What a hypothesis attended to, for the coverage penalty: see `decoding/coverage.py`, the twin."""

from collections.abc import Callable, Sequence

import numpy as np

from jumok.data.tokenizer import END, START
from jumok.decoding.rank import LEAST_ATTENTION
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.searching import Source

Cover = Callable[[int, Sequence[Sequence[int]]], list[float]]
"""From (number of a sentence, whole hypotheses of it) to the log coverage of each."""


def covering(model: NativeModel, sources: Sequence[Source]) -> Cover:
    """The log coverage by hypotheses of these sources.

    A step of the engine gives no attention, but only hypotheses that leave the beam need it: these
    are read once more, all tokens at once. The weights of all heads of all layers are averaged, as
    on torch.
    """
    watched = [WatchedAttention("cross", layer) for layer in range(model.cross_layers)]

    def cover(sentence: int, hypotheses: Sequence[Sequence[int]]) -> list[float]:
        given = [sources[sentence]] * len(hypotheses)
        found = model.force(given, hypotheses, (START, END), watched, log_probabilities=False)
        covered = []
        for each in found:
            of_layers = np.stack([weights.mean(axis=0).sum(axis=0) for weights in each.attention])
            covered.append(float(np.log(of_layers.mean(axis=0).clip(LEAST_ATTENTION, 1.0)).sum()))
        return covered

    return cover
