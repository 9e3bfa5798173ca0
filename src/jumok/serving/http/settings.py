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
        1024**2, "Maximum bytes per request.", "--max-body", minimum=1, panel=LIMITS_PANEL
    )
    texts: int = option(
        256,
        "Maximum texts per request.",
        "--max-texts",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    document_texts: int = option(
        4_096,
        "Maximum texts per document.",
        "--max-document-texts",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    tokens: int = option(
        16_384,
        "Maximum input tokens per request, estimated from its bytes, and maximum output tokens.",
        "--max-tokens",
        minimum=1,
        panel=LIMITS_PANEL,
    )
    beam: int = option(
        64,
        "Maximum beam size per request.",
        "--max-beam",
        minimum=1,
        maximum=1000,
        panel=LIMITS_PANEL,
    )
    connections: int = option(
        1_000,
        "Maximum connections with a request in progress; a further one gets status 429.",
        "--max-connections",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    queue_requests: int = option(
        256,
        "Maximum requests that wait for a model; a further one gets status 429.",
        minimum=1,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    queue_tokens: int = option(
        65_536, "Maximum tokens that wait for a model.", minimum=1, panel=LIMITS_PANEL
    )
    batch_tokens: int = option(
        4_096, "Maximum tokens computed together.", minimum=1, panel=LIMITS_PANEL
    )
    rate: float = option(
        0.0,
        "Maximum requests per minute for each key, or for each address if there are no keys; 0 = "
        "no limit.",
        minimum=0,
        maximum=10**6,
        panel=LIMITS_PANEL,
    )
    seconds: float = option(
        60.0,
        "Maximum seconds per request.",
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
