"""JSON that is read: its types, and its parsing."""

import json
from typing import Any

JsonObject = dict[str, Any]
"""An object that was read and not checked yet: it may hold anything, at any depth.

Where one is written, its type is `dict[str, object]`.
"""


def parsed_json(content: str | bytes) -> Any:
    """What JSON holds.

    Raises:
        ValueError: it is no JSON, or has a lone surrogate, which no page and no terminal can show.
    """
    value = json.loads(content)
    json.dumps(value, ensure_ascii=False).encode()
    return value
