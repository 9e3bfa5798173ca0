"""Saved traces as input."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace
    from jumok.tracing.catalog import Family


def saved_trace(family: "Family", given: str, asked: Mapping[str, object]) -> "Trace | None":
    """The trace in this file; None: `given` is not a trace.

    Args:
        asked: options that need a new trace, by their names; None: not given.

    Raises:
        BundleError: the file is missing, truncated or edited, or its trace is of another model.
        ConfigError: such an option was given.
    """
    # A sentence may end with the name of a file; a name without spaces is meant as a file.
    if not given.endswith(".npz") or (" " in given and not Path(given).is_file()):
        return None
    wanted = [name for name, value in asked.items() if value is not None]
    if wanted:
        raise ConfigError(
            "these options have no effect on a saved trace.",
            got=f"{', '.join(wanted)} with {given}",
            do="give the text or the image itself",
        )
    from jumok.inspection.trace_file import load_trace

    return load_trace(given, of=family.system)
