"""What all systems share: which models they hold, and how these may be used.

A system may be used by any number of threads at once. Its models are ordinary torch modules: they
may be inspected, changed, hooked or trained, and the next call of the system computes with what
they are then. Importing this imports no torch: the native engine needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, SupportsIndex, TypeVar, overload

from jumok.bundle.fingerprint import Origin, fingerprint_of, together
from jumok.bundle.reading import Bundle, Precision
from jumok.errors import BundleError, ConfigError
from jumok.late import late_imports
from jumok.systems.device import EngineName, EnginePrecision, PrecisionName

with late_imports():
    import torch
    from torch import nn

    from jumok.kernels import digest as kernels_digest
    from jumok.kernels import packed

GIVEN, ROWS, FOUND = "given", "rows", "found"
"""The events that a system reports while it works (`jumok.attention.heard.tell`): how many texts
or images a call was given; for each row of the batch that is read next, which of them it is; and,
for each row, what a search ended with."""

Facts = dict[str, object]
"""Plain JSON."""

Part = TypeVar("Part")
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Shown(Generic[Part]):
    """A part of a system that holds its models. Code that gets it may change them."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = f"_{name}"

    @overload
    def __get__(self, system: None, kind: type) -> Shown[Part]: ...

    @overload
    def __get__(self, system: System, kind: type) -> Part: ...

    def __get__(self, system: System | None, kind: type) -> Shown[Part] | Part:
        if system is None:
            return self
        system._handed_out()
        part: Part = system.__dict__[self._key]
        return part

    def __set__(self, system: System, part: Part) -> None:
        system.__dict__[self._key] = part


class System:
    """A system with a fingerprint.

    Attributes:
        task: what it does, as its bundle names it (`jumok/kinds.py`).
        name: the recipe's, or the one its authors gave it; of several models the first one's.
    """

    task: str
    name: str = "model"
    _origins: tuple[Origin, ...] = ()
    _loaded: tuple[kernels_digest.Digest, ...] | None = None
    _options: Mapping[str, object] = MappingProxyType({})
    _precision: Precision = "fp32"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its models (`jumok.bundle.fingerprint`).

        It is computed once for models that were loaded from bundles, as long as they were not
        changed since. Models that were made in memory may be in training; theirs is computed at
        every call.

        Raises:
            BundleError: a bundle was written again after it was loaded.
        """
        if self._origins and (self._loaded is None or self._loaded == _digests(self.modules())):
            return together(origin.fingerprint for origin in self._origins)
        return together(map(fingerprint_of, self.modules()))

    @property
    def computed_by(self) -> dict[str, str]:
        """What computes: its name, "torch" or "native", and its number format."""
        return {"name": "torch", "precision": self._precision}

    def answer(self, given: Sequence[str]) -> list[Facts]:
        """What the system makes of each text or image file, as plain JSON, with its own defaults.

        This is the one call that all systems share: a server for any of them needs no other.
        """
        raise NotImplementedError

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: PrecisionName = "fp32",
    ) -> System:
        """The system of the bundles in these folders, or of bundles that were read before."""
        raise NotImplementedError

    @classmethod
    def load_on(
        cls,
        engine: EngineName,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        threads: int = 0,
    ) -> System:
        """As `load`, on the native engine or on torch.

        Args:
            engine: "auto" is the native engine where it serves the model.
            threads: of the native engine; 0: one for each core.

        Raises:
            ConfigError: the native engine is asked for, or needed for int8, and does not serve
                this.
        """
        del threads
        if engine == "native" or precision == "int8":
            asked = 'engine="native"' if engine == "native" else 'precision="int8"'
            raise ConfigError(
                "the native engine does not run models of this kind.",
                got=f"{asked} for a {cls.__name__}",
                do="leave it out: torch computes",
            )
        return cls.load(
            *folders, device=device, precision="fp32" if precision == "auto" else precision
        )

    def modules(self) -> Sequence[nn.Module]:
        """The models that work together."""
        raise NotImplementedError

    def at_work(self) -> AbstractContextManager[None]:
        """Its models compute without gradients inside the block, as fast as they can."""
        return self.torch_at_work()

    @contextmanager
    def torch_at_work(self) -> Iterator[None]:
        """The same for its models on torch, where a system may also compute without torch.

        Modules that are not hooked or trained compute with copies of their weights
        (`jumok.kernels.packed`), which are checked first.
        """
        with torch.no_grad(), self._packs.at_work():
            yield

    def each_at_work(self, things: Iterator[Part]) -> Iterator[Part]:
        """The same things, each computed at work; the code between them runs outside.

        The bytes of the weights are checked once, before the first thing.
        """
        thorough = True
        while True:
            with torch.no_grad(), self._packs.at_work(thorough):
                try:
                    thing = next(things)
                except StopIteration:
                    return
            thorough = False
            yield thing

    @property
    def _packs(self) -> packed.Packs:
        found: packed.Packs = self.__dict__.setdefault("_copies", packed.Packs())
        return found

    def _handed_out(self) -> None:
        """Notes that the models are requested, unless the system itself does so at its work."""
        packs = self._packs
        if packs.watched or packed.AT_WORK.get() is packs:
            return
        packs.watched = True
        if self._origins:
            self._loaded = _digests(self.modules())

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Pickled as its folders and the options of `load`, if no other code has had the models;
        otherwise with its weights.
        """
        if self._origins and self._untouched:
            folders = tuple(str(origin.folder.resolve()) for origin in self._origins)
            return _loaded_again, (type(self), folders, dict(self._options))
        return super().__reduce_ex__(protocol)

    @property
    def _untouched(self) -> bool:
        """Whether no other code has had the models."""
        return not self._packs.watched

    def __getstate__(self) -> dict[str, object]:
        """Adds digests of the models: where the copy is used the bundle may be missing.

        Leaves out the native engine, which has addresses of this process, and which is not used any
        more once other code has had the models.
        """
        state: dict[str, object] = {**self.__dict__, "_engine": None}
        if self._origins:
            with suppress(BundleError):  # it may be missing here, too
                _ = self.fingerprint
            state["_loaded"] = self._loaded or _digests(self.modules())
        return state


