"""The types of JSON."""

from typing import Any

JsonObject = dict[str, Any]
"""An object that was read and not checked yet: it may hold anything, at any depth.

Where one is written, its type is `dict[str, object]`.
"""
