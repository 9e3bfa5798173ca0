"""The searcher on the native engine: one model on the CPU. Nothing here imports torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Literal

import numpy as np

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.alignment.words import Weights
from jumok.bundle.reading import Bundle, Precision
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.beam import Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypothesis import Same
from jumok.decoding.limits import Prefixes
from jumok.decoding.native import decode_natively
from jumok.decoding.rank import Ranker, joint_scores
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.searching import SearchRules, Source
from jumok.errors import ConfigError, Location
from jumok.systems.device import EngineName, EnginePrecision, has_gpu
from jumok.systems.loading import reading_of
from jumok.systems.native.models import FURTHEST, lacking, looks_of
from jumok.systems.translation.part_writer import written_text
from jumok.systems.translation.searching import ReadSources, Searcher

USE_TORCH = "--engine torch"


@dataclass(frozen=True)
class EngineChoice:
    """What computes.

    Attributes:
        why: why it is not the native engine; "" if it is.
    """

    native: bool
    why: str = ""


def choose_engine(
    bundles: Sequence[Bundle], device: str, precision: EnginePrecision, engine: EngineName
) -> EngineChoice:
    """The engine for these models.

    Args:
        device: as the user named it.
        engine: "auto": the native one where it serves the model, otherwise torch.

    Raises:
        ConfigError: the native engine is asked for, or needed for int8, and does not serve this.
    """
    if engine == "torch":
        if precision == "int8":
            raise ConfigError("int8 needs the native engine.", do="leave out --engine torch")
        return EngineChoice(False, "it was asked for")
    refused = _refused(bundles, device)
    if refused is None:
        if engine == "auto" and precision != "int8" and device == "auto" and has_gpu():
            return EngineChoice(False, "there is a GPU")
        return EngineChoice(True)
    if engine == "native" or precision == "int8":
        raise refused
    return EngineChoice(False, f"{refused.what} {refused.got or ''}".strip())


def _refused(bundles: Sequence[Bundle], device: str) -> ConfigError | None:
    """Why the native engine cannot do this; None if it can."""
    if device not in ("auto", "cpu"):
        return ConfigError(
            "the native engine runs on the CPU.",
            got=f"--device {device}",
            do=f"cpu, or {USE_TORCH}",
        )
    for bundle in bundles:
        lacks = lacking(bundle.section)
        if lacks is not None:
            return ConfigError(
                "the native engine does not run this model.",
                got=lacks,
                do=USE_TORCH,
                place=Location(bundle.folder),
            )
    return None


def precision_of(
    bundles: Sequence[Bundle], choice: EngineChoice, precision: EnginePrecision
) -> Precision:
    """The number format that these models compute in."""
    if precision != "auto":
        return precision
    stored = {bundle.precision for bundle in bundles}
    return stored.pop() if choice.native and len(stored) == 1 else "fp32"


def reading_on_engine(bundle: Bundle) -> AlignmentSetting | None:
    """The alignment setting of a model that the engine serves; None for one without attention."""
    looks = looks_of(bundle.section)
    return (reading_of(bundle.config) if looks else None) or default_setting(looks)


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

    def serves(self, options: DecodingOptions) -> bool:
        """Whether the engine searches with these options."""
        return serves(options)

    def read(self, sources: Sequence[Sequence[int]]) -> ReadSources:
        """These sources in one batch."""
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
        """Some of them."""
        chosen = [self._sources[row] for row in rows]
        return EngineSources(self._searcher, chosen, [self._rows[row] for row in rows], self.left)

    def search(
        self,
        options: DecodingOptions,
        prefixes: Prefixes | None = None,
        constraints: Sequence[Constraints] | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        """For each source its hypotheses, best first."""
        if not self._fits():
            return self._on_torch().search(options, prefixes, constraints, report)
        same = partial(written_text, self._searcher.tokenizer) if options.nbest > 1 else None
        return hypotheses_of(
            self._searcher.models, self._ended, options, prefixes, constraints, same, report
        )

    def score(self, targets: Sequence[Sequence[int]], ranker: Ranker) -> list[Hypothesis]:
        """A given target for each source, with its log-probabilities."""
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
        """For each target how much its tokens attended to each source token, and to END."""
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


def serves(options: DecodingOptions) -> bool:
    """Whether the engine searches with these options."""
    return options.maximum_length <= FURTHEST


def hypotheses_of(
    models: Sequence[NativeModel],
    sources: Sequence[Source],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: Same | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """For each source its hypotheses, best first (samples: as sampled).

    The best hypothesis of one model is searched for in C, all else in Python over steps in C.

    Args:
        sources: their tokens, END included, or Memories.
        prefixes, constraints, same, report: see `decode_with`.
    """
    forced = any(prefixes or ()) or any(constraints or ())
    if len(models) > 1 or forced or report is not None or not _is_plain_search(options):
        return decode_natively(models, sources, options, prefixes, constraints, same, report)
    rules, ranker = rules_of(options, list(map(len, sources))), options.ranker
    return [
        [ranker.rate(hypothesis.tokens, hypothesis.log_probabilities)]
        for hypothesis in models[0].search(sources, rules)
    ]


def _is_plain_search(options: DecodingOptions) -> bool:
    """Whether the engine's search in C has these options."""
    return not (
        options.sample
        or options.nbest > 1
        or options.coverage_penalty
        or options.no_repeat_ngram
        or options.penalised
    )


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


def rules_of(options: DecodingOptions, lengths: Sequence[int]) -> SearchRules:
    """The options as the engine's rules: see `decoding/limits.py` and `decoding/beam.py`.

    Args:
        lengths: of the sources, END counted, or of their Memories.
    """
    limits, penalty = options.limits, options.ranker.length_penalty
    longest = [limits.longest_of(length) for length in lengths]
    return SearchRules(
        options.beam, START, END, options.forbidden, options.minimum_length, longest,
        [1.0, *map(penalty, range(1, max(longest) + 3))],
        0 if options.patience is None else max(1, ceil(options.beam * options.patience)),
    )  # fmt: skip
