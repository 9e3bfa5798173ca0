"""The models of a Translator: one on the native engine, and on torch when they are needed there.

Importing this imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.bundle.reading import Bundle
from jumok.engine.running import RunningBatch
from jumok.errors import BundleError, Place
from jumok.late import late_imports
from jumok.systems.base import Shown
from jumok.systems.loading import reading_of
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.models import looks_of, native_model
from jumok.systems.translation.given_translations import GivenTranslations
from jumok.systems.translation.on_engine import EngineSearcher, reading_on_engine
from jumok.systems.translation.searching import Searcher

with late_imports():
    import torch

    from jumok.alignment import aligner as alignment_aligner
    from jumok.bundle import weights
    from jumok.decoding import ensemble
    from jumok.kernels import linear
    from jumok.models import memory as models_memory
    from jumok.systems.translation import on_torch


class TranslationModels(BesideTorch[EngineSearcher], GivenTranslations):
    """What a Translator computes with.

    Attributes:
        models: on torch.
        readings: the alignment setting of each model; None for one without attention.
    """

    models: Shown[list[models_memory.SequenceToSequence]] = Shown()
    readings: list[AlignmentSetting | None]

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
            self.tokenizer,
            looks_of(bundle),
            reading_on_engine(bundle),
            lambda: self.on_torch,
        )

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        models = [_load(bundle, device, dtype) for bundle in bundles]
        self._hold(models, list(map(_reading, bundles, models)))

    @property
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch where a change or a listener may be."""
        return self.engine or self.on_torch

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
    def aligns(self) -> bool:
        """Whether any model has attention to extract alignments from."""
        return any(reading is not None for reading in self.readings)

    def modules(self) -> Sequence[models_memory.SequenceToSequence]:
        return self.models


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
