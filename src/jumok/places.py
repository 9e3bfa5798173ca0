"""Places in code by name: "module:name", which is imported when it is first used."""

from importlib import import_module
from typing import Any

from jumok.errors import ConfigError


def resolve(place: str) -> Any:
    """What "module:name" names; `name` may be that of a class's method.

    Raises:
        ConfigError: there is nothing of this name.
    """
    module, _, path = place.partition(":")
    try:
        found: Any = import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            "there is nothing at this place in the code.",
            expected='"module:name"; in a plugin f"{__name__}:NAME"',
            got=f"{place!r}: {error}",
        ) from error
    return found
