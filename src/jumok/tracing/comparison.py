"""The traces of two inputs: two sentences, or one sentence and two models.

The vectors of the words of two sentences are compared layer by layer. Before the first layer a
word's vector does not depend on its neighbours (apart from its position); after a layer it does.
The vectors of one layer may all have similar directions, so the mean cosine of different words is
given as a baseline: only what exceeds it is specific to the word.

Source: Ethayarajh 2019, How contextual are contextualized word representations?, sections 3 and 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from jumok.inspection.findings import ContextSimilarity
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.sites import sites_at
from jumok.inspection.trace import Array, Axis, Level, Trace
from jumok.inspection.trace_file import check_one_model
from jumok.tracing.request import NOTHING, Analyses

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


@dataclass(frozen=True)
class Comparison:
    """The models that trace A and B.

    Attributes:
        beside: the second one; None: the first traces both.
        before: the second model is the first one before further training: it is given the output of
            the first, and its finding `own_output` is what it writes by itself.
    """

    traced: Callable[..., Trace]
    beside: Callable[..., Trace] | None = None
    level: Level = "qk"
    before: bool = False

    def look(
        self,
        given: str,
        against: str = "",
        target: str | Sequence[int] | None = None,
        *,
        extras: Analyses,
        change: Change = UNCHANGED,
        prefix: Sequence[int] = (),
        alone: bool = False,
        segment: int | None = None,
    ) -> tuple[Trace, Trace | None]:
        """The trace of A, and that of B if there is one.

        Args:
            against: the input of B; empty: that of A, if B is another model.
            target: written instead of the model's own output; by both if their inputs are equal.
            alone: B is another model, and is not traced.
            segment: of A, as in `jumok.trace`; the same of a second model.
        """
        only = replace(extras, ablation=False, attribution=False, search_tree=False)
        traced = partial(
            self.traced, given, target, change=change, prefix=prefix, extras=extras, segment=segment
        )
        if against and self.beside is None:
            return self._apart(traced, partial(self.traced, against, extras=only))
        trace = traced()
        if self.beside is None or alone:
            return trace, None
        if self.before:
            return trace, self._before(trace, given, only)
        if against:
            return trace, self.beside(against, extras=only)
        return trace, self.beside(given, target, extras=only, segment=segment)

    def _apart(
        self, first: Callable[..., Trace], second: Callable[..., Trace]
    ) -> tuple[Trace, Trace]:
        """Traces two sentences with one model, and compares the vectors of their words."""
        trace, other = first(level="full"), second(level="full")
        findings = replace(trace.findings, similarity=context_similarity(trace, other))
        return self._kept(replace(trace, findings=findings)), self._kept(other)

    def _before(self, trace: Trace, given: str, extras: Analyses) -> Trace:
        """The trace of the model before training, with the tokens of the trained one's output."""
        assert self.beside is not None
        if not trace.steps:
            return self.beside(given, extras=extras)
        own = self.beside(given, extras=NOTHING).output
        forced = self.beside(given, trace.findings.written, extras=extras, segment=trace.segment)
        return replace(forced, findings=replace(forced.findings, own_output=own))

    def _kept(self, trace: Trace) -> Trace:
        """Drops what the level does not keep; words are compared before that."""
        if self.level == "full":
            return trace
        sites = sites_at(trace.sites, self.level)
        return replace(trace, level=self.level, sites=sites, streams={})
