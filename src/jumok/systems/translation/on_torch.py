"""The searcher on torch, for any models and options."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import torch

from jumok.alignment.extract import Aligner
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import Weights
from jumok.computation import timed
from jumok.data.pairs.batches import source_batch
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.beam import Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import decode_with
from jumok.decoding.rank import Ranker, joint_scores
from jumok.decoding.score import covering, score_pairs
from jumok.decoding.stepper import joint_stepper
from jumok.decoding.torch_stepper import TorchStepper, lengths_of
from jumok.models.memory import Memory
from jumok.systems.embedding import SourceReader
from jumok.systems.translation.result import written_text


class TorchSearcher:
    """The models of a system."""

    name: Literal["torch", "native"] = "torch"

    def __init__(self, system: SourceReader, aligner: Aligner) -> None:
        self.system, self.aligner = system, aligner

    @property
    def layers(self) -> int:
        return min(len(model.cross_sites) for model in self.aligner.models)

    def read(self, sources: Sequence[Sequence[int]]) -> "TorchSources":
        return TorchSources(self.system, self.aligner, sources)


class TorchSources:
    """Sources that the encoders read when that is first needed.

    Args:
        memories: what each model wrote of these sources; None: not yet written.
    """

    def __init__(
        self,
        system: SourceReader,
        aligner: Aligner,
        sources: Sequence[Sequence[int]],
        memories: list[Memory] | None = None,
    ) -> None:
        self.left: set[int] = set()
        self._system, self._aligner = system, aligner
        self._sources, self._memories = sources, memories

    @property
    def memories(self) -> list[Memory]:
        if self._memories is None:
            every = list(range(len(self._sources)))
            with timed("encode", "torch"):
                self._memories = self._system.read(source_batch(self._sources, every))
        return self._memories

    def select(self, rows: Sequence[int]) -> "TorchSources":
        chosen, memories = [self._sources[row] for row in rows], self._memories
        if memories is not None:
            at = torch.tensor(rows, device=memories[0].states.device)
            memories = [each.select(at) for each in memories]
        return TorchSources(self._system, self._aligner, chosen, memories)

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        models, tokenizer = self._aligner.models, self._aligner.tokenizer
        same = partial(written_text, tokenizer) if options.nbest > 1 else None
        with torch.no_grad():
            memories = self.memories
            cover = covering(models, memories) if options.coverage_penalty else None
            with timed("decode", "torch"):
                steppers = [
                    TorchStepper(model.decoder, memory)
                    for model, memory in zip(models, memories, strict=True)
                ]
                return decode_with(
                    joint_stepper(steppers), lengths_of(memories[0]), options, prefixes,
                    constraints, same, cover, report,
                )  # fmt: skip

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        with torch.no_grad():
            scored = [
                score_pairs(model.decoder, memory, targets)
                for model, memory in zip(self._aligner.models, self.memories, strict=True)
            ]
        return joint_scores(scored, ranker)

    def attention(
        self, targets: Sequence[Sequence[int]], setting: AlignmentSetting | None = None
    ) -> list[Weights]:
        aligner = self._aligner
        if setting is not None:
            readings = [setting if model.cross_sites else None for model in aligner.models]
            aligner = replace(aligner, readings=readings)
        with torch.no_grad():
            weights = aligner.between_pieces(self.memories, targets).numpy()
        return [
            weights[row, : len(target), : len(source) + 1]
            for row, (source, target) in enumerate(zip(self._sources, targets, strict=True))
        ]
