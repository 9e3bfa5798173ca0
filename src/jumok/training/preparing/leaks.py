"""Validation data that are in the training data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from jumok.data.leaks import VERSION, Leaks, find_leaks
from jumok.data.store import cached_store
from jumok.training.task import Reporter


def say_leaks(
    cache: Path,
    identity: object,
    validation: Sequence[str],
    training: Callable[[], Iterable[str]],
    say: Reporter,
) -> None:
    """Says how many validation texts are in the training data; a second run looks it up.

    Args:
        identity: JSON that changes whenever the training data change.
        training: reads them.
    """
    known = ["leaks", VERSION, identity, list(validation)]
    with cached_store(cache, known, lambda _: asdict(find_leaks(validation, training()))) as store:
        leaks = Leaks(**store.about)
    if leaks.of:
        say(f"validation: {leaks.line('texts')}")
