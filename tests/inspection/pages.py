"""What a page holds."""

import base64
import gzip
import json
import re
from typing import Any

import numpy as np

ITEMS = {"f32": "<f4", "u16": "<u2", "u8": "|u1", "s16": "<i2", "bits": "|u1", "apart": "|i1"}


def inside(text: str, name: str = "data") -> str:
    """The text of an element of a page, unpacked if it is compressed."""
    attributes, found = _element(text, name)
    return found if "parts" not in attributes and name == "data" else _unpacked(found).decode()


def page_data(text: str) -> dict[str, Any]:
    """The data, with arrays in base64 as a server sends them, wherever the page has them."""
    data: dict[str, Any] = json.loads(inside(text))
    count = re.search(r'data-parts="(\d+)"', _element(text, "data")[0])
    numbers = range(int(count[1]) if count else 0)
    parts = [_unpacked(_element(text, f"arrays-{number}")[1]) for number in numbers]
    return _inlined(data, parts)


def _element(text: str, name: str) -> tuple[str, str]:
    found = re.search(rf'<script type="[^"]+" id="{name}"([^>]*)>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return found[1], found[2]


def _unpacked(text: str) -> bytes:
    return gzip.decompress(bytes_of(text))


def bytes_of(letters: str) -> bytes:
    """Bytes of 13 bits as two letters."""
    values = [ord(each) - (36 if each > "<" else 35) for each in letters]
    pairs = zip(values[::2], values[1::2], strict=False)
    bits = "".join(f"{91 * first + second:013b}" for first, second in pairs)
    if len(values) % 2:
        bits += f"{values[-1]:06b}"
    count = len(bits) // 8
    return int(bits[: 8 * count] or "0", 2).to_bytes(count, "big")


def _inlined(data: Any, parts: list[bytes]) -> Any:
    if isinstance(data, list):
        return [_inlined(each, parts) for each in data]
    if not isinstance(data, dict):
        return data
    if "at" not in data:
        return {name: _inlined(each, parts) for name, each in data.items()}
    number, start, length = data["at"]
    planes = np.frombuffer(parts[number][start : start + length], np.uint8)
    size = np.dtype(ITEMS[data["type"]]).itemsize
    found = {"shape": data["shape"], "type": data["type"]}
    found["data"] = base64.b64encode(planes.reshape(size, -1).T.tobytes()).decode()
    if "powers" in data:
        number, start, length = data["powers"]
        found["powers"] = base64.b64encode(parts[number][start : start + length]).decode()
    return found


def numbers_of(packed: dict[str, Any]) -> np.ndarray:
    """The numbers of an array in base64, of all types but "apart", which needs others."""
    kind = packed["type"]
    items = np.frombuffer(base64.b64decode(packed["data"]), ITEMS[kind])
    if kind == "bits":
        count = int(np.prod(packed["shape"]))
        return np.unpackbits(items)[:count].reshape(packed["shape"]).astype(np.bool_)
    found = items.reshape(packed["shape"])
    if kind == "s16":
        powers = np.frombuffer(base64.b64decode(packed["powers"]), np.int8)
        return np.ldexp(found.astype(np.float64), powers.reshape(found.shape[:-1])[..., None])
    most = {"u16": 65_535, "u8": 255}.get(kind)
    return found if most is None else found / most
