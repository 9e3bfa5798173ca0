"""Access control: keys, host names, origins and rate limits."""

import hashlib
import hmac
import ipaddress
import math
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.errors import ConfigError, Location
from jumok.serving.clients import is_foreign
from jumok.serving.http.refusals import RequestRefused

LONGEST_KEY = 4096

PREFIX = re.compile(r"(?:/[\w.~-]{1,64}){1,8}", re.ASCII)
"""The path under which a proxy serves the server."""

MOST_CLIENTS = 10_000
"""Clients whose numbers are kept; beyond them those that are furthest on schedule are forgotten."""


def key_digest(key: str) -> bytes:
    """What the server keeps of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def read_key_file(file: Path) -> tuple[bytes, ...]:
    """The digests of the keys in a file, one key a line; empty lines and # comments are skipped.

    Raises:
        ConfigError: the file cannot be read, others than its owner can read it, or it has no key.
    """
    try:
        mode = file.stat().st_mode
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "the key file cannot be read.", got=str(error), place=Location(file)
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(
            "other users of this machine can read or change the key file.",
            expected="permissions 600",
            got=f"permissions {stat.S_IMODE(mode):o}",
            do=f"chmod 600 {file}",
            place=Location(file),
        )
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise ConfigError(
            "the key file has no key.", expected="one key a line", place=Location(file)
        )
    return tuple(map(key_digest, keys))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_address(host: str, keys: tuple[bytes, ...], is_open: bool) -> None:
    """Raises ConfigError: other machines can reach the address, without keys or `is_open`."""
    if not is_loopback(host) and not keys and not is_open:
        raise ConfigError(
            "other machines can reach this address, and no key is asked for.",
            got=f"--host {host}",
            do="add --key-file FILE with one key a line, or --open to serve everyone",
        )


def check_key(keys: tuple[bytes, ...], given: str | None, missing: int) -> None:
    """
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
    digest = key_digest(given[:LONGEST_KEY])
    matches = [hmac.compare_digest(digest, key) for key in keys]  # all, for constant time
    if not any(matches):
        raise RequestRefused(403, "key_invalid", "The API key is not valid.")


def check_host(hosts: frozenset[str] | None, header: str | None) -> None:
    """Checks the name by which the client calls this server.

    A web page can send requests under a name of its own that points here.
    Source: Jackson et al. 2007, Protecting browsers from DNS rebinding attacks.

    Args:
        hosts: the accepted names; None: any.
        header: with or without a port; None: a client older than HTTP/1.1, which is no browser.

    Raises:
        RequestRefused: it is another name.
    """
    if hosts is None or header is None:
        return
    name = re.sub(r":\d*$", "", header.strip().lower())
    if name not in hosts:
        text = "This server does not answer to this host name: start it with --allow-host NAME."
        raise RequestRefused(421, "host_not_allowed", text)


def check_origin(allowed: Sequence[str], headers: Mapping[str, str], method: str) -> None:
    """Raises RequestRefused: a page of another origin than those of `--cors` sent the request."""
    if is_foreign(headers.get, method, allowed):
        origin = headers.get("origin", "ORIGIN")
        named = origin if origin.isprintable() and len(origin) <= 100 else "ORIGIN"
        text = (
            "Web pages of other origins may not use this server: start it with --cors "
            f"{named} to allow them."
        )
        raise RequestRefused(403, "origin_not_allowed", text)


def own_names(host: str, further: Sequence[str]) -> frozenset[str] | None:
    """The names by which a server at this address may be called; None: any.

    Args:
        further: names that a proxy in front of it passes on.
    """
    if not is_loopback(host):
        return frozenset(map(str.lower, further)) if further else None
    own = f"[{host}]" if ":" in host else host
    return frozenset({"localhost", "127.0.0.1", "[::1]", own, *map(str.lower, further)})


@dataclass(frozen=True)
class Allowance:
    """What a client may still send.

    Attributes:
        limit: requests a minute.
        left: requests that it may send at once.
        reset: seconds until that is `limit` again.
    """

    limit: float
    left: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": f"{self.limit:g}",
            "RateLimit-Remaining": str(self.left),
            "RateLimit-Reset": str(self.reset),
        }


class Rates:
    """The requests of all clients: as many at once as a minute allows, then evenly.

    Source: ITU-T I.371, the generic cell rate algorithm: of each client the time at which its next
    request would be on schedule.

    Args:
        rate: requests a minute; 0: no limit.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._schedule: dict[object, float] = {}

    def take(self, client: object) -> Allowance | None:
        """Counts one request of a client; None: there is no limit.

        Raises:
            RequestRefused: the client has sent too many; says when the next one is accepted.
        """
        if not self.rate:
            return None
        now, interval = self._clock(), 60.0 / self.rate
        burst = max(1.0, self.rate) * interval
        after = max(self._schedule.get(client, now), now) + interval
        if after - now > burst + 1e-9:
            wait = math.ceil(after - now - burst)
            text = f"A client may send {self.rate:g} requests a minute."
            known = Allowance(self.rate, 0, math.ceil(after - interval - now))
            raise RequestRefused(
                429, "rate_limited", text, retry_after=max(wait, 1), headers=known.headers
            )
        self._schedule[client] = after
        if len(self._schedule) > MOST_CLIENTS:
            self._forget(now)
        left = int((burst - (after - now)) / interval + 1e-9)
        return Allowance(self.rate, left, math.ceil(after - now))

    def _forget(self, now: float) -> None:
        """Forgets who is on schedule, and of the others at least half."""
        late = {client: after for client, after in self._schedule.items() if after > now}
        if len(late) > MOST_CLIENTS // 2:
            late = dict(sorted(late.items(), key=lambda each: each[1])[MOST_CLIENTS // 2 :])
        self._schedule = late
