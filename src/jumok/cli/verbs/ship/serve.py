"""`jumok serve`: models over HTTP."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

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
        "Address to listen at. One that other machines can reach needs --key-file or --open.",
        panel=ACCESS,
    )
    allow_host: list[str] | None = option(
        None,
        "A further host name by which requests may call the server, such as a proxy's. Repeatable.",
        panel=ACCESS,
        metavar="NAME",
    )
    key_file: Path | None = option(
        None,
        "File with the keys that clients may use, one a line; only you may read it.",
        panel=ACCESS,
    )
    open_: bool = option(False, "Serve other machines without a key.", panel=ACCESS)
    cors: list[str] | None = option(
        None,
        "Web pages that may call the server: https://example.org, or * for all. Repeatable.",
        panel=ACCESS,
        metavar="ORIGIN",
    )
    root_path: str = option(
        "",
        "Path under which a proxy serves the server, which it removes: /mt. A proxy may also send "
        "it as X-Forwarded-Prefix.",
        panel=ACCESS,
        metavar="PATH",
    )
    log_texts: bool = option(False, "Write the texts of requests to the log.", panel=ACCESS)


@dataclass(frozen=True)
class Copies:
    """How many processes serve the models, and where."""

    processes: int = option(
        1,
        "Processes that serve the models, each with its own copy and its own queues; one for each "
        "core is most.",
        minimum=1,
        maximum=1024,
        panel=MACHINE,
    )
    ray: bool = option(
        False,
        "Serve behind Ray Serve, in replicas that start again when they die: on the cluster of "
        "RAY_ADDRESS, or on one that is started on this machine.",
        panel=CLUSTER,
    )
    replicas: int = option(
        1,
        "Minimum replicas of the models, with --ray.",
        minimum=1,
        maximum=1024,
        panel=CLUSTER,
    )
    max_replicas: int | None = option(
        None,
        "Maximum replicas, which are added by load, with --ray; default: --replicas.",
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
        "File of terms and their required translations, tab-separated; NAME=FILE is for the model "
        "of this name. Repeatable.",
        metavar="FILE",
    )


def serve(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Bundles: folders that training wrote. NAME=FOLDER names one for requests; "
            "comma-separated bundles form an ensemble.",
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 = any free one.")] = 5000,
    grace: Annotated[
        float,
        typer.Option(
            min=0.0, max=3_600.0, help="Seconds after SIGTERM in which requests are still accepted."
        ),
    ] = ServeSettings().grace,
    *,
    terms: Annotated[Terms, Terms()],
    access: Annotated[Access, Access()],
    limits: Annotated[ServeLimits, ServeLimits()],
    machine: Annotated[EngineMachine, EngineMachine(threads=1), Without("batch")],
    copies: Annotated[Copies, Copies()],
) -> None:
    """Serve models over HTTP, for programs that speak LibreTranslate or OpenAI.

    Translators answer LibreTranslate's routes (/translate, /languages, ...),
    language models OpenAI's /v1/completions, and every kind of model its own
    route with scores, tokens, alignments and attention. Only this machine can
    reach the server unless --host names another address.

      jumok serve runs/first/model

      curl localhost:5000/translate -d "q=A cat ran.&source=en&target=ko"

      jumok serve ko=runs/a/model lm=runs/b/model --host 0.0.0.0 --key-file keys

    SIGTERM or Ctrl-C lets the running requests finish. The path /openapi.json
    describes all routes.
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
        typer.echo(f"{address}\nPress Ctrl-C to stop.", err=True)

    address = (access.host, port)
    if copies.ray:
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