AnySystem = TypeVar("AnySystem", bound=System)


def at_work(
    method: Callable[Concatenate[AnySystem, Given], Made],
) -> Callable[Concatenate[AnySystem, Given], Made]:
    """A method of a system, during which its models are at work."""

    @wraps(method)
    def call(self: AnySystem, *given: Given.args, **named: Given.kwargs) -> Made:
        with self.at_work():
            return method(self, *given, **named)

    return call  # type: ignore[return-value]  # self has no name for who calls


def torch_at_work(
    method: Callable[Concatenate[AnySystem, Given], Made],
) -> Callable[Concatenate[AnySystem, Given], Made]:
    """A method of a system, during which its models are at work on torch."""

    @wraps(method)
    def call(self: AnySystem, *given: Given.args, **named: Given.kwargs) -> Made:
        with self.torch_at_work():
            return method(self, *given, **named)

    return call  # type: ignore[return-value]  # self has no name for who calls


def _digests(models: Sequence[nn.Module]) -> tuple[kernels_digest.Digest, ...]:
    """Digests of everything that the models compute with."""
    return tuple(
        kernels_digest.digest(tensor) for model in models for tensor in model.state_dict().values()
    )


def loaded_from(
    system: AnySystem, bundles: Sequence[Bundle], device: str, precision: EnginePrecision
) -> AnySystem:
    """The system, with a record of where its models come from; only it refers to them so far."""
    system._packs.watched = False
    system._precision = "fp32" if precision == "auto" else precision
    return known_origin(system, bundles, device=device, precision=precision)


def known_origin(system: AnySystem, bundles: Sequence[Bundle], **options: object) -> AnySystem:
    """The system, with a record of where its models come from.

    Args:
        options: what `load` was given, besides the bundles.
    """
    system.name = bundles[0].card.name
    system._origins = tuple(map(Origin, bundles))
    system._options = options
    return system


def _loaded_again(kind: type[System], folders: Sequence[str], options: dict[str, Any]) -> System:
    """What a pickle of a system becomes where it is read."""
    return kind.load(*folders, **options)
