"""Checks of a system's inputs."""

from collections.abc import Iterable

from jumok.errors import DataError


def texts_in(texts: Iterable[str], what: str = "texts") -> list[str]:
    """The texts as a list.

    Args:
        what: what the message calls them.

    Raises:
        DataError: one text was given instead of a list, or an item of the list is not a text.
    """
    if isinstance(texts, str | bytes | bytearray):
        raise DataError(
            f"one text was given where a list of {what} is expected.",
            expected=f"a list of {what}, such as [{_abbreviated(texts)}]",
            got=_abbreviated(texts),
            do="put it into a list, also where it is the only one",
        )
    if not isinstance(texts, Iterable):
        raise DataError(f"a list of {what} is expected.", got=_abbreviated(texts))
    listed = list(texts)
    for number, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"number {number} of the {what} is not a text.",
                expected="a str",
                got=_abbreviated(text),
                do="decode bytes, and leave out what is empty" if text is not None else "",
            )
    return listed


def text_of(text: str, what: str) -> str:
    """The one text that is expected.

    Raises:
        DataError: something else was given.
    """
    if not isinstance(text, str):
        raise DataError(f"the {what} is not a text.", expected="a str", got=_abbreviated(text))
    return text


def check_pictures(pictures: object) -> None:
    """Checks that these may be images.

    Raises:
        DataError: one file was given instead of a list of them.
    """
    if isinstance(pictures, str | bytes) or not isinstance(pictures, Iterable):
        raise DataError(
            "one image was given where a list of images is expected.",
            expected=f"a list of images, such as [{_abbreviated(pictures)}]",
            got=_abbreviated(pictures),
            do="put it into a list, also where it is the only one",
        )


def _abbreviated(thing: object) -> str:
    """A thing in the few words that a message has room for; unprintable texts are escaped."""
    shown = ascii(thing) if isinstance(thing, str) and not thing.isprintable() else repr(thing)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
