"""`jumok serve`: models over HTTP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli.language import how_to_stop
from jumok.cli.options import MACHINE, EngineMachine, Without, model_folders
from jumok.errors import ConfigError, optional_import
from jumok.options import option
from jumok.plugins import LOADED
from jumok.serving.http.settings import ServeLimits, ServeSettings

ACCESS, CLUSTER = "Access", "Cluster"


@dataclass(frozen=True)
class Access:
    """Who may call the server."""

    host: str = option(
        "127.0.0.1",
        "Address to listen on. An address that other machines can reach needs --key-file or "
        "--open.",
        panel=ACCESS,
    )
    allow_host: list[str] | None = option(
        None,
        "Host name that requests may use, such as the name of a proxy: in addition to localhost or,"
        " if other machines can reach the address, instead of all names. Repeatable.",
        panel=ACCESS,
        metavar="NAME",
    )
    key_file: Path | None = option(
        None,
        "File of client keys, one per line, readable only by its owner.",
        panel=ACCESS,
    )
    open_: bool = option(False, "Let other machines use the server without a key.", panel=ACCESS)
    cors: list[str] | None = option(
        None,
        "Origin of web pages that may call the server, such as https://example.org; * = all. "
        "Repeatable.",
        panel=ACCESS,
        metavar="ORIGIN",
    )
    root_path: str = option(
        "",
        "Path prefix that a proxy in front of the server removes, such as /mt. The proxy may send"
        " it as X-Forwarded-Prefix instead.",
        panel=ACCESS,
        metavar="PATH",
    )
    log_texts: bool = option(False, "Write the texts of requests to the log.", panel=ACCESS)


@dataclass(frozen=True)
class Copies:
    """How many processes serve the models, and where."""

    processes: int = option(
        1,
        "Number of server processes, each with its own copy of the models and its own queues; at "
        "most one per core.",
        minimum=1,
        maximum=1024,
        panel=MACHINE,
    )
    ray: bool = option(
        False,
        "Serve through Ray Serve, in replicas that restart after a crash: on the cluster of "
        "RAY_ADDRESS, or on a new cluster on this machine.",
        panel=CLUSTER,
    )
    replicas: int = option(
        1,
        "With --ray: minimum number of replicas of the models.",
        minimum=1,
        maximum=1024,
        panel=CLUSTER,
    )
    max_replicas: int | None = option(
        None,
        "With --ray: maximum number of replicas, added under load (default: --replicas).",
        minimum=1,
        maximum=1024,
        panel=CLUSTER,
    )

    def check(self) -> None:
        """Raises ConfigError if the options contradict one another."""
        if not self.ray and (self.replicas > 1 or self.max_replicas is not None):
            raise ConfigError(
                "replicas are those of a cluster of Ray.", do="add --ray, or take --processes"
            )
        if self.ray and self.processes > 1:
            raise ConfigError(
                "a replica is one process.", do="take --replicas instead of --processes"
            )
        if self.max_replicas is not None and self.max_replicas < self.replicas:
            raise ConfigError(
                "--max-replicas is less than --replicas.",
                got=f"--replicas {self.replicas} --max-replicas {self.max_replicas}",
            )


@dataclass(frozen=True)
class Terms:
    """What translations must contain."""

    glossary: list[str] | None = option(
        None,
        "File of terms and their required translations, tab-separated. NAME=FILE applies only to "
        "the model of this name. Repeatable.",
        metavar="FILE",
    )


def serve(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Bundles: folders of trained models. NAME=FOLDER sets the model's name in "
            "requests; comma-separated bundles form an ensemble.",
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 = any free port.")] = 5000,
    grace: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=3_600.0,
            help="Seconds after SIGTERM during which requests are still accepted.",
        ),
    ] = ServeSettings().grace,
    *,
    terms: Annotated[Terms, Terms()],
    access: Annotated[Access, Access()],
    limits: Annotated[ServeLimits, ServeLimits()],
    machine: Annotated[EngineMachine, EngineMachine(threads=1), Without("batch")],
    copies: Annotated[Copies, Copies()],
) -> None:
    """Serve models over HTTP, with LibreTranslate- and OpenAI-compatible APIs.

    Translators have the routes of LibreTranslate (/translate, /languages,
    ...), and language models have /v1/completions of OpenAI. Each kind of
    model also has a route of its own with scores, tokens, alignments and
    attention; /openapi.json describes all routes.

    Only this machine can reach the server unless --host gives another
    address. SIGTERM or Ctrl-C stops the server after the running requests.

      jumok serve runs/first/model

      curl localhost:5000/translate -d "q=A cat ran.&source=en&target=ko"

      jumok serve ko=runs/a/model lm=runs/b/model --host 0.0.0.0 --key-file keys
    """
    copies.check()
    with optional_import("serving models over HTTP", extra="serve"):
        from jumok.serving.http.models import Serving, named_models, split_name
        from jumok.serving.http.processes import serve_processes
    from jumok.systems.catalog import open_model
    from jumok.systems.translation.terms.glossary import Glossary

    chosen = _serve_settings(access, limits, grace)
    named = [split_name(each) for each in given]
    opened = [(name, open_model(*model_folders(folders))) for name, folders in named]
    plugins = tuple(each.file for each in LOADED.values())
    models = named_models(opened)
    glossaries = dict(map(split_name, terms.glossary or ()))
    if unknown := set(glossaries) - {"", *models}:
        raise ConfigError(
            "--glossary names no model of this server.",
            expected=f"one of {', '.join(models)}, or a file alone",
            got=", ".join(sorted(unknown)),
        )
    serving = Serving(
        models, chosen, machine.device, machine.precision, machine.threads,
        plugins, computing=machine.engine,
        glossaries={name: Glossary.read(file) for name, file in glossaries.items()},
    )  # fmt: skip

    def announce(address: str) -> None:
        typer.echo(f"{address}\n{how_to_stop()}", err=True)

    address = (access.host, port)
    if copies.ray:
        if grace != ServeSettings().grace:
            raise ConfigError("Ray ends its replicas itself.", do="leave --grace out")
        most = copies.replicas if copies.max_replicas is None else copies.max_replicas
        from jumok.serving.http.cluster import serve_on_ray

        return serve_on_ray(serving, address, (copies.replicas, most), announce)
    raise typer.Exit(serve_processes(serving, address, copies.processes, announce))


def _serve_settings(access: Access, limits: ServeLimits, grace: float) -> ServeSettings:
    from jumok.serving.http.access import PREFIX, check_address, own_names, read_key_file

    keys = () if access.key_file is None else read_key_file(access.key_file)
    check_address(access.host, keys, access.open_)
    if limits.queue_tokens < limits.tokens:
        raise ConfigError(
            "--queue-tokens is less than --max-tokens: such a request would never be accepted.",
            got=f"--queue-tokens {limits.queue_tokens} --max-tokens {limits.tokens}",
        )
    if access.root_path and not PREFIX.fullmatch(access.root_path):
        raise ConfigError(
            "--root-path is no path.", expected="such as /mt or /a/b", got=access.root_path
        )
    return ServeSettings(
        limits, keys, tuple(access.cors or ()), own_names(access.host, access.allow_host or ()),
        grace, access.log_texts, access.root_path,
    )  # fmt: skip
