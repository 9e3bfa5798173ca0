"""Systems whose models may also be on the native engine, which is faster on CPUs.

Importing this imports no torch. The models on torch may be loaded when they are first needed. Once
other code has had them it may have changed or hooked them: from then on torch computes everything.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, TypeVar

from jumok.attention.heard import anyone_listens
from jumok.attention.here import having_any
from jumok.bundle.reading import Bundle
from jumok.late import late_imports
from jumok.systems.base import System
from jumok.systems.device import EngineName, EnginePrecision

with late_imports():
    import torch

    from jumok.kernels import packed

NativeOf = TypeVar("NativeOf")

_ONE_AT_A_TIME = threading.Lock()


class BesideTorch(System, Generic[NativeOf]):
    """A system whose models may also be on the native engine."""

    _engine: NativeOf | None = None
    _unread: tuple[Bundle, ...] = ()

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

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        """Loads the models of these bundles on torch, and keeps them."""
        raise NotImplementedError

    def _read_models(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        # Whoever asks first may compute without gradients; the models are for everybody.
        with torch.inference_mode(False), torch.enable_grad():
            self._hold_bundles(bundles, device, dtype)
        self._packs.watched = False

    def _handed_out(self) -> None:
        if self._unread:
            with _ONE_AT_A_TIME:
                if self._unread:
                    for origin in self._origins:
                        origin.check()
                    self._read_models(self._unread, torch.device("cpu"), torch.float32)
                    self._unread = ()
        if _WORKING.get() is self or packed.AT_WORK.get() is self._packs:
            return
        self._engine = None  # who has the models may change them
        super()._handed_out()

    @property
    def _untouched(self) -> bool:
        return self._engine is not None or super()._untouched

    @property
    def engine(self) -> NativeOf | None:
        """The native engine; None where torch computes, as where a change or a listener may be."""
        if anyone_listens() or having_any() or _torch_is_hooked():
            return None
        return self._engine

    @property
    def computed_by(self) -> dict[str, str]:
        """What computes: its name, "native" or "torch", and its number format."""
        native = self.engine is not None
        left = not native and self._precision == "int8"
        name = "native" if native else "torch"
        return {"name": name, "precision": "fp32" if left else self._precision}

    def at_work(self) -> AbstractContextManager[None]:
        """Its models compute inside the block, and reading them there does not change what does."""
        return self.torch_at_work() if self._engine is None else self._engine_at_work()

    @contextmanager
    def _engine_at_work(self) -> Iterator[None]:
        token = _WORKING.set(self)
        try:
            yield
        finally:
            _WORKING.reset(token)


_WORKING: ContextVar[BesideTorch[Any] | None] = ContextVar("jumok_beside_torch", default=None)
"""The one on the native engine that is at work in this context."""


def _torch_is_hooked() -> bool:
    """Whether torch has hooks that receive all modules."""
    return "torch" in sys.modules and any(packed.GLOBAL)
