"""Systems whose models may also be on the native engine, which is faster on CPUs.

The engine has its own copy of the weights. The models on torch are loaded when they are first
needed; once other code has had them, every call compares them with what was loaded
(`System.expose`), and torch computes with what was hooked or changed, and for calls that are
listened to. Importing this imports no torch.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from jumok.attention.events import any_listeners
from jumok.attention.overrides import any_overrides
from jumok.bundle.reading import Bundle
from jumok.engine import Precision
from jumok.systems.base import System
from jumok.systems.device import EngineName, EnginePrecision

if TYPE_CHECKING:
    import torch

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
        """Loads these on torch, and keeps the models."""
        raise NotImplementedError

    def _read_models(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        # Whoever asks first may compute without gradients; the models are for everybody.
        import torch

        with torch.inference_mode(False), torch.enable_grad():
            self._hold_bundles(bundles, device, dtype)

    def _load_on_torch(self) -> None:
        if not self._unread:
            return
        with _ONE_AT_A_TIME:
            if self._unread:
                for origin in self._origins:
                    origin.check()
                import torch

                self._read_models(self._unread, torch.device("cpu"), torch.float32)
                self._unread = ()

    @property
    def engine(self) -> NativeOf | None:
        """The native engine; None where torch computes, as where a change or a listener may be."""
        return None if any_listeners() else self._engine_unheard

    @property
    def _engine_unheard(self) -> NativeOf | None:
        """The native engine, also where there are listeners to the models on torch."""
        if self._engine is None or any_overrides() or _torch_is_hooked():
            return None
        return self._engine if self._exposed is None or self._is_as_loaded() else None

    @property
    def computed_by(self) -> dict[str, str]:
        if self.engine is not None:
            return {"name": "native", "precision": self._precision}
        return {"name": "torch", "precision": self._torch_precision}

    @property
    def _torch_precision(self) -> Precision:
        """What the engine leaves to torch is computed in float32."""
        return self._precision if self._engine is None else "fp32"

    def __getstate__(self) -> dict[str, object]:
        """Of changed models: on torch, without the native engine."""
        state = super().__getstate__()
        return {**state, "_engine": None, "_precision": self._torch_precision}


def _torch_is_hooked() -> bool:
    """Whether torch has hooks that receive all modules."""
    if "torch" not in sys.modules:
        return False
    from jumok.kernels.plain import GLOBAL

    return any(GLOBAL)


def each_batch(
    batches: Sequence[list[int]], write: Callable[[list[int]], None], threads: int
) -> None:
    """The engine computes without Python's lock, so in several threads."""
    if min(threads, len(batches)) < 2:
        for rows in batches:
            write(rows)
        return
    with ThreadPoolExecutor(min(threads, len(batches))) as pool:
        # A thread of the pool knows nothing of this one's context.
        work = [pool.submit(copy_context().run, write, rows) for rows in batches]
        try:
            for each in work:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
