"""Checks that a trace and a model, or two traces, belong together."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from jumok.bundle.fingerprint import fingerprint_in
from jumok.errors import BundleError, Location

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace


@runtime_checkable  # the tests check annotations while they run
class Fingerprinted(Protocol):
    """What has a model's fingerprint: a loaded model, or a trace."""

    @property
    def fingerprint(self) -> str:
        """See `jumok.bundle.fingerprint`."""
        ...


def same_model(one: str, other: str) -> bool:
    """Whether these may be fingerprints of one model: configs are compared where both are known."""
    ours, theirs = one.split("+"), other.split("+")
    return len(ours) == len(theirs) and all(
        mine == yours
        for pair in zip(ours, theirs, strict=True)
        for mine, yours in zip(*(each.split("-") for each in pair), strict=False)
    )


def check_model(trace: "Trace", of: Fingerprinted | Path | str, file: Path | None = None) -> None:
    """Raises a BundleError where the trace is not of this model."""
    wanted = fingerprint_in(of) if isinstance(of, Path | str) else of.fingerprint
    if same_model(trace.fingerprint, wanted):
        return
    where = f" in {of}" if isinstance(of, Path | str) else ""
    raise BundleError(
        "this trace is of another model.",
        expected=f"the model{where}, with the fingerprint {wanted}",
        got=f"a trace of {trace.model!r}, with the fingerprint {trace.fingerprint or 'unknown'}",
        do="give the model that it was recorded with, or record it again with this one: "
        "jumok look MODEL TEXT --save trace.npz",
        place=None if file is None else Location(file),
    )


def check_one_model(trace: "Trace", other: "Trace") -> None:
    """Raises a BundleError where two traces are of two models: their vectors share no axes."""
    if same_model(trace.fingerprint, other.fingerprint):
        return
    raise BundleError(
        "these traces are of two models, whose vectors cannot be compared.",
        expected=f"two of {trace.model!r}, with the fingerprint {trace.fingerprint or 'unknown'}",
        got=f"one of {other.model!r}, with the fingerprint {other.fingerprint or 'unknown'}",
        do="record both with one model; page(trace, other=other) shows maps of two models",
    )
