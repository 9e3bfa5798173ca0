"""Keys: read from a file that only its owner can read, and compared in constant time."""

import hashlib
import hmac
import ipaddress
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from jumok.errors import ConfigError, Place
from jumok.serving.http.refusals import RequestRefused

LONGEST_KEY = 4096


def digest_of(key: str) -> bytes:
    """What the server keeps of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def read_keys(file: Path) -> tuple[bytes, ...]:
    """The digests of the keys in a file, one key a line; empty lines and # comments are skipped.

    Raises:
        ConfigError: the file cannot be read, others than its owner can read it, or it has no key.
    """
    try:
        mode = file.stat().st_mode
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "the key file cannot be read.", got=str(error), place=Place(file)
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            "other users of this machine can read or change the key file.",
            expected="permissions 600",
            got=f"permissions {stat.S_IMODE(mode):o}",
            do=f"chmod 600 {file}",
            place=Place(file),
        )
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise ConfigError("the key file has no key.", expected="one key a line", place=Place(file))
    return tuple(map(digest_of, keys))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_address(host: str, keys: tuple[bytes, ...], is_open: bool) -> None:
    """Checks that other machines get access only where the user said so.

    Raises:
        ConfigError: other machines can reach the address, and neither keys nor `is_open` are given.
    """
    if not is_loopback(host) and not keys and not is_open:
        raise ConfigError(
            "other machines can reach this address, and no key is asked for.",
            got=f"--host {host}",
            do="add --key-file FILE with one key a line, or --open to serve everyone",
        )


def check_key(keys: tuple[bytes, ...], given: str | None, missing: int) -> None:
    """Checks a client's key.

    Args:
        given: from the header Authorization: Bearer, or the field api_key; None: none came.
        missing: the status for a request without a key.

    Raises:
        RequestRefused: there is no key, or another one.
    """
    if not keys:
        return
    if not given:
        raise RequestRefused(missing, "key_missing", "An API key is needed to use this server.")
    wanted = digest_of(given[:LONGEST_KEY])
    matches = [hmac.compare_digest(wanted, key) for key in keys]  # all, for constant time
    if not any(matches):
        raise RequestRefused(403, "key_invalid", "The API key is not valid.")


def check_host(hosts: frozenset[str] | None, header: str | None) -> None:
    """Checks the name by which the client calls this server.

    A web page can send requests to this machine under a name of its own that points here; a server
    that only this machine can reach therefore answers only to its own names.
    Source: Jackson et al. 2007, Protecting browsers from DNS rebinding attacks.

    Args:
        hosts: the accepted names; None: any.
        header: of the request, with or without a port; None: a client older than HTTP/1.1, which is
            no browser.

    Raises:
        RequestRefused: it is another name.
    """
    if hosts is None or header is None:
        return
    name = re.sub(r":\d*$", "", header.strip().lower())
    if name not in hosts:
        text = "This server does not answer to this host name: start it with --allow-host NAME."
        raise RequestRefused(421, "host_not_allowed", text)


def own_names(host: str, further: Sequence[str]) -> frozenset[str] | None:
    """The names by which a server at this address may be called; None: any.

    Args:
        further: names that a proxy in front of it passes on.
    """
    if not is_loopback(host):
        return frozenset(map(str.lower, further)) if further else None
    own = f"[{host}]" if ":" in host else host
    return frozenset({"localhost", "127.0.0.1", "[::1]", own, *map(str.lower, further)})


def bearer(header: str | None) -> str | None:
    """The key in the header Authorization."""
    kind, _, key = (header or "").partition(" ")
    return key.strip() or None if kind.lower() == "bearer" else None
