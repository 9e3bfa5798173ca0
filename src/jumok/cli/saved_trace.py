"""A saved trace where a text or a picture could stand: what was recorded is shown again."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace
    from jumok.systems.tracers import Family


def saved_trace(family: "Family", given: str, asked: Mapping[str, object]) -> "Trace | None":
    """The trace in this file; None: what is given is no trace.

    Args:
        asked: options that would have something recorded, by their names; None: not given.

    Raises:
        BundleError: the file is missing, cut off or edited, or its trace is of another model.
        ConfigError: such an option.
    """
    from jumok.inspection.trace_file import load_trace

    # A sentence may end with the name of a file; one that is nothing else is meant as a file.
    if not given.endswith(".npz") or (" " in given and not Path(given).is_file()):
        return None
    wanted = [name for name, value in asked.items() if value is not None]
    if wanted:
        raise ConfigError(
            "a saved trace is shown as it was recorded.",
            got=f"{', '.join(wanted)} with {given}",
            do="give the text or the picture itself",
        )
    return load_trace(given, of=family.system)
