"""The models of a server, and their capabilities."""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from jumok.data.pairs.cleaning.languages import identified, identifier_installed
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.environment import give_torch_threads
from jumok.errors import ConfigError
from jumok.serving.http.access import Rates
from jumok.serving.http.documents import DocumentReader
from jumok.serving.http.downloads import Downloads
from jumok.serving.http.engine import Engine
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.refusals import RequestRefused, invalid
from jumok.serving.http.settings import ServeSettings
from jumok.systems.base import AnySystem, Facts, System
from jumok.systems.catalog import OpenedModel, Stamp, for_languages, open_model
from jumok.systems.device import EngineName, EnginePrecision
from jumok.systems.translation.languages import matching, short_names
from jumok.systems.translation.sentences import language_code
from jumok.systems.translation.terms.glossary import Glossary
from jumok.systems.translation.translator import Translator

BYTES_OF_TOKEN = 3
"""Bytes of text that are counted as one token before a text is tokenised: English has about four,
Korean five, so the estimate is mostly too high."""


BUILT_IN = frozenset(
    {
        *("translation", "language-model", "masked-lm", "captioning"),
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
        stamp: `OpenedModel.stamp` before it was loaded.
        computes: what computes it: "native" or "torch".
        glossary: the terms of all its translations.
    """

    id: str
    opened: OpenedModel
    engine: Engine
    languages: tuple[str, str] = ("", "")
    system: System | None = None
    stamp: Stamp = ()
    digest: str = ""
    computes: str = ""
    precision: str = ""
    glossary: Glossary | None = None
    created: int = field(default_factory=lambda: int(time.time()))

    @cached_property
    def system_class(self) -> type[System]:
        """Known before the system is loaded."""
        its: type[System] = self.opened.kind.entry("system")
        return its

    def can(self, *kinds: type) -> bool:
        """Whether its system is of one of these classes."""
        return issubclass(self.system_class, kinds)

    def of_each_pair(self, target: str = "") -> list["ServedModel"]:
        """The model for each of its pairs of languages, or for those into `target`."""
        pairs = self.opened.parts[0].config.every_pair
        if len(pairs) < 2:
            return [self]
        names = short_names(code for pair in pairs for code in pair)
        named = [(names[read], names[written]) for read, written in pairs]
        return [replace(self, languages=pair) for pair in named if target in ("", pair[1])]

    def cost(self, text: str) -> int:
        """The tokens of a text, estimated from its bytes, and END."""
        size = len(text.encode("utf-8", "surrogatepass"))
        bytewise = isinstance(getattr(self.system, "tokenizer", None), ByteTokenizer)
        return 1 + (size if bytewise else -(-size // BYTES_OF_TOKEN))

    def card(self) -> Facts:
        """What is known of the model, as `jumok info --json` prints it."""
        first = self.opened.parts[0]
        facts: Facts = {"id": self.id, "task": self.opened.task, "fingerprint": self.digest}
        facts |= {"config": asdict(first.config), "card": asdict(first.card)}
        facts |= {"sizes": {"parameters": first.parameters, "bytes": first.size}}
        return facts


@dataclass
class Service:
    """All that the routes share.

    Attributes:
        draining: whether the server is about to stop: it is not ready any more.
        closed: whether it refuses new requests.
        open: the requests that are being answered.
    """

    models: dict[str, ServedModel]
    settings: ServeSettings
    metrics: Metrics
    rates: Rates
    downloads: Downloads
    reader: DocumentReader
    draining: bool = False
    closed: bool = False
    open: set[object] = field(default_factory=set)

    @property
    def ready(self) -> bool:
        return not self.draining and all(
            model.engine.state == "ready" for model in self.models.values()
        )

    def named(self, id: str) -> ServedModel:
        """Raises RequestRefused: there is no model of this name."""
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
            if model.can(*kinds):
                return model
            text = f"The model {id} cannot {verb}: its task is {model.opened.task}."
            raise RequestRefused(400, "wrong_model", text, parameter="model")
        for model in self.models.values():
            if model.can(*kinds):
                return model
        text = f"No model of this server can {verb}."
        raise RequestRefused(404, "model_not_found", text, parameter="model")

    def overload(self, tasks: frozenset[str]) -> RequestRefused | None:
        """The refusal of any request to models of these tasks or of plugins; None: there may be a
        place for it."""
        refused = None
        for model in self.models.values() if tasks else ():
            if model.opened.task in tasks or model.opened.task not in BUILT_IN:
                refused = model.engine.queue.full
                if refused is None:
                    break
        return refused

    def translators(self, target: str = "") -> list[ServedModel]:
        """The models that translate, into `target` if it is given, and name both languages."""
        return [
            each
            for model in self.models.values()
            if model.can(Translator)
            for each in model.of_each_pair(target)
            if all(each.languages) and target in ("", each.languages[1])
        ]


def language_named(models: Sequence[ServedModel], side: int, asked: str, field: str) -> str:
    """The language of these models that a request names, as they are called here (`matching`).

    Args:
        side: 0: they read it; 1: they write it. field: that of the request.

    Raises:
        RequestRefused: it may be several of them.
    """
    meant = matching((model.languages[side] for model in models), asked)
    if len(meant) > 1:
        raise invalid(f"{asked[:20]} may be {', '.join(meant)}: name one of them.", field)
    return meant[0] if meant else language_code(asked)


def loaded_system(model: ServedModel, kind: type[AnySystem]) -> AnySystem:
    """Raises RequestRefused: it is being loaded."""
    if not isinstance(model.system, kind):
        text = f"The model {model.id} is {model.engine.state}."
        raise RequestRefused(503, "not_ready", text, retry_after=1)
    languages = model.languages if model.can(Translator) else ("", "")
    return for_languages(model.system, *languages) if any(languages) else model.system


def named_models(models: Sequence[tuple[str, OpenedModel]]) -> dict[str, OpenedModel]:
    """The models by their names; "" is that of the card.

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
    """The name and the folders of "NAME=FOLDER"; a folder's name may have "=" in it."""
    name, sign, folders = given.partition("=")
    if not sign or Path(given).exists() or "/" in name or not name:
        return "", given
    return name, folders


@dataclass(frozen=True)
class Serving:
    """What a process serves, and how; it can be sent to another process.

    Attributes:
        models: by the names that requests use.
        threads: of the processor; 0: all cores.
        plugins: the files that the models need.
        glossaries: by the names of models; "" is for all of them.
        computing: "native", "torch", or "auto": the native engine where it serves a model.
    """

    models: dict[str, OpenedModel]
    settings: ServeSettings
    device: str = "auto"
    precision: EnginePrecision = "auto"
    threads: int = 1
    plugins: tuple[Path, ...] = ()
    folders: Folders = NO_FOLDERS
    computing: EngineName = "auto"
    glossaries: dict[str, Glossary] = field(default_factory=dict)

    def opened_again(self) -> "Serving":
        """The same with what is in the models' folders now, which may have been replaced.

        Raises:
            BundleError: as `open_model`.
        """
        models = {name: open_model(*each.folders) for name, each in self.models.items()}
        return replace(self, models=models)

    def service(self, fatal: Callable[[BaseException], None]) -> Service:
        """The service; its engines load the models when they are started.

        Args:
            fatal: see `Engine`.
        """
        if self.threads and "torch" in sys.modules:
            import torch

            torch.set_num_threads(self.threads)
        elif self.threads:  # a model on the native engine needs no torch
            give_torch_threads(self.threads)
        metrics, limits = Metrics(self.folders.metrics), self.settings.limits
        downloads = Downloads(self.folders.downloads)
        reader = DocumentReader(limits.queue_requests, limits.body)
        service = Service({}, self.settings, metrics, Rates(limits.rate), downloads, reader)
        for name, opened in self.models.items():
            service.models[name] = self.served(service, name, opened, fatal)
        return service

    def served(
        self,
        service: Service,
        name: str,
        opened: OpenedModel,
        fatal: Callable[[BaseException], None],
    ) -> ServedModel:
        """A model with an engine that loads it when it is started; `fatal` as in `service`."""
        model: ServedModel

        def load() -> None:
            self._load(service, model)

        engine = Engine(name, load, self.settings.limits, service.metrics, fatal)
        glossary = self.glossaries.get(name) or self.glossaries.get("")
        model = ServedModel(name, opened, engine, _languages_of(opened), glossary=glossary)
        return model

    def _load(self, service: Service, model: ServedModel) -> None:
        model.stamp = model.opened.stamp
        system = model.opened.load(self.device, self.precision, self.computing, threads=1)
        model.digest = system.fingerprint
        if isinstance(system, Translator):
            # compiles the kernels before the first request
            system.between(*system.pairs[0]).translate(["a"])
            if identifier_installed():
                identified("a")  # reads its model
            batch = system.search_together()
            if batch is not None:
                model.engine.search_together(batch.look_again)
        model.system = system
        engine = system.computed_by
        model.computes, model.precision = engine["name"], engine["precision"]
        service.metrics.serves(model.id, model.digest, model.computes, model.precision)
        # What is loaded stays: when the collector looked through it, no request was read meanwhile.
        gc.freeze()


def _languages_of(opened: OpenedModel) -> tuple[str, str]:
    """Those of source and target, as requests name them; "" where not known."""
    config = opened.parts[0].config
    return language_code(config.source_language), language_code(config.target_language)
