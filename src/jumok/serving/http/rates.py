"""How many requests a minute one client may send.

Source: the generic cell rate algorithm of ITU-T I.371: one number for each client, the time at
which its next request would be on schedule.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from jumok.serving.http.refusals import RequestRefused

MOST_CLIENTS = 10_000
"""Clients whose numbers are kept; beyond them those that are furthest on schedule are forgotten."""


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
        """The headers that say it."""
        return {
            "RateLimit-Limit": f"{self.limit:g}",
            "RateLimit-Remaining": str(self.left),
            "RateLimit-Reset": str(self.reset),
        }


class Rates:
    """The requests of all clients: as many at once as a minute allows, then evenly.

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
