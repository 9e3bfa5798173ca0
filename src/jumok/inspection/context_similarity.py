"""One word in two sentences: the similarity of its vectors, layer by layer.

Before the first layer a word's vector does not depend on its neighbours (apart from its position);
after a layer it does. The vectors of one layer may all have similar directions, so the mean cosine
of different words of the two sentences is given as a baseline: only what exceeds it is specific to
the word.

Source: Ethayarajh 2019, How contextual are contextualized word representations?, sections 3 and 4.
"""

import numpy as np

from jumok.inspection.findings import ContextSimilarity
from jumok.inspection.fingerprints import check_one_model
from jumok.inspection.trace import Array, Axis, Trace

AXES = {"encoder": ("source", "text"), "decoder": ("target", "text")}
"""The axes that a stack may read, by its name in `Trace.streams`."""


def context_similarity(trace: Trace, other: Trace) -> dict[str, ContextSimilarity]:
    """The cosines for each stack whose streams both traces have.

    A word's vector is the mean of its tokens' vectors.

    Raises:
        BundleError: the traces are of two models.
    """
    check_one_model(trace, other)
    facts: dict[str, ContextSimilarity] = {}
    for stack, stream in trace.streams.items():
        axis = axis_of(trace, stack)
        if axis is None or stack not in other.streams or axis not in other.axes:
            continue
        mine, theirs = trace.axes[axis], other.axes[axis]
        cosines = cosines_of(word_vectors(stream, mine), word_vectors(other.streams[stack], theirs))
        unequal = np.array([[a != b for b in theirs.texts] for a in mine.texts])
        apart = cosines[:, unequal].mean(axis=1, dtype=np.float64) if unequal.any() else None
        facts[stack] = ContextSimilarity(
            axis,
            theirs.texts,
            cosines.astype(np.float64).round(5),
            None if apart is None else apart.round(5),
        )
    return facts


def axis_of(trace: Trace, stack: str) -> str | None:
    """The axis whose tokens a stack reads; None: it reads the cells of an image."""
    return next((name for name in AXES.get(stack, ()) if name in trace.axes), None)


def word_vectors(stream: Array, axis: Axis) -> Array:
    """(layers, words, dim) from (layers, positions, dim): the mean of each word's tokens."""
    belongs = np.array([[word == at for word in axis.words] for at in range(len(axis.texts))])
    shares = belongs / belongs.sum(axis=1, keepdims=True)
    vectors: Array = (shares @ stream[:, : belongs.shape[1]]).astype(np.float32)
    return vectors


def cosines_of(one: Array, other: Array) -> Array:
    """(layers, words, words of the other)."""
    units = [
        each / np.maximum(np.linalg.norm(each, axis=2, keepdims=True), 1e-12)
        for each in (one, other)
    ]
    cosines: Array = units[0] @ units[1].transpose(0, 2, 1)
    return cosines
