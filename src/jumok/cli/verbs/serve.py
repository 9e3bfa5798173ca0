"""`jumok serve`: models behind HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from jumok.cli import options as option
from jumok.errors import ConfigError
from jumok.late import late_imports
from jumok.plugins import LOADED
from jumok.serving.http.settings import ServeLimits, ServeSettings

with late_imports():
    from jumok.systems import catalog

with late_imports("serving models over HTTP", extra="serve"):
    from jumok.serving.http import access, models, processes, running

with late_imports("serving on a cluster of Ray", extra="ray"):
    from jumok.serving.http import cluster

LIMITS, ACCESS, CLUSTER = "Limits", "Access", "Cluster"
DEFAULT, RUN = ServeLimits(), ServeSettings()

Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="Bundles: folders that training wrote. NAME=FOLDER names one for requests; "
        "comma-separated bundles form an ensemble.",
    ),
]
Host = Annotated[
    str,
    typer.Option(
        help="Address to listen at. One that other machines can reach needs --key-file or --open.",
        rich_help_panel=ACCESS,
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A further host name by which requests may call the server, such as a proxy's. "
        "Repeatable.",
        rich_help_panel=ACCESS,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the keys that clients may use, one a line; only you may read it.",
        rich_help_panel=ACCESS,
    ),
]
Open = Annotated[
    bool,
    typer.Option("--open", help="Serve other machines without a key.", rich_help_panel=ACCESS),
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORIGIN",
        help="Web pages that may call the server: https://example.org, or * for all. Repeatable.",
        rich_help_panel=ACCESS,
    ),
]
LogTexts = Annotated[
    bool,
    typer.Option("--log-texts", help="Write the texts of requests to the log."),
]
Body = Annotated[
    int, typer.Option(min=1, help="Maximum bytes of a request.", rich_help_panel=LIMITS)
]
MostTexts = Annotated[
    int,
    typer.Option(
        min=1, max=option.MOST, help="Maximum texts of a request.", rich_help_panel=LIMITS
    ),
]
MostTokens = Annotated[
    int,
    typer.Option(
        min=1,
        help="Maximum tokens of a request, estimated from its bytes.",
        rich_help_panel=LIMITS,
    ),
]
QueueRequests = Annotated[
    int,
    typer.Option(
        min=1,
        max=option.MOST,
        help="Requests that may wait for a model; the next one gets status 429.",
        rich_help_panel=LIMITS,
    ),
]
QueueTokens = Annotated[
    int, typer.Option(min=1, help="Tokens that may wait for a model.", rich_help_panel=LIMITS)
]
BatchTokens = Annotated[
    int, typer.Option(min=1, help="Tokens that are computed together.", rich_help_panel=LIMITS)
]
Connections = Annotated[
    int,
    typer.Option(min=1, max=option.MOST, help="Maximum open connections.", rich_help_panel=LIMITS),
]
Rate = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=1e6,
        help="Requests a minute of one key, or without keys of one address; 0 = no limit.",
        rich_help_panel=LIMITS,
    ),
]
Deadline = Annotated[
    float,
    typer.Option(
        min=0.001, max=86_400.0, help="Maximum seconds of a request.", rich_help_panel=LIMITS
    ),
]
Grace = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=3_600.0,
        help="Seconds after SIGTERM in which requests are still accepted.",
        rich_help_panel=LIMITS,
    ),
]
Count = Annotated[
    int,
    typer.Option(
        "--processes",
        min=1,
        max=1024,
        help="Processes that serve the models, each with its own copy and its own queues; one for "
        "each core is most.",
        rich_help_panel=option.MACHINE,
    ),
]
Ray = Annotated[
    bool,
    typer.Option(
        "--ray",
        help="Serve behind Ray Serve, in replicas that start again when they die: on the cluster "
        "of RAY_ADDRESS, or on one that is started on this machine.",
        rich_help_panel=CLUSTER,
    ),
]
Replicas = Annotated[
    int,
    typer.Option(
        min=1, max=1024, help="Minimum replicas of the models, with --ray.", rich_help_panel=CLUSTER
    ),
]
MostReplicas = Annotated[
    int | None,
    typer.Option(
        "--max-replicas",
        min=1,
        max=1024,
        help="Maximum replicas, which are added by load, with --ray; default: --replicas.",
        rich_help_panel=CLUSTER,
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=0,
        max=1024,
        help="CPU threads; 0 = all cores; a single sentence does not benefit from more than one.",
        rich_help_panel=option.MACHINE,
    ),
]


def serve(
    given: Models,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 = any free one.")] = 5000,
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    key_file: KeyFile = None,
    open_: Open = False,
    cors: Cors = None,
    log_texts: LogTexts = False,
    max_body: Body = DEFAULT.body,
    max_texts: MostTexts = DEFAULT.texts,
    max_tokens: MostTokens = DEFAULT.tokens,
    max_connections: Connections = DEFAULT.connections,
    queue_requests: QueueRequests = DEFAULT.queue_requests,
    queue_tokens: QueueTokens = DEFAULT.queue_tokens,
    batch_tokens: BatchTokens = DEFAULT.batch_tokens,
    rate: Rate = DEFAULT.rate,
    deadline: Deadline = DEFAULT.seconds,
    grace: Grace = RUN.grace,
    device: option.Device = "auto",
    engine: option.Engine = "auto",
    precision: option.EnginePrecision = "auto",
    threads: Threads = 1,
    process_count: Count = 1,
    ray: Ray = False,
    replicas: Replicas = 1,
    max_replicas: MostReplicas = None,
) -> None:
    """Serve models over HTTP, for programs that speak LibreTranslate or OpenAI.

    Translators answer LibreTranslate's routes (/translate, /languages, ...),
    language models OpenAI's /v1/completions, and every kind of model its own
    route with scores, tokens, alignments and attention. Only this machine can
    reach the server unless --host names another address.

      jumok serve runs/demo/model

      curl localhost:5000/translate -d "q=A cat ran.&source=en&target=ko"

      jumok serve ko=runs/a/model lm=runs/b/model --host 0.0.0.0 --key-file keys

    SIGTERM or Ctrl-C lets the running requests finish. The path /openapi.json
    describes all routes.
    """
    keys = () if key_file is None else access.read_keys(key_file)
    access.check_address(host, keys, open_)
    check_replicas(ray, replicas, max_replicas, process_count)
    if queue_tokens < max_tokens:
        raise ConfigError(
            "--queue-tokens is less than --max-tokens: such a request would never be accepted.",
            got=f"--queue-tokens {queue_tokens} --max-tokens {max_tokens}",
        )
    limits = ServeLimits(
        body=max_body,
        texts=max_texts,
        tokens=max_tokens,
        queue_requests=queue_requests,
        queue_tokens=queue_tokens,
        batch_tokens=batch_tokens,
        seconds=deadline,
        connections=max_connections,
        rate=rate,
    )
    chosen = ServeSettings(
        limits,
        keys,
        tuple(cors or ()),
        access.own_names(host, allow_host or ()),
        grace,
        log_texts,
    )
    named = [models.split_name(each) for each in given]
    opened = [(name, catalog.open_model(*option.model_folders(folders))) for name, folders in named]
    plugins = tuple(each.file for each in LOADED.values())
    serving = running.Serving(
        models.named_models(opened), chosen, device, precision, threads, plugins, computing=engine
    )

    def announce(address: str) -> None:
        typer.echo(f"{address}\nPress Ctrl-C to stop.", err=True)

    address = (host, port)
    if ray:
        most = replicas if max_replicas is None else max_replicas
        return cluster.serve_on_ray(serving, address, (replicas, most), announce)
    raise typer.Exit(processes.serve_processes(serving, address, process_count, announce))


def check_replicas(ray: bool, replicas: int, most: int | None, processes: int) -> None:
    """Checks the options of a cluster.

    Raises:
        ConfigError: they contradict one another.
    """
    if not ray and (replicas > 1 or most is not None):
        raise ConfigError(
            "replicas are those of a cluster of Ray.", do="add --ray, or take --processes"
        )
    if ray and processes > 1:
        raise ConfigError("a replica is one process.", do="take --replicas instead of --processes")
    if most is not None and most < replicas:
        raise ConfigError(
            "--max-replicas is less than --replicas.",
            got=f"--replicas {replicas} --max-replicas {most}",
        )
