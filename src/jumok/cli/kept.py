"""A saved trace where a text or a picture could stand: what was recorded is shown again."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace
    from jumok.systems.tracers import Family


def kept_trace(
    family: "Family", given: str, asked: Mapping[str, object], *, live: bool = False
) -> "Trace | None":
    """The trace in this file; None: what is given is no trace.

    Args:
        asked: options that would have something recorded, by their names; None: not given.
        live: whether the page may ask for more.

    Raises:
        BundleError: the file is cut off or edited, or its trace is of another model.
        ConfigError: such an option; a live page of a picture, which is not in its trace.
    """
    from jumok.inspection.trace import load_trace

    if not (given.endswith(".npz") and Path(given).is_file()):
        return None
    wanted = [name for name, value in asked.items() if value is not None]
    if wanted:
        raise ConfigError(
            "a saved trace is shown as it was recorded.",
            got=f"{', '.join(wanted)} with {given}",
            do="give the text or the picture itself",
        )
    trace = load_trace(given, of=family.system)
    if live and family.reads == "picture":
        raise ConfigError(
            "the picture itself is not in its trace: nothing more can be asked about it.",
            got=f"{given}, of {trace.text}",
            do="give --save page.html, or the picture itself",
        )
    return trace
