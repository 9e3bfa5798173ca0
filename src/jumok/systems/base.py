"""The base class of all systems. Importing it imports no torch.

A system may be used by any number of threads at once. Its models are ordinary torch modules: they
may be inspected, changed, hooked or trained, and the next call computes with what they are then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import is_
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeVar

from jumok.bundle.fingerprint import Origin, fingerprint_of, joined_fingerprint, weights_digest
from jumok.bundle.reading import Bundle
from jumok.engine import Precision
from jumok.errors import BundleError, ConfigError
from jumok.systems.device import EngineName, EnginePrecision, PrecisionName

if TYPE_CHECKING:
    from torch.nn import Module

GIVEN, ROWS, FOUND, COPIED = "given", "rows", "found", "copied"
"""The events that a system reports while it works (`jumok.attention.events.emit`): how many texts
or images a call was given; for each row of the batch that is read next, which of them it is, and
which of its segments (`numbered`); for each row what a search ended with, and where more than a
search decides on the output, its tokens and `RowTexts`; and a segment that no model reads."""

Facts = dict[str, object]
"""Plain JSON."""

Exposed = TypeVar("Exposed")


class RowTexts(NamedTuple):
    """What a segment says, and what was made of it: one text for each hypothesis."""

    given: str
    outputs: Sequence[str]


def numbered(inputs: Sequence[int]) -> list[tuple[int, int]]:
    """For each segment its number among those of its input, from 0, and how many these are.

    Args:
        inputs: the index of each segment's input, in order.
    """
    counts, before = Counter(inputs), Counter[int]()
    numbers = []
    for each in inputs:
        numbers.append((before[each], counts[each]))
        before[each] += 1
    return numbers


class Contents(NamedTuple):
    """What models consist of, except the numbers in their parameters.

    Attributes:
        parts: modules, their classes, attributes, children and hooks.
        buffers: the digest of tensors that are no parameters, such as tables of positions.
    """

    parts: list[object]
    buffers: str

    @classmethod
    def of(cls, models: Sequence[Module]) -> Contents:
        """What these models consist of now."""
        parts: list[object] = []
        for module in chain.from_iterable(model.modules() for model in models):
            parts += [module, type(module)]
            for name, value in vars(module).items():
                parts += [name, value]
                if isinstance(value, dict):  # children, parameters, hooks
                    for key, each in value.items():
                        # a hook with `acts` is one of jumok, for one context
                        if getattr(each, "acts", None) is None:
                            parts += [key, each]
        return cls(parts, weights_digest(chain.from_iterable(model.buffers() for model in models)))

    def holds(self, models: Sequence[Module]) -> bool:
        """Whether these models consist of the same objects."""
        now = Contents.of(models)
        same = len(now.parts) == len(self.parts) and all(map(is_, now.parts, self.parts))
        return same and now.buffers == self.buffers


class System:
    """A system with a fingerprint.

    Attributes:
        task: what it does, as its bundle names it (`jumok/kinds.py`).
        name: the recipe's, or the one its authors gave it; of several models the first one's.
    """

    task: str
    name: str = "model"
    _origins: tuple[Origin, ...] = ()
    _exposed: Contents | None = None
    _options: Mapping[str, object] = MappingProxyType({})
    _precision: Precision = "fp32"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its models (`jumok.bundle.fingerprint`).

        Read once for models that were loaded from bundles, and compared with theirs once other code
        has had them; of models that were made in memory it is computed at every call.

        Raises:
            BundleError: a bundle was written again after it was loaded.
        """
        if self._has_loaded_weights():
            return joined_fingerprint(origin.fingerprint for origin in self._origins)
        return joined_fingerprint(map(fingerprint_of, self._modules()))

    @property
    def computed_by(self) -> dict[str, str]:
        """The name of the engine, "torch" or "native", and its number format."""
        return {"name": "torch", "precision": self._precision}

    def answer(self, given: Sequence[str]) -> list[Facts]:
        """The result for each text or image file, as plain JSON, with the defaults of the system.

        All systems have this call.
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

    def modules(self) -> Sequence[Module]:
        """The models that work together. Code that has them may change them."""
        return self.expose(self._modules())

    def _modules(self) -> Sequence[Module]:
        raise NotImplementedError

    def expose(self, part: Exposed) -> Exposed:
        """A part of the system for other code, which may change it from now on."""
        if self._exposed is None:
            self._exposed = Contents.of(self._modules())
        return part

    def _has_loaded_weights(self) -> bool:
        if not self._origins or self._exposed is None:
            return bool(self._origins)
        models = self._modules()
        return len(models) == len(self._origins) and all(
            origin.holds(model) for origin, model in zip(self._origins, models, strict=True)
        )

    def _is_as_loaded(self) -> bool:
        """Whether its models are what was loaded: the same modules, hooks, settings and weights."""
        if self._exposed is not None and not self._exposed.holds(self._modules()):
            return False
        try:
            return self._has_loaded_weights()
        except BundleError:  # it was written again: there is nothing to compare with
            return False

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Pickled as its folders and the options of `load`; changed models with their weights."""
        if self._is_as_loaded():
            folders = tuple(str(origin.folder.resolve()) for origin in self._origins)
            return _loaded_again, (type(self), folders, dict(self._options))
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, object]:
        """Of changed models: without the bundles."""
        return {**self.__dict__, "_origins": (), "_exposed": None}


AnySystem = TypeVar("AnySystem", bound=System)


def loaded_from(
    system: AnySystem, bundles: Sequence[Bundle], device: str, precision: EnginePrecision
) -> AnySystem:
    """The system, with its number format and a record of where its models come from."""
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
