"""A second input or a second model for `jumok look`, which shows them as A | B."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option
from jumok.late import late_imports

with late_imports():
    from jumok.tracing import catalog

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.trace import Level, Trace

Against = Annotated[
    str | None,
    typer.Option(metavar="TEXT|IMAGE", help="Compare with a second sentence or image."),
]
With = Annotated[
    str | None, typer.Option("--with", metavar="MODEL", help="Compare with a second model.")
]


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    device: str,
    precision: option.Precisions,
) -> "Callable[..., Trace] | None":
    """Loads what traces the second model, which must be able to read `given`; None: no model."""
    if models is None:
        return None
    family, name = option.load_family(models, device, precision, 0)
    catalog.check_given(family, given)
    return partial(family.trace, options=options, level=level, name=name)
