"""The traces of two inputs: two sentences, or one sentence and two models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from jumok.inspection.context_similarity import context_similarity
from jumok.inspection.hooks.intervene import UNCHANGED, Change
from jumok.inspection.sites import sites_at
from jumok.inspection.trace import Level, Trace
from jumok.tracing.request import NOTHING, Analyses


@dataclass(frozen=True)
class Comparison:
    """The models that trace A and B.

    Attributes:
        beside: the second one; None: the first traces both.
        before: the second model is the first one before it was trained further: it is given the
            output of the first, so that both have the same tokens, and its trace's finding
            `own_output` is what it writes by itself.
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
    ) -> tuple[Trace, Trace | None]:
        """The trace of A, and that of B if there is one.

        Args:
            against: the input of B; empty: that of A, if B is another model.
            target: written instead of the model's own output; by both if their inputs are equal.
            alone: B is another model, and is not traced.
        """
        only = replace(extras, ablation=False, attribution=False, search_tree=False)
        traced = partial(self.traced, given, target, change=change, prefix=prefix, extras=extras)
        if against and self.beside is None:
            return self._apart(traced, partial(self.traced, against, extras=only))
        trace = traced()
        if self.beside is None or alone:
            return trace, None
        if self.before:
            return trace, self._before(trace, given, only)
        same = target if not against else None
        return trace, self.beside(against or given, same, extras=only)

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
        forced = self.beside(given, trace.findings.written, extras=extras)
        return replace(forced, findings=replace(forced.findings, own_output=own))

    def _kept(self, trace: Trace) -> Trace:
        """Drops what the level does not keep; words are compared before that."""
        if self.level == "full":
            return trace
        sites = sites_at(trace.sites, self.level)
        return replace(trace, level=self.level, sites=sites, streams={})
