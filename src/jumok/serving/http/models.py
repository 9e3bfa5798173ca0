"""The models of a server, and their capabilities."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from jumok.bundle.reading import Bundle
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.errors import ConfigError
from jumok.serving.http.access import Rates
from jumok.serving.http.downloads import Downloads
from jumok.serving.http.engine import Engine
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.settings import ServeSettings
from jumok.systems.base import AnySystem, Facts, System
from jumok.systems.catalog import OpenedModel
from jumok.systems.device import EngineName, EnginePrecision
from jumok.systems.translation.sentences import language_code
from jumok.systems.translation.translator import Translator

BYTES_OF_TOKEN = 3
"""Bytes of text that are counted as one token before a text is tokenised: English has about four,
Korean five, so the estimate is mostly too high."""


BUILT_IN = frozenset(
    {
        *("translation", "language-model", "masked-lm", "bert", "captioning"),
        *("text-classification", "image-classification"),
    }
)
"""The tasks of jumok's own kinds of models."""


@dataclass(frozen=True)
class Folders:
    """The folders of a server.

    Attributes:
        metrics: where several processes sum their metrics; None: there is one process.
        downloads: where translated files wait; None: files are not translated.
    """

    metrics: Path | None = None
    downloads: Path | None = None


NO_FOLDERS = Folders()


