"""The settings of the public server; the options of `jumok serve` have their defaults from here."""

from dataclasses import dataclass, field

from jumok.options import option

LIMITS_PANEL = "Limits"


@dataclass(frozen=True)
class ServeLimits:
    """What the server accepts; what exceeds a limit is refused with the limit and the value.

    Attributes:
        alternatives: of a translation, and texts for one prompt.
        body_seconds: the time limit for a whole body to arrive.
        idle_seconds: after which a connection is closed on which no further request came.
    """

    body: int = option(
        1024**2, "Maximum bytes of a request.", "--max-body", minimum=1, panel=LIMITS_PANEL
    )
    texts: int = option(
        256,
        "Maximum texts of a request.",
        "--max-texts",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    document_texts: int = option(
        4_096,
        "Maximum texts of a document.",
        "--max-document-texts",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    tokens: int = option(
        16_384,
        "Maximum tokens of a request, estimated from its bytes, and of those it may write.",
        "--max-tokens",
        minimum=1,
        panel=LIMITS_PANEL,
    )
    beam: int = option(
        64,
        "Maximum beam size of a request.",
        "--max-beam",
        minimum=1,
        maximum=1000,
        panel=LIMITS_PANEL,
    )
    connections: int = option(
        1_000,
        "Connections on which a request arrives or is answered; the next one gets status 429.",
        "--max-connections",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    queue_requests: int = option(
        256,
        "Requests that may wait for a model; the next one gets status 429.",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    queue_tokens: int = option(
        65_536, "Tokens that may wait for a model.", minimum=1, panel=LIMITS_PANEL
    )
    batch_tokens: int = option(
        4_096, "Tokens that are computed together.", minimum=1, panel=LIMITS_PANEL
    )
    rate: float = option(
        0.0,
        "Requests a minute of one key, or without keys of one address; 0 = no limit.",
        minimum=0,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    seconds: float = option(
        60.0,
        "Maximum seconds of a request.",
        "--deadline",
        minimum=0.001,
        maximum=86_400,
        panel=LIMITS_PANEL,
    )
    alternatives: int = 10
    body_seconds: float = 20.0
    idle_seconds: float = 10.0


@dataclass(frozen=True)
class ServeSettings:
    """How the server runs.

    Attributes:
        keys: SHA-256 digests of the keys that are accepted; empty: no key is asked for.
        cors: origins whose pages may call the server; "*": all.
        hosts: the names by which requests may call the server; None: any.
        grace: seconds after SIGTERM in which requests are still accepted.
        log_texts: whether the log has the texts of requests.
        root_path: the path under which a proxy serves the server: "/mt"; "": at the root.
    """

    limits: ServeLimits = field(default_factory=ServeLimits)
    keys: tuple[bytes, ...] = ()
    cors: tuple[str, ...] = ()
    hosts: frozenset[str] | None = None
    grace: float = 10.0
    log_texts: bool = False
    root_path: str = ""
