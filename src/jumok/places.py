"""Places in code by name: "module:name", which is imported when it is first used."""

from importlib import import_module
from operator import attrgetter
from typing import Any

from jumok.errors import ConfigError


def import_string(place: str) -> Any:
    """What "module:name" names; `name` may be that of a class's method.

    Raises:
        ConfigError: there is nothing of this name.
    """
    module, _, path = place.partition(":")
    try:
        if not module or not path:
            raise AttributeError("it has no module or no name")
        return attrgetter(path)(import_module(module))
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and one that it imports is not
        raise ConfigError(
            "there is nothing at this place in the code.",
            expected='"module:name"; in a plugin f"{__name__}:NAME"',
            got=f"{place!r}: {error}",
        ) from error