@dataclass
class ServedModel:
    """A model with its engine.

    Attributes:
        id: what requests call it.
        opened: the model up to its weights.
        languages: of source and target, as requests name them; "" where not known.
        system: None until it is loaded.
        computes: what computes it: "native" or "torch".
    """

    id: str
    opened: OpenedModel
    engine: Engine
    languages: tuple[str, str] = ("", "")
    system: System | None = None
    digest: str = ""
    computes: str = ""
    precision: str = ""
    created: int = field(default_factory=lambda: int(time.time()))

    @cached_property
    def system_class(self) -> type[System]:
        """The class of its system, which is known before the system is loaded."""
        its: type[System] = self.opened.kind.entry("system")
        return its

    def cost(self, text: str) -> int:
        """The tokens of a text, estimated from its bytes, and END."""
        size = len(text.encode("utf-8", "surrogatepass"))
        bytewise = isinstance(getattr(self.system, "tokenizer", None), ByteTokenizer)
        return 1 + (size if bytewise else -(-size // BYTES_OF_TOKEN))

    def card(self) -> Facts:
        """What is known of the model, as `jumok info --json` prints it."""
        first = self.opened.parts[0]
        facts: Facts = {"id": self.id, "task": self.opened.task, "fingerprint": self.digest}
        if isinstance(first, Bundle):
            facts |= {"config": asdict(first.config), "card": asdict(first.card)}
            facts |= {"sizes": {"parameters": first.parameters, "bytes": first.size}}
        return facts


@dataclass
class Service:
    """All that the routes share.

    Attributes:
        draining: whether the server is about to stop: it is not ready any more.
        closed: whether it refuses new requests.
        when_loaded: called after each model is loaded.
    """

    models: dict[str, ServedModel]
    settings: ServeSettings
    metrics: Metrics
    rates: Rates
    downloads: Downloads
    draining: bool = False
    closed: bool = False
    when_loaded: Callable[[], None] = lambda: None

    @property
    def ready(self) -> bool:
        """Whether every model is loaded, and the server is not about to stop."""
        return not self.draining and all(
            model.engine.state == "ready" for model in self.models.values()
        )

    def named(self, id: str) -> ServedModel:
        """The model of this name.

        Raises:
            RequestRefused: there is none.
        """
        if id not in self.models:
            known = ", ".join(self.models)
            text = f"There is no model of this name. The models are: {known}."
            raise RequestRefused(404, "model_not_found", text, parameter="model")
        return self.models[id]

    def able(self, id: str | None, kinds: Sequence[type], verb: str) -> ServedModel:
        """The named model, or the first that can do this.

        Args:
            kinds: the classes of systems that can do this.
            verb: what is asked for, for the message.

        Raises:
            RequestRefused: there is none, or it cannot do this.
        """
        if id is not None:
            model = self.named(id)
            if _can(model, kinds):
                return model
            text = f"The model {id} cannot {verb}: its task is {model.opened.task}."
            raise RequestRefused(400, "wrong_model", text, parameter="model")
        for model in self.models.values():
            if _can(model, kinds):
                return model
        text = f"No model of this server can {verb}."
        raise RequestRefused(404, "model_not_found", text, parameter="model")

    def overload(self, tasks: frozenset[str]) -> RequestRefused | None:
        """The refusal of any request to models of these tasks; None: there may be a place for it.

        What a plugin's model does is not known, so each route may be one of its.
        """
        refused = None
        for model in self.models.values() if tasks else ():
            if model.opened.task in tasks or model.opened.task not in BUILT_IN:
                refused = model.engine.queue.full
                if refused is None:
                    break
        return refused

    def translators(self) -> list[ServedModel]:
        """The models that translate and name both languages."""
        return [
            model
            for model in self.models.values()
            if _can(model, [Translator]) and all(model.languages)
        ]


def _can(model: ServedModel, kinds: Sequence[type]) -> bool:
    return any(issubclass(model.system_class, kind) for kind in kinds)


def loaded(model: ServedModel, kind: type[AnySystem]) -> AnySystem:
    """The model's system.

    Raises:
        RequestRefused: it is being loaded.
    """
    if not isinstance(model.system, kind):
        text = f"The model {model.id} is {model.engine.state}."
        raise RequestRefused(503, "not_ready", text, retry_after=1)
    return model.system


def named_models(models: Sequence[tuple[str, OpenedModel]]) -> dict[str, OpenedModel]:
    """The models by their names: the given one, or that of the card.

    Args:
        models: names, or "" for the card's, with their models.

    Raises:
        ConfigError: two have one name.
    """
    named: dict[str, OpenedModel] = {}
    for given, opened in models:
        name = given or opened.name
        if name in named:
            raise ConfigError(
                "two models have one name.",
                got=name,
                do="give each a name: jumok serve first=FOLDER second=FOLDER",
            )
        named[name] = opened
    return named


def split_name(given: str) -> tuple[str, str]:
    """The name and the folders of "NAME=FOLDER"; a folder may have "=" in its own name."""
    name, sign, folders = given.partition("=")
    if not sign or Path(given).exists() or "/" in name or not name:
        return "", given
    return name, folders


def serve_models(
    models: dict[str, OpenedModel],
    settings: ServeSettings,
    device: str,
    precision: EnginePrecision,
    fatal: Callable[[BaseException], None],
    folders: Folders = NO_FOLDERS,
    computing: EngineName = "auto",
) -> Service:
    """The service of these models; their engines load them when they are started.

    Args:
        computing: "auto" is the native engine where it serves a model.
    """
    metrics = Metrics(folders.metrics)
    service = Service(
        {}, settings, metrics, Rates(settings.limits.rate), Downloads(folders.downloads)
    )

    def loader(name: str) -> Callable[[], None]:
        def load() -> None:
            model = service.models[name]
            system = model.opened.load(device, precision, computing, threads=1)
            model.digest = system.fingerprint
            if isinstance(system, Translator):
                system.translate(["a"])  # compiles the kernels before the first request
                batch = system.search_together()
                if batch is not None:
                    model.engine.search_together(batch.look_again)
            model.system = system
            told = system.computed_by
            model.computes, model.precision = told["name"], told["precision"]
            facts = (name, model.digest, model.computes, model.precision)
            service.metrics.info.labels(*facts).set(1)
            service.when_loaded()

        return load

    for name, opened in models.items():
        engine = Engine(name, loader(name), settings.limits, service.metrics, fatal)
        first = opened.parts[0]
        languages = ("", "")
        if isinstance(first, Bundle):
            config = first.config
            languages = (
                language_code(config.source_language),
                language_code(config.target_language),
            )
        service.models[name] = ServedModel(name, opened, engine, languages)
    return service
