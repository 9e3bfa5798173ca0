"""The character set of bytes that are not UTF-8, for the advice of an error."""

from charset_normalizer import from_bytes

SAMPLE = 1 << 16
"""The number of bytes that are examined."""

_FAMILIES = (("utf_", "UTF-"), ("iso8859_", "ISO-8859-"), ("koi8_", "KOI8-"), ("mac_", "MAC"))
_NAMES = {"euc_jis_2004": "EUC-JP", "shift_jis_2004": "SHIFT_JIS", "big5hkscs": "BIG5-HKSCS"}


def character_set(content: bytes) -> str | None:
    """The name of the character set as iconv knows it; None: not known, or mostly UTF-8.

    Args:
        content: whole lines. Those in ASCII are in every character set.
    """
    lines = [line for line in content[:SAMPLE].split(b"\n") if not line.isascii()]
    if 2 * sum(map(_is_utf8, lines)) > len(lines):
        return None
    best = from_bytes(b"\n".join(lines)).best()
    if best is None or best.encoding == "utf_8":
        return None
    name = best.encoding
    for begin, family in _FAMILIES:
        if name.startswith(begin):
            return family + name.removeprefix(begin).replace("_", "").upper()
    return _NAMES.get(name, name.upper().replace("_", "-"))


def conversion(content: bytes) -> str:
    """What to do with lines that are not UTF-8."""
    name = character_set(content)
    if name is None:
        return "convert it to UTF-8, or correct this line"
    return f"it seems to be {name}; convert it: iconv -f {name} -t UTF-8 FILE > NEW"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
