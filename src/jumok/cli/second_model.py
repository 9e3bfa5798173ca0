"""A second input or model for `jumok look`: A | B."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from jumok.cli.options import Machine, model_folders
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.trace import Level, Trace


@dataclass(frozen=True)
class Beside:
    """What is compared with."""

    against: str | None = option(
        None, "Compare with a second sentence or image.", metavar="TEXT|IMAGE"
    )
    with_: str | None = option(None, "Compare with a second model.", metavar="MODEL")
    before: str | None = option(
        None,
        "Compare with this model before it was trained further: the same tokens through both.",
        metavar="MODEL",
    )

    @property
    def model(self) -> str | None:
        """The second model; None: there is none."""
        return self.with_ or self.before

    def check(self, model: str) -> None:
        """Checks that the options can be combined.

        Raises:
            BundleError: the model of --before is of another form, or has another vocabulary.
            ConfigError: options that exclude one another are given.
        """
        if self.before is None:
            return
        others = {"--with": self.with_, "--against": self.against}
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ConfigError(
                "--before compares one text in two models.",
                expected="--before MODEL alone",
                got=f"--before and {' and '.join(given)}",
                do="leave out one of them",
            )
        from jumok.bundle.same_architecture import check_same_architecture

        check_same_architecture(model_folders(model)[0], model_folders(self.before)[0])


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    machine: Machine,
) -> "Callable[..., Trace] | None":
    """Loads the second model, which must be able to read `given`, for tracing; None: no model."""
    if models is None:
        return None
    family = replace(machine, threads=0).load_family(models)
    from jumok.tracing.catalog import check_given

    check_given(family, given)
    return partial(family.trace, options=options, level=level, name=family.name)
