"""Places in code by name: "module:name", which is imported when it is first used."""

from importlib import import_module
from typing import Any


def resolve(place: str) -> Any:
    """What "module:name" names; `name` may be that of a class's method."""
    module, _, path = place.partition(":")
    found: object = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found
