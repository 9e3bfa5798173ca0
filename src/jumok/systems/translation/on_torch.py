"""The searcher on torch: any models that read and write texts, and any options."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Literal

import torch
from torch import nn

from jumok.alignment.aligner import Aligner
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import Weights
from jumok.attention.heard import tell
from jumok.attention.observe import sites_of
from jumok.data.pairs.batches import source_batch
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.beam import ReadAttention
from jumok.decoding.constraints import Constraints
from jumok.decoding.coverage import read_attention
from jumok.decoding.limits import Prefixes
from jumok.decoding.rank import Ranker
from jumok.decoding.score import score_pairs
from jumok.models.memory import Memory
from jumok.stopwatch import spending
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
        with self.system.torch_at_work():
            return min(len(model.cross_sites) for model in self.system.models)

    def read(self, sources: Sequence[Sequence[int]]) -> "TorchSources":
        """These sources in one batch."""
        return TorchSources(self.system, sources)


class TorchSources:
    """Sources whose Memory is written when it is first needed.

    Args:
        memory: of these sources; None: not yet written.
    """

    def __init__(
        self,
        system: GivenTranslations,
        sources: Sequence[Sequence[int]],
        memory: Memory | None = None,
    ) -> None:
        self.left: set[int] = set()
        self._system, self._sources, self._memory = system, sources, memory

    @property
    def memory(self) -> Memory:
        """What the encoders wrote."""
        if self._memory is None:
            every = list(range(len(self._sources)))
            with spending("encode", "torch"):
                self._memory = self._system.read(source_batch(self._sources, every))
        return self._memory

    def select(self, rows: Sequence[int]) -> "TorchSources":
        """Some of them; what was read is not read again."""
        chosen, memory = [self._sources[row] for row in rows], self._memory
        if memory is not None:
            memory = memory.select(torch.tensor(rows, device=memory.states.device))
        return TorchSources(self._system, chosen, memory)

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its hypotheses, best first (samples: as sampled)."""
        system = self._system
        same = partial(written_text, system.tokenizer) if options.nbest > 1 else None
        phrases = None if constraints is None else list(constraints)
        with system.torch_at_work(), self._coverage(options) as attention:
            memory = self.memory
            with spending("decode", "torch"):
                found = decode(system.decoder, memory, options, prefixes, attention, phrases, same)
        tell(system, FOUND, found)
        return found

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        """A given target for each source, with its log-probabilities."""
        with self._system.torch_at_work():
            return score_pairs(self._system.decoder, self.memory, targets, ranker)

    def attention(
        self, targets: Sequence[Sequence[int]], setting: AlignmentSetting | None = None
    ) -> list[Weights]:
        """For each target how much its tokens attended to each source token, and to END."""
        system = self._system
        with system.torch_at_work():
            aligner = system.aligner
            if setting is not None:
                readings = [setting if model.cross_sites else None for model in system.models]
                aligner = Aligner(system.models, readings, system.tokenizer)
            weights = aligner.between_pieces(self.memory, targets).numpy()
        return [
            weights[row, : len(target), : len(source) + 1]
            for row, (source, target) in enumerate(zip(self._sources, targets, strict=True))
        ]

    def _coverage(self, options: DecodingOptions) -> AbstractContextManager[ReadAttention | None]:
        if not options.coverage_penalty:
            return nullcontext()
        self._system.check_alignments()
        models = nn.ModuleList(self._system.models)
        return read_attention(models, sites_of(models, "cross").__contains__)
