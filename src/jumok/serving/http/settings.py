"""The settings of the public server; the options of `jumok serve` have their defaults from here."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ServeLimits:
    """What the server accepts; what exceeds a limit is refused with the limit and the value.

    Attributes:
        body: bytes of a request.
        texts: texts of a request.
        tokens: tokens of a request, estimated from its bytes (`ServedModel.cost`), and for a
            language model also the tokens to write.
        alternatives: alternatives of a translation, and texts for one prompt.
        queue_requests: requests of one model that wait or are computed.
        queue_tokens: their tokens.
        batch_tokens: tokens that are computed together.
        seconds: the longest deadline, and the default one.
        head_seconds: the time limit for the head of a request to arrive.
        body_seconds: the time limit for a whole body to arrive.
        idle_seconds: after which a connection without a request is closed.
        write_seconds: the time limit for a client to take a part of an answer.
        connections: connections that are open at the same time.
        rate: requests a minute of one key, or without keys of one address; 0: no limit.
    """

    body: int = 1024**2
    texts: int = 256
    tokens: int = 16_384
    alternatives: int = 10
    queue_requests: int = 256
    queue_tokens: int = 65_536
    batch_tokens: int = 4_096
    seconds: float = 60.0
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    idle_seconds: float = 10.0
    write_seconds: float = 30.0
    connections: int = 1_000
    rate: float = 0.0


@dataclass(frozen=True)
class ServeSettings:
    """How the server runs.

    Attributes:
        keys: SHA-256 digests of the keys that are accepted; empty: no key is asked for.
        cors: origins whose pages may call the server; "*": all.
        hosts: the names by which requests may call the server; None: any.
        grace: seconds after SIGTERM in which requests are still accepted.
        log_texts: whether the log has the texts of requests.
    """

    limits: ServeLimits = field(default_factory=ServeLimits)
    keys: tuple[bytes, ...] = ()
    cors: tuple[str, ...] = ()
    hosts: frozenset[str] | None = None
    grace: float = 10.0
    log_texts: bool = False
