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
    if not module or not path:
        raise _nothing(place, "it has no module or no name")
    try:
        found: object = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and one that it imports is not
        raise _nothing(place, error) from error
    try:
        for name in path.split("."):
            found = getattr(found, name)
    except AttributeError as error:
        raise _nothing(place, error) from error
    return found


def _nothing(place: str, why: object) -> ConfigError:
    return ConfigError(
        "there is nothing at this place in the code.",
        expected='"module:name"; in a plugin f"{__name__}:NAME"',
        got=f"{place!r}: {why}",
    )
