"""The searcher on torch, for any models and options."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import torch

from jumok.alignment.aligner import Aligner
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import Weights
from jumok.attention.events import emit
from jumok.computation import timed
from jumok.data.pairs.batches import source_batch
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.beam import Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.coverage import covering
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import decode_with
from jumok.decoding.rank import Ranker, joint_scores
from jumok.decoding.score import score_pairs
from jumok.decoding.stepper import Ensemble, Stepper
from jumok.decoding.torch_stepper import TorchStepper, lengths_of
from jumok.models.memory import Memory, SequenceToSequence
from jumok.systems.base import FOUND
from jumok.systems.translation.given_translations import GivenTranslations
from jumok.systems.translation.part_writer import written_text


class TorchSearcher:
    """The models of a system, which reports what a search ended with (`FOUND`)."""

    name: Literal["torch", "native"] = "torch"

    def __init__(self, system: GivenTranslations) -> None:
        self.system = system

    @property
    def layers(self) -> int:
        """The number of the decoder's cross-attentions; of several models the fewest."""
        return min(len(model.cross_sites) for model in self.system._models)

    def read(self, sources: Sequence[Sequence[int]]) -> "TorchSources":
        """These sources in one batch."""
        return TorchSources(self.system, sources)


class TorchSources:
    """Sources that the encoders read when that is first needed.

    Args:
        memories: what each model wrote of these sources; None: not yet written.
    """

    def __init__(
        self,
        system: GivenTranslations,
        sources: Sequence[Sequence[int]],
        memories: list[Memory] | None = None,
    ) -> None:
        self.left: set[int] = set()
        self._system, self._sources, self._memories = system, sources, memories

    @property
    def memories(self) -> list[Memory]:
        """What the encoders wrote."""
        if self._memories is None:
            every = list(range(len(self._sources)))
            with timed("encode", "torch"):
                self._memories = self._system.read(source_batch(self._sources, every))
        return self._memories

    def select(self, rows: Sequence[int]) -> "TorchSources":
        """Some of them; what was read is not read again."""
        chosen, memories = [self._sources[row] for row in rows], self._memories
        if memories is not None:
            at = torch.tensor(rows, device=memories[0].states.device)
            memories = [each.select(at) for each in memories]
        return TorchSources(self._system, chosen, memories)

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its hypotheses, best first."""
        system = self._system
        same = partial(written_text, system.tokenizer) if options.nbest > 1 else None
        with torch.no_grad():
            models, memories = system._models, self.memories
            cover = covering(models, memories) if options.coverage_penalty else None
            with timed("decode", "torch"):
                hypotheses = decode_with(
                    stepper_of(models, memories), lengths_of(memories[0]), options, prefixes,
                    constraints, same, cover, report,
                )  # fmt: skip
        emit(system, FOUND, hypotheses)
        return hypotheses

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        """A given target for each source, with its log-probabilities."""
        with torch.no_grad():
            scored = [
                score_pairs(model.decoder, memory, targets)
                for model, memory in zip(self._system._models, self.memories, strict=True)
            ]
        return joint_scores(scored, ranker)

    def attention(
        self, targets: Sequence[Sequence[int]], setting: AlignmentSetting | None = None
    ) -> list[Weights]:
        """For each target how much its tokens attended to each source token, and to END."""
        system = self._system
        with torch.no_grad():
            aligner = system._aligner
            if setting is not None:
                readings = [setting if model.cross_sites else None for model in system._models]
                aligner = Aligner(system._models, readings, system.tokenizer)
            weights = aligner.between_pieces(self.memories, targets).numpy()
        return [
            weights[row, : len(target), : len(source) + 1]
            for row, (source, target) in enumerate(zip(self._sources, targets, strict=True))
        ]


def stepper_of(models: Sequence[SequenceToSequence], memories: Sequence[Memory]) -> Stepper[Any]:
    """What makes the steps of these models together."""
    steppers = [
        TorchStepper(model.decoder, memory) for model, memory in zip(models, memories, strict=True)
    ]
    return steppers[0] if len(steppers) == 1 else Ensemble(steppers)
