"""The searcher on the native engine. Nothing here imports torch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import Weights
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.beam import Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.limits import Prefixes
from jumok.decoding.native import hypotheses_of
from jumok.decoding.rank import Ranker, joint_scores
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.searching import Source
from jumok.systems.translation.result import written_text
from jumok.systems.translation.searching import ReadSources, Searcher


class EngineSearcher:
    """Models on the engine; any number of threads may search with them at once.

    Args:
        models: several form an ensemble.
        tokenizer: of hypotheses with one text only the best counts.
        layers: the number of the cross-attentions of each.
        settings: where alignments are extracted from each; None: the model has no attention.
        on_torch: gives the same models on torch, for what the engine does not do.
    """

    name: Literal["torch", "native"] = "native"

    def __init__(
        self,
        models: Sequence[NativeModel],
        tokenizer: Tokenizer,
        layers: Sequence[int],
        settings: Sequence[AlignmentSetting | None],
        on_torch: Callable[[], Searcher],
    ) -> None:
        self.models, self.tokenizer = models, tokenizer
        self.settings, self.on_torch = settings, on_torch
        self.layers = min(layers)

    def read(self, sources: Sequence[Sequence[int]]) -> ReadSources:
        return EngineSources(self, sources, range(len(sources)), set())


class EngineSources:
    """Sources on the engine, which reads them again for every question.

    Args:
        rows: their numbers among those that were first read together.
        left: those of these numbers that were left to torch.
    """

    def __init__(
        self,
        searcher: EngineSearcher,
        sources: Sequence[Sequence[int]],
        rows: Sequence[int],
        left: set[int],
    ) -> None:
        self._searcher, self._sources, self._rows, self.left = searcher, sources, rows, left
        self._ended = [[*source, END] for source in sources]
        self._again: ReadSources | None = None

    def select(self, rows: Sequence[int]) -> "EngineSources":
        chosen = [self._sources[row] for row in rows]
        return EngineSources(self._searcher, chosen, [self._rows[row] for row in rows], self.left)

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        if not self._fits():
            return self._on_torch().search(options, prefixes, constraints, report)
        same = partial(written_text, self._searcher.tokenizer) if options.nbest > 1 else None
        return hypotheses_of(
            self._searcher.models, self._ended, options, prefixes, constraints, same, report
        )

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        if not self._fits(targets):
            return self._on_torch().score(targets, ranker)
        scored = [
            [
                ranker.rate(target, forced.log_probabilities)
                for target, forced in zip(
                    targets, model.force(self._ended, targets, (START, END)), strict=True
                )
            ]
            for model in self._searcher.models
        ]
        return scored[0] if len(scored) == 1 else joint_scores(scored, ranker)

    def attention(
        self, targets: Sequence[Sequence[int]], setting: AlignmentSetting | None = None
    ) -> list[Weights]:
        if not self._fits(targets):
            return self._on_torch().attention(targets, setting)
        seen = [
            attention_of(model, self._ended, targets, setting or own)
            for model, own in zip(self._searcher.models, self._searcher.settings, strict=True)
            if own is not None
        ]
        return [np.mean(of_target, axis=0) for of_target in zip(*seen, strict=True)]

    def _fits(self, targets: Sequence[Sequence[int]] = ()) -> bool:
        """Whether the engine has a position for every token."""
        limits = [model.positions for model in self._searcher.models]
        most = min((limit for limit in limits if limit is not None), default=None)
        return most is None or all(len(each) < most for each in (*self._sources, *targets))

    def _on_torch(self) -> ReadSources:
        self.left.update(self._rows)
        if self._again is None:
            self._again = self._searcher.on_torch().read(self._sources)
        return self._again


def attention_of(
    model: NativeModel,
    sources: Sequence[Source],
    targets: Sequence[Sequence[int]],
    setting: AlignmentSetting,
) -> list[Weights]:
    """For each target how much its tokens attended to each position of its source."""
    heads = None if setting.head is None else (setting.head,)
    watched = [WatchedAttention("cross", setting.layer, heads)]
    forced = model.force(sources, targets, (START, END), watched, log_probabilities=False)
    # Row i of the weights is the step that reads token i - 1 (START first) and writes token i.
    means: list[Weights] = [each.attention[0].mean(axis=0) for each in forced]
    return [each[1:] if setting.at_input else each[:-1] for each in means]
