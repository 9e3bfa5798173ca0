"""A second sentence, or a second model, beside the first: what `jumok look` shows as A | B."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.intervene import Change
    from jumok.inspection.trace import Level, Trace
    from jumok.systems.tracing_parts import Extras

Against = Annotated[
    str | None,
    typer.Option(metavar="TEXT|PICTURE", help="A second sentence or picture, beside the first."),
]
With = Annotated[
    str | None, typer.Option("--with", metavar="MODEL", help="A second model, beside the first.")
]


@dataclass(frozen=True)
class Sides:
    """What traces A, and B.

    Attributes:
        traced: the first model.
        beside: the second one; None: the first does both.
        level: what is kept of each trace.
    """

    traced: "Callable[..., Trace]"
    beside: "Callable[..., Trace] | None" = None
    level: "Level" = "qk"

    def look(
        self,
        given: str,
        against: str = "",
        target: str | Sequence[int] | None = None,
        *,
        extras: "Extras",
        change: "Change | None" = None,
        prefix: Sequence[int] = (),
        alone: bool = False,
    ) -> "tuple[Trace, Trace | None]":
        """The trace of A, and of B where there is one.

        Args:
            against: what B reads; empty: what A reads, if B is another model.
            target: what is written instead of the model's own; by both where they read the same.
            extras: of A; of B only the layers.
            alone: B is another model, and nobody looks at it.
            change: what is done to the model meanwhile, in A; None: nothing.
            prefix: how A's output begins.
        """
        from jumok.inspection.apart import words_apart
        from jumok.inspection.intervene import UNCHANGED

        change = change or UNCHANGED
        only = replace(extras, worth=False, words=False, tree=False)
        if self.beside is not None:
            trace = self.traced(given, target, change=change, prefix=prefix, extras=extras)
            same = target if not against else None
            other = None if alone else self.beside(against or given, same, extras=only)
            return trace, other
        if not against:
            traced = self.traced(given, target, change=change, prefix=prefix, extras=extras)
            return traced, None
        trace = self.traced(
            given, target, change=change, prefix=prefix, extras=extras, level="full"
        )
        other = self.traced(against, extras=only, level="full")
        notes = {**trace.notes, "against": words_apart(trace, other)}
        return self._kept(replace(trace, notes=notes)), self._kept(other)

    def _kept(self, trace: "Trace") -> "Trace":
        """No more of it than the level says: words are compared by the whole of it."""
        if self.level == "full":
            return trace
        sites = trace.sites
        if self.level == "weights":
            sites = tuple(replace(site, query=None, key=None, value=None) for site in sites)
        return replace(trace, level=self.level, sites=sites, streams={})


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    device: str,
    precision: option.Precisions,
) -> "Callable[..., Trace] | None":
    """What traces the second model, which must be able to read `given`; None: there is none."""
    from jumok.systems.tracers import check_given

    if models is None:
        return None
    family, name = option.load_family(models, device, precision, 0)
    check_given(family, given)
    return partial(family.trace, options=options, level=level, name=name)
