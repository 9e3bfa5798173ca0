"""The models of a Translator: one on the native engine, and on torch when they are needed there.

Importing this imports no torch.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.attention.heard import anyone_listens
from jumok.attention.here import having_any
from jumok.bundle.reading import Bundle
from jumok.engine.running import RunningBatch
from jumok.errors import BundleError, Place
from jumok.late import late_imports
from jumok.systems.base import Shown
from jumok.systems.loading import reading_of
from jumok.systems.native.models import looks_of, native_model
from jumok.systems.translation.given_translations import GivenTranslations
from jumok.systems.translation.on_engine import EngineSearcher, reading_on_engine
from jumok.systems.translation.searching import Searcher

with late_imports():
    import torch

    from jumok.alignment import aligner as alignment_aligner
    from jumok.bundle import weights
    from jumok.decoding import ensemble
    from jumok.kernels import linear, packed
    from jumok.models import memory as models_memory
    from jumok.systems.translation import on_torch

_ONE_AT_A_TIME = threading.Lock()


class TranslationModels(GivenTranslations):
    """What a Translator computes with.

    On the native engine the models on torch are loaded when they are first needed. Once other code
    has had them it may have changed or hooked them: from then on torch computes everything.

    Attributes:
        models: on torch.
        readings: the alignment setting of each model; None for one without attention.
    """

    models: Shown[list[models_memory.SequenceToSequence]] = Shown()
    readings: list[AlignmentSetting | None]
    _engine: EngineSearcher | None = None
    _unread: tuple[Bundle, ...] = ()

    def _hold(
        self,
        models: Sequence[models_memory.SequenceToSequence],
        readings: Sequence[AlignmentSetting | None],
    ) -> None:
        self.models = list(models)
        self.readings = list(readings)
        self.aligner = alignment_aligner.Aligner(models, readings, self.tokenizer)
        decoders = [model.decoder for model in models]
        self.decoder = decoders[0] if len(decoders) == 1 else ensemble.Ensemble(decoders)

    def _begin_natively(self, bundle: Bundle) -> None:
        self.readings, self._unread = [reading_on_engine(bundle)], (bundle,)
        self._engine = EngineSearcher(
            native_model(bundle, self._precision),
            looks_of(bundle),
            reading_on_engine(bundle),
            lambda: self.on_torch,
        )

    def _read_models(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        # Whoever asks first may compute without gradients; the models are for everybody.
        with torch.inference_mode(False), torch.enable_grad():
            models = [_load(bundle, device, dtype) for bundle in bundles]
            self._hold(models, list(map(_reading, bundles, models)))
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
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch where a change or a listener may be."""
        engine = self._engine
        if engine is None or anyone_listens() or having_any() or _torch_is_hooked():
            return self.on_torch
        return engine

    @property
    def on_torch(self) -> Searcher:
        """Its models on torch."""
        return on_torch.TorchSearcher(self)

    def search_together(self) -> RunningBatch | None:
        """From now on the searches of all threads are made in one batch: see `NativeModel`.

        None: torch computes, which makes every search by itself.
        """
        return None if self._engine is None else self._engine.model.search_together()

    @property
    def computed_by(self) -> dict[str, str]:
        """What computes: its name, "native" or "torch", and its number format."""
        name = self.searcher.name
        left = name == "torch" and self._precision == "int8"
        return {"name": name, "precision": "fp32" if left else self._precision}

    @property
    def aligns(self) -> bool:
        """Whether any model has attention to extract alignments from."""
        return any(reading is not None for reading in self.readings)

    def modules(self) -> Sequence[models_memory.SequenceToSequence]:
        return self.models

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Its models compute inside the block, and reading them there does not change what does."""
        if self._engine is None:
            with super().at_work():
                yield
            return
        token = _WORKING.set(self)
        try:
            yield
        finally:
            _WORKING.reset(token)


_WORKING: ContextVar[TranslationModels | None] = ContextVar("jumok_translator", default=None)
"""The one on the native engine that is at work in this context."""


def _load(
    bundle: Bundle, device: torch.device, dtype: torch.dtype
) -> models_memory.SequenceToSequence:
    model = weights.load_model(bundle, str(device))
    if not isinstance(model, models_memory.SequenceToSequence):
        raise BundleError("this model does not translate.", place=Place(bundle.folder))
    linear.prepare_for_inference(model, dtype)
    return model


def _reading(bundle: Bundle, model: models_memory.SequenceToSequence) -> AlignmentSetting | None:
    known = reading_of(bundle.config) if model.cross_sites else None
    return known or default_setting(len(model.cross_sites))


def _torch_is_hooked() -> bool:
    """Whether torch has hooks that receive all modules."""
    return "torch" in sys.modules and any(packed.GLOBAL)
