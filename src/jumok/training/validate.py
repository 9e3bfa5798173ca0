"""Validation by loss and by real decoding."""

from dataclasses import dataclass, replace

import torch
from torch import nn

from jumok.bundle.card import Score
from jumok.config import Config
from jumok.data.batches import validation_batches
from jumok.evaluation.text import score_text
from jumok.kernels.linear import prepare_for_inference
from jumok.models.encoder_decoder import Transformer
from jumok.systems.translator import Translator
from jumok.training.objectives import Objective
from jumok.training.prepare import Prepared


@dataclass(frozen=True)
class Scores:
    """How good a model is on the validation pairs.

    Attributes:
        loss: nats per real target token, without label smoothing.
        text: BLEU and chrF of its translations, with their signatures.
    """

    loss: float
    text: tuple[Score, ...]

    @property
    def bleu(self) -> float:
        return self.text[0].value

    @property
    def chrf(self) -> float:
        return self.text[1].value


class Validator:
    """Scores a model on the validation pairs; decodes in `dtype`, the fastest one here."""

    def __init__(
        self, config: Config, prepared: Prepared, objective: Objective, dtype: torch.dtype
    ) -> None:
        self._config, self._prepared = config, prepared
        self._objective, self._dtype = objective, dtype

    def __call__(self, model: nn.Module) -> Scores:
        """Scores `model`, which is afterwards good for nothing else but decoding."""
        return Scores(self._loss(model), self._text(model))

    @torch.no_grad()
    def _loss(self, model: nn.Module) -> float:
        total, tokens = 0.0, 0
        budget = self._config.training.tokens_per_micro_batch
        for batch in validation_batches(self._prepared.validation, budget):
            total += float(self._objective(model, batch, 0.0))
            tokens += batch.target_tokens
        return total / tokens

    def _text(self, model: nn.Module) -> tuple[Score, ...]:
        assert isinstance(model, Transformer)
        prepare_for_inference(model, self._dtype)
        data, beam = self._config.data, self._config.validation.beam
        translator = Translator(
            [model],
            self._prepared.tokenizer,
            max_tokens=data.max_tokens,
            target_language=data.target_language,
        )
        translations = translator.translate(self._prepared.sources, beam=beam, alignments=False)
        scores = score_text(
            [translation.text for translation in translations],
            self._prepared.references,
            target_language=data.target_language,
            metrics=("bleu", "chrf"),
            resamples=0,
        )
        on = f"{len(translations)} validation sentences, beam {beam}"
        return tuple(replace(score, on=on) for score in scores)
