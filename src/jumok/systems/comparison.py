"""One look at two things: two sentences, or one before two models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from jumok.inspection.capture import sites_at
from jumok.inspection.context_similarity import context_similarity
from jumok.inspection.intervene import UNCHANGED, Change
from jumok.inspection.trace import Level, Trace
from jumok.systems.tracing_parts import Analyses


@dataclass(frozen=True)
class Comparison:
    """What traces A, and B.

    Attributes:
        traced: the first model.
        beside: the second one; None: the first does both.
        level: what is kept of each trace.
    """

    traced: Callable[..., Trace]
    beside: Callable[..., Trace] | None = None
    level: Level = "qk"

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
        """The trace of A, and of B where there is one.

        Args:
            against: what B reads; empty: what A reads, if B is another model.
            target: what is written instead of the model's own; by both where they read the same.
            extras: of A; of B only the layers.
            alone: B is another model, and nobody looks at it.
            change: what is done to the model meanwhile, in A.
            prefix: how A's output begins.
        """
        only = replace(extras, ablation=False, attribution=False, search_tree=False)
        traced = partial(self.traced, given, target, change=change, prefix=prefix, extras=extras)
        if against and self.beside is None:
            return self._apart(traced, partial(self.traced, against, extras=only))
        trace, other = traced(), None
        if self.beside is not None and not alone:
            same = target if not against else None
            other = self.beside(against or given, same, extras=only)
        return trace, other

    def _apart(
        self, first: Callable[..., Trace], second: Callable[..., Trace]
    ) -> tuple[Trace, Trace]:
        """Two sentences of one model, and how far the vectors of their words are apart."""
        trace, other = first(level="full"), second(level="full")
        notes = {**trace.notes, "against": context_similarity(trace, other)}
        return self._kept(replace(trace, notes=notes)), self._kept(other)

    def _kept(self, trace: Trace) -> Trace:
        """No more of it than the level says: words are compared by the whole of it."""
        if self.level == "full":
            return trace
        sites = sites_at(trace.sites, self.level)
        return replace(trace, level=self.level, sites=sites, streams={})
