"""The models of a Translator: one on the native engine, and on torch when they are needed there.

Importing this imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.bundle.reading import Bundle
from jumok.config.section import ModelSection
from jumok.engine.running import RunningBatch
from jumok.errors import BundleError, Location
from jumok.systems.device import precision_name
from jumok.systems.loading import reading_of
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.models import (
    lacking,
    looks_of,
    native_copy,
    native_model,
    weights_of,
)
from jumok.systems.translation.given_translations import GivenTranslations
from jumok.systems.translation.on_engine import EngineSearcher, reading_on_engine
from jumok.systems.translation.searching import Searcher

if TYPE_CHECKING:
    import torch

    from jumok.alignment.aligner import Aligner
    from jumok.models.memory import SequenceToSequence


class TranslationModels(BesideTorch[EngineSearcher], GivenTranslations):
    """What a Translator computes with.

    Attributes:
        models: on torch.
        readings: the alignment setting of each model; None for one without attention.
    """

    readings: list[AlignmentSetting | None]
    _held: Aligner

    @property
    def models(self) -> Sequence[SequenceToSequence]:
        """The models on torch, which the code that has them may change."""
        return self.expose(self._models)

    @property
    def aligner(self) -> Aligner:
        """What extracts alignments from the models on torch, with these models."""
        return self.expose(self._aligner)

    @property
    def _models(self) -> Sequence[SequenceToSequence]:
        return self._aligner.models

    @property
    def _aligner(self) -> Aligner:
        self._load_on_torch()
        return self._held

    def _hold(
        self,
        models: Sequence[SequenceToSequence],
        readings: Sequence[AlignmentSetting | None],
    ) -> None:
        self.readings = list(readings)
        from jumok.alignment.aligner import Aligner

        self._held = Aligner(models, readings, self.tokenizer)

    def _begin_natively(self, bundles: Sequence[Bundle]) -> None:
        self.readings, self._unread = list(map(reading_on_engine, bundles)), tuple(bundles)
        self._engine = EngineSearcher(
            [native_model(bundle, self._precision) for bundle in bundles],
            self.tokenizer,
            [looks_of(bundle.section) for bundle in bundles],
            self.readings,
            lambda: self.on_torch,
        )

    def search_natively(self, configs: Sequence[ModelSection], dtype: torch.dtype) -> bool:
        """Lets the native engine search, with copies of the weights as they are now.

        For models in memory that are not changed any more. False: the engine does not serve them.

        Args:
            configs: of the models.
            dtype: in which it computes.
        """
        if any(map(lacking, configs)) or any(map(_is_on_gpu, self._models)):
            return False
        self._precision = precision_name(dtype)
        self._engine = EngineSearcher(
            [
                native_copy(config, weights_of(model), self._precision)
                for config, model in zip(configs, self._models, strict=True)
            ],
            self.tokenizer,
            list(map(looks_of, configs)),
            self.readings,
            lambda: self.on_torch,
        )
        return True

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        models = [_load(bundle, device, dtype) for bundle in bundles]
        self._hold(models, list(map(_alignment_setting, bundles, models)))

    @property
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch where a change or a listener may be."""
        return self.engine or self.on_torch

    @property
    def on_torch(self) -> Searcher:
        """Its models on torch."""
        from jumok.systems.translation.on_torch import TorchSearcher

        return TorchSearcher(self)

    def search_together(self) -> RunningBatch | None:
        """From now on the searches of all threads are made in one batch: see `NativeModel`.

        None: torch computes, or several models, which make every search by itself.
        """
        if self._engine is None or len(self._engine.models) > 1:
            return None
        return self._engine.models[0].search_together()

    @property
    def aligns(self) -> bool:
        """Whether any model has attention to extract alignments from."""
        return any(reading is not None for reading in self.readings)

    def _modules(self) -> Sequence[SequenceToSequence]:
        return self._models


def _is_on_gpu(model: SequenceToSequence) -> bool:
    return next(model.parameters()).device.type != "cpu"


def _load(bundle: Bundle, device: torch.device, dtype: torch.dtype) -> SequenceToSequence:
    from jumok.bundle.weights import load_model

    model = load_model(bundle, str(device))
    from jumok.models.memory import SequenceToSequence

    if not isinstance(model, SequenceToSequence):
        raise BundleError("this model does not translate.", place=Location(bundle.folder))
    model.eval().to(dtype)
    return model


def _alignment_setting(bundle: Bundle, model: SequenceToSequence) -> AlignmentSetting | None:
    known = reading_of(bundle.config) if model.cross_sites else None
    return known or default_setting(len(model.cross_sites))
