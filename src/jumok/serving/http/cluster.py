"""`jumok serve` on a cluster of Ray: the same application behind Ray Serve, in several replicas.

    jumok serve en-ko=runs/first/model --ray --replicas 2 --max-replicas 4
    serve run jumok.serving.http.cluster:app models=en-ko=runs/first/model max_replicas=4

Each replica has its own copy of the models and its own queues. What one was computing when it died
is computed again on another one (`AnsweredAgain`).
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jumok.environment import cluster_named
from jumok.errors import ConfigError, optional_import
from jumok.serving.http.access import check_address, own_names, read_key_file
from jumok.serving.http.app import application
from jumok.serving.http.engine import EngineBroken
from jumok.serving.http.models import Service, Serving, named_models, split_name
from jumok.serving.http.monitoring import fault_of, log
from jumok.serving.http.settings import ServeSettings
from jumok.systems.catalog import open_model

LOCAL = "127.0.0.1"
CHECK_SECONDS = 10.0
"""Between two checks of a replica."""

ONGOING = 8
"""Requests of a replica at a time, on average, before another one is added."""

ATTEMPTS = 4
"""How often a request is given to a replica, if each of them dies."""

ARGUMENTS = (
    "models",
    "keys",
    "host",
    "device",
    "threads",
    "min_replicas",
    "max_replicas",
    "ongoing",
)


class Replica:
    """One copy of the models; what Ray calls."""

    service: Service | None = None

    @classmethod
    def build(cls, serving: Serving) -> ASGIApp:
        """The application of this process, whose models are loaded: Ray sends it requests then."""
        cls.service = serving.service(_noted)
        for model in cls.service.models.values():
            model.engine.start()
        while any(model.engine.state == "loading" for model in cls.service.models.values()):
            time.sleep(0.05)
        return application(cls.service)

    def check_health(self) -> None:
        """Raises if a model is broken: Ray then starts another replica."""
        service = type(self).service
        broken = [] if service is None else service.models.values()
        if any(model.engine.state == "broken" for model in broken):
            raise RuntimeError("a model failed again and again")


class AnsweredAgain:
    """Within Ray's proxy: asks another replica where one died before it answered.

    If none answers, the client gets 503 and `Retry-After` instead of the proxy's 500.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        heard: list[Message] = []
        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        for _ in range(ATTEMPTS):
            await self._app(dict(scope), _from_the_start(heard, receive), answer)
            if is_answered or any(each["type"] == "http.disconnect" for each in heard):
                return None
        busy = {"error": "no replica could answer; ask again"}
        return await JSONResponse(busy, 503, {"Retry-After": "1"})(scope, receive, send)


def _from_the_start(heard: list[Message], receive: Receive) -> Receive:
    """What was received already, then what is received now and added to it."""
    place = 0

    async def receive_again() -> Message:
        nonlocal place
        if place == len(heard):
            heard.append(await receive())
        place += 1
        return heard[place - 1]

    return receive_again


def middleware() -> list[Middleware]:
    """What Ray's proxies put around the application; see `jumok.environment.cluster_named`."""
    return [Middleware(AnsweredAgain)]


def serve_on_ray(
    serving: Serving,
    address: tuple[str, int],
    replicas: tuple[int, int],
    announce: Callable[[str], None],
) -> None:
    """Serves the models until SIGTERM or Ctrl-C, on the cluster of RAY_ADDRESS or a new one here.

    Args:
        address: of Ray's proxy.
        replicas: at least, at most.
        announce: called with the address when the models can be used.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    with optional_import("serving on a cluster of Ray", extra="ray"):
        import ray
        from ray import serve

    # Each replica takes a core of the cluster; one of its own may have fewer than the machine.
    named = cluster_named(f"{__name__}.{middleware.__name__}")
    cores = None if named else max(replicas[1], os.cpu_count() or 1)
    ray.init(num_cpus=cores, logging_level="error", log_to_driver=False)
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    try:
        host, port = address
        serve.start(http_options={"host": host, "port": port})
        serve.run(deployed(serving, *replicas), name="jumok")
        announce(f"http://{host}:{port}")
        ended.wait()
    finally:
        serve.shutdown()
        ray.shutdown()


def deployed(serving: Serving, least: int, most: int, ongoing: int = ONGOING) -> Any:
    """The application for Ray Serve; see `app`."""
    from ray import serve

    deployment = serve.deployment(
        name="jumok",
        max_ongoing_requests=4 * ongoing,
        health_check_period_s=CHECK_SECONDS,
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": max(least, most),
            "target_ongoing_requests": ongoing,
        },
    )
    return deployment(serve.ingress(lambda: Replica.build(serving))(Replica)).bind()


def app(given: Mapping[str, str]) -> Any:
    """The application for `serve run`.

    Args:
        given: models: comma-separated, each a folder or NAME=FOLDER; keys: the key file; host: the
            address of Ray's proxy (default: 127.0.0.1), device and threads as for `jumok serve`;
            min_replicas, max_replicas (1, 2); ongoing: requests that a replica has at a time on
            average before another is added (8).

    Raises:
        ConfigError: an argument is missing, not known, or no number.
        MissingExtraError: Ray is not installed.
    """
    unknown = sorted(set(given) - set(ARGUMENTS))
    if unknown or not given.get("models"):
        raise ConfigError(
            "these arguments do not describe a deployment.",
            expected=f"models=FOLDER, and perhaps {', '.join(ARGUMENTS[1:])}",
            got=", ".join(f"{name}={given[name]}" for name in sorted(given)) or "nothing",
        )
    least, most = (
        _count_argument(given, "min_replicas", 1),
        _count_argument(given, "max_replicas", 2),
    )
    ongoing = _count_argument(given, "ongoing", ONGOING)
    return deployed(serving_of(given), least, most, ongoing)


def serving_of(given: Mapping[str, str]) -> Serving:
    """What each replica serves.

    Raises:
        ConfigError: a model or the key file cannot be read; other machines can reach the address,
            and there are no keys.
    """
    named = [split_name(each) for each in given["models"].split(",")]
    opened = [(name, open_model(Path(folder).resolve())) for name, folder in named]
    keys = read_key_file(Path(given["keys"])) if "keys" in given else ()
    host = given.get("host", LOCAL)
    check_address(host, keys, is_open=False)
    return Serving(
        named_models(opened),
        ServeSettings(keys=keys, hosts=own_names(host, ())),
        given.get("device", "auto"),
        threads=_count_argument(given, "threads", 1),
    )


def _noted(error: BaseException) -> None:
    """Logs why a model is broken; Ray ends the replica after its next check."""
    known = isinstance(error, EngineBroken)
    log({"event": "broken", "error": str(error) if known else fault_of(error)})


def _count_argument(given: Mapping[str, str], name: str, default: int) -> int:
    text = str(given.get(name, default))
    if not text.isdecimal() or not int(text):
        raise ConfigError(f"{name} is a number from 1 on.", got=f"{name}={text}")
    return int(text)
