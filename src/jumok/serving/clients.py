"""Clients of a server: pages of other origins, and those that have closed the connection.

Any page that a user visits can make a server on their machine compute. A browser names the page's
origin, which the page cannot change.
Source: W3C, Fetch Metadata Request Headers; RFC 6454, The Web Origin Concept.
"""

from collections.abc import Callable, Collection


class ClientDisconnected(Exception):  # noqa: N818 - not an error
    """The client has closed the connection, so the answer is not wanted."""


def is_foreign(header: Callable[[str], str | None], method: str, allowed: Collection[str]) -> bool:
    """Whether a page of another origin sent a request. A link to a page of the server is none.

    Args:
        header: the value of a header of the request, by its name.
        allowed: further origins, such as "https://example.org"; "*": all.
    """
    origin, site = header("origin"), header("sec-fetch-site")
    if "*" in allowed or origin in allowed or site == "same-origin":
        return False
    if origin is not None:  # "null" is that of files and of framed pages, whoever sent them
        return origin.partition("://")[2] != (header("host") or "").strip().lower()
    if site in (None, "none"):
        return False
    opened = (header("sec-fetch-mode"), header("sec-fetch-dest"))
    return method not in ("GET", "HEAD") or opened != ("navigate", "document")
