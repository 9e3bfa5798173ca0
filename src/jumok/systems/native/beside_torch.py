"""Systems whose model is there twice: on torch, and on the native engine (faster on CPUs)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from jumok.attention.heard import anyone_listens
from jumok.attention.here import having_any
from jumok.bundle.reading import Bundle, Precision
from jumok.kernels import packed
from jumok.systems.base import System, loaded_from
from jumok.systems.device import EngineName, EnginePrecision

NativeOf = TypeVar("NativeOf")


class BesideTorch(System, Generic[NativeOf]):
    """A system whose model may also be on the native engine."""

    _engine: NativeOf | None = None

    @classmethod
    def load_on(
        cls,
        engine: EngineName,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        threads: int = 0,
    ) -> System:
        """As `load`; the native engine computes on one thread."""
        del threads
        return cls.load(*folders, device=device, precision=precision, engine=engine)

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "torch",
    ) -> System:
        """The bundle in this folder.

        Args:
            engine: "auto" is the native engine where it serves the model and there is no GPU.
        """
        raise NotImplementedError

    @property
    def computed_by(self) -> dict[str, str]:
        native = self.engine is not None
        left = not native and self._precision == "int8"
        name = "native" if native else "torch"
        return {"name": name, "precision": "fp32" if left else self._precision}

    @property
    def engine(self) -> NativeOf | None:
        """The native engine; None where torch computes, as where a change or a listener may be."""
        if self._engine is None or not self._untouched or anyone_listens() or having_any():
            return None
        return None if any(packed.GLOBAL) else self._engine

    def _handed_out(self) -> None:
        if packed.AT_WORK.get() is not self._packs:
            self._engine = None  # who has the model may change it
        super()._handed_out()

    def _came_from(
        self,
        bundles: Sequence[Bundle],
        engine: NativeOf | None,
        known: Precision,
        asked: tuple[str, EnginePrecision, EngineName],
    ) -> None:
        """Notes where its model comes from.

        Args:
            known: the number format that it computes in.
            asked: the device, the precision and the engine that `load` was given.
        """
        device, precision, name = asked
        self._engine = engine
        loaded_from(self, bundles, device, precision)
        self._options = {**self._options, "engine": name}
        self._precision = known
