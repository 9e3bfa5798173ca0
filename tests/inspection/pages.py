"""What a page holds."""

import base64
import gzip
import json
import re
from typing import Any


def inside(text: str, name: str = "data") -> str:
    """The text of an element of a page, unpacked if it is compressed."""
    found = re.search(rf'<script type="[^"]+" id="{name}"([^>]*)>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    if "packed" not in found[1] and name == "data":
        return found[2]
    return gzip.decompress(base64.b64decode(found[2])).decode()


def page_data(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(inside(text))
    return data
