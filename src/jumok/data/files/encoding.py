"""The character set of bytes that are not UTF-8, for the advice of an error."""

SAMPLED_BYTES = 1 << 16
"""The number of bytes that are examined."""

ENOUGH_BYTES = 200
"""Of fewer bytes several character sets are named."""

COMMONEST = "cp1252"
_FAMILIES = (("utf_", "UTF-"), ("iso8859_", "ISO-8859-"), ("koi8_", "KOI8-"), ("mac_", "MAC"))
_USUAL_NAMES = {"euc_jis_2004": "EUC-JP", "shift_jis_2004": "SHIFT_JIS", "big5hkscs": "BIG5-HKSCS"}


def character_sets(content: bytes) -> list[str]:
    """The names of the character set as iconv knows them, the most probable first.

    Empty: it is not known, or the text is mostly UTF-8. Several: the text is short.

    Args:
        content: whole lines. Those in ASCII are in every character set.
    """
    lines = [line for line in content[:SAMPLED_BYTES].split(b"\n") if not line.isascii()]
    if 2 * sum(map(_is_utf8, lines)) > len(lines):
        return []
    from charset_normalizer import from_bytes

    sample = b"\n".join(lines)
    matches = from_bytes(sample)
    names = [_iconv_name(match.encoding) for match in matches]
    if any(COMMONEST in match.could_be_from_charset for match in matches):
        names.insert(0, _iconv_name(COMMONEST))  # its neighbours differ by a few letters
    others = ("UTF-8",) if b"\0" in content[:SAMPLED_BYTES] else ("UTF-8", "UTF-16", "UTF-32")
    names = [name for name in dict.fromkeys(names) if not name.startswith(others)]
    return names[: 1 if len(sample) >= ENOUGH_BYTES else 3]


def conversion(content: bytes) -> str:
    """What to do with lines that are not UTF-8."""
    names = character_sets(content)
    if not names:
        return "convert it to UTF-8, or correct this line"
    return (
        f"it seems to be {' or '.join(names)}: name it, --encoding {names[0]}, or convert it: "
        f"iconv -f {names[0]} -t UTF-8 FILE > NEW"
    )


def _iconv_name(codec: str) -> str:
    for begin, family in _FAMILIES:
        if codec.startswith(begin):
            return family + codec.removeprefix(begin).replace("_", "").upper()
    return _USUAL_NAMES.get(codec, codec.upper().replace("_", "-"))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
