"""`jumok serve` on a cluster of Ray: the same application behind Ray Serve, in several replicas.

    serve run jumok.serving.http.cluster:app models=en-ko=runs/demo/model max_replicas=4

Ray starts the replicas, spreads requests over them, adds and removes them by their load, and starts
one again that died. Each has its own copy of the models and its own queue, as each process of
`jumok serve --processes` has.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from jumok.errors import ConfigError
from jumok.late import late_imports
from jumok.serving.http.access import check_address, own_names, read_keys
from jumok.serving.http.app import application
from jumok.serving.http.logs import fault_of, log
from jumok.serving.http.models import Service, named_models, split_name
from jumok.serving.http.running import Serving
from jumok.serving.http.settings import ServeSettings
from jumok.systems.catalog import open_model

with late_imports("serving on a cluster of Ray", extra="ray"):
    from ray import serve

LOCAL = "127.0.0.1"
SECONDS = 10.0
"""Between two checks of a replica."""

KNOWN = ("models", "keys", "host", "device", "threads", "min_replicas", "max_replicas", "ongoing")


class Replica:
    """One copy of the models; what Ray calls."""

    service: Service | None = None

    @classmethod
    def build(cls, serving: Serving) -> ASGIApp:
        """The application of this process; its engines load the models."""
        cls.service = serving.service(_noted)
        for model in cls.service.models.values():
            model.engine.start()
        return application(cls.service)

    def check_health(self) -> None:
        """Raises if a model is broken: Ray then starts another replica."""
        service = type(self).service
        broken = [] if service is None else service.models.values()
        if any(model.engine.state == "broken" for model in broken):
            raise RuntimeError("a model failed again and again")


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
    unknown = sorted(set(given) - set(KNOWN))
    if unknown or not given.get("models"):
        raise ConfigError(
            "these arguments do not describe a deployment.",
            expected=f"models=FOLDER, and perhaps {', '.join(KNOWN[1:])}",
            got=", ".join(f"{name}={given[name]}" for name in sorted(given)) or "nothing",
        )
    least, most = _number(given, "min_replicas", 1), _number(given, "max_replicas", 2)
    ongoing = _number(given, "ongoing", 8)
    deployed = serve.deployment(
        name="jumok",
        max_ongoing_requests=4 * ongoing,
        health_check_period_s=SECONDS,
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": max(least, most),
            "target_ongoing_requests": ongoing,
        },
    )
    serving = serving_of(given)
    return deployed(serve.ingress(lambda: Replica.build(serving))(Replica)).bind()


def serving_of(given: Mapping[str, str]) -> Serving:
    """What each replica serves.

    Raises:
        ConfigError: a model or the key file cannot be read; other machines can reach the address,
            and there are no keys.
    """
    named = [split_name(each) for each in given["models"].split(",")]
    opened = [(name, open_model(Path(folder).resolve())) for name, folder in named]
    keys = read_keys(Path(given["keys"])) if "keys" in given else ()
    host = given.get("host", LOCAL)
    check_address(host, keys, is_open=False)
    return Serving(
        named_models(opened),
        ServeSettings(keys=keys, hosts=own_names(host, ())),
        given.get("device", "auto"),
        threads=_number(given, "threads", 1),
    )


def _noted(error: BaseException) -> None:
    """Logs why a model is broken; Ray ends the replica after its next check."""
    log({"event": "broken", "error": fault_of(error)})


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = str(given.get(name, default))
    if not text.isdecimal() or not int(text):
        raise ConfigError(f"{name} is a number from 1 on.", got=f"{name}={text}")
    return int(text)
