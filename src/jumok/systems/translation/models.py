"""The models of a Translator, on the native engine or on torch, and what they say of translations
that are given. Importing this imports no torch.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, SupportsIndex

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.alignment.words import links, merge_words
from jumok.attention.events import emit
from jumok.bundle.card import BundleConfig, Pair
from jumok.bundle.reading import Bundle
from jumok.config.section import ModelSection
from jumok.data.pairs.rows import batched_rows
from jumok.data.tokenizer import END, Tokenizer, normalize, plain_words
from jumok.decoding.rank import Ranker
from jumok.engine.native import NativeModel
from jumok.engine.running import RunningBatch
from jumok.engine.transformer import NativeTransformer
from jumok.errors import BundleError, DataError, Location, ModelError
from jumok.systems.base import GIVEN, ROWS, Contents, numbered
from jumok.systems.device import precision_name
from jumok.systems.embedding import SourceReader
from jumok.systems.given import text_of, texts_in
from jumok.systems.loading import reading_of
from jumok.systems.native.beside_torch import BesideTorch
from jumok.systems.native.models import (
    lacking,
    looks_of,
    native_copy,
    native_model,
    weights_of,
)
from jumok.systems.translation.judging import Judge
from jumok.systems.translation.kept.edges import core
from jumok.systems.translation.kept.icu import Messages
from jumok.systems.translation.kept.keeping import Keep, as_keep
from jumok.systems.translation.kept.letter_case import LetterCase
from jumok.systems.translation.kept.markup import Bare
from jumok.systems.translation.languages import asking, chosen_pair, tokenizer_between
from jumok.systems.translation.on_engine import EngineSearcher
from jumok.systems.translation.result import (
    Draft,
    Translation,
    WordAttention,
    translation_of,
    written_text,
)
from jumok.systems.translation.scoring import GivenPairs, divide, otherwise
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.segments import (
    Segment,
    Split,
    check_lengths,
    cut_lines,
    cuts_sentences,
    join,
)
from jumok.systems.translation.sentences import WITHOUT_SPACES, language_code

if TYPE_CHECKING:
    import torch

    from jumok.alignment.extract import Aligner
    from jumok.data.pairs.batches import SourceBatch
    from jumok.models.memory import SequenceToSequence
    from jumok.shapes import Float


_CHOOSING = threading.Lock()


class TranslationModels(BesideTorch[EngineSearcher], SourceReader):
    """What a Translator computes with.

    Attributes:
        models: on torch.
        readings: the alignment setting of each model; None for one without attention.
        pairs: the pairs of languages that they translate; of several one has to be chosen
            (`between`).
    """

    readings: list[AlignmentSetting | None]
    longest_target: int | None
    source_language: str
    target_language: str
    pairs: tuple[Pair, ...]
    sentences: int | None
    judge: Judge
    _held: Aligner
    _seen: Contents | None = None
    _config: BundleConfig
    _whole_tokenizer: Tokenizer
    _views: dict[Pair, Self]
    _of: Self | None = None
    """The system of all pairs of languages that these models are of; None: this one."""

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
        if self._of is not None:
            return replace(self._of._aligner, tokenizer=self.tokenizer)
        self._load_on_torch()
        return self._held

    def between(self, source: str = "", target: str = "") -> Self:
        """The same models for one of their pairs of languages.

        Args:
            source, target: codes; "" is any, if only one pair has the other.

        Raises:
            ConfigError: there is no such pair, or there are several.
        """
        pair = chosen_pair(self.pairs, source, target)
        if pair == (self.source_language, self.target_language):
            return self
        whole = self._of or self
        with _CHOOSING:
            if pair not in whole._views:
                view = type(self).__new__(type(self))
                view.__dict__.update(whole.__dict__, _of=whole)
                view._choose(pair)
                whole._views[pair] = view
        return whole._views[pair]

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        if self._of is None:
            return super().__reduce_ex__(protocol)
        return type(self).between, (self._of, self.source_language, self.target_language)

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "_views": {}}

    def _choose(self, pair: Pair | None) -> None:
        config = self._config
        self.tokenizer = tokenizer_between(
            self._whole_tokenizer, config.languages, pair, asking(config)
        )
        self.source_language, self.target_language = pair or ("", "")
        self.judge = replace(self.judge, languages=pair or ("", ""))

    @property
    def _exposed(self) -> Contents | None:
        """One for all pairs: a change to the models is one for each of them."""
        return self._seen if self._of is None else self._of._exposed

    @_exposed.setter
    def _exposed(self, contents: Contents | None) -> None:
        if self._of is None:
            self._seen = contents
        else:
            self._of._exposed = contents

    def _hold(
        self,
        models: Sequence[SequenceToSequence],
        readings: Sequence[AlignmentSetting | None],
    ) -> None:
        self.readings = list(readings)
        from jumok.alignment.extract import Aligner

        self._held = Aligner(models, readings, self.tokenizer)

    def _begin_natively(self, bundles: Sequence[Bundle]) -> None:
        layers = [looks_of(bundle.section) for bundle in bundles]
        self.readings, self._unread = list(map(_alignment_setting, bundles, layers)), tuple(bundles)
        models = [native_model(bundle, self._precision) for bundle in bundles]
        self._search_with(models, layers)

    def _search_with(self, models: Sequence[NativeModel], layers: Sequence[int]) -> None:
        self._engine = EngineSearcher(
            models, self.tokenizer, layers, self.readings, lambda: self.on_torch
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
        models = [
            native_copy(config, weights_of(model), self._precision)
            for config, model in zip(configs, self._models, strict=True)
        ]
        self._search_with(models, list(map(looks_of, configs)))
        return True

    def _hold_bundles(
        self, bundles: Sequence[Bundle], device: torch.device, dtype: torch.dtype
    ) -> None:
        models = [_load(bundle, device, dtype) for bundle in bundles]
        layers = [len(model.cross_sites) for model in models]
        self._hold(models, list(map(_alignment_setting, bundles, layers)))

    @property
    def searcher(self) -> Searcher:
        """What computes now: the native engine, or torch where a change or a listener may be."""
        return self.engine or self.on_torch

    @property
    def on_torch(self) -> Searcher:
        """Its models on torch."""
        from jumok.systems.translation.on_torch import TorchSearcher

        return TorchSearcher(self, self._aligner)

    def search_together(self) -> RunningBatch | None:
        """From now on the searches of all threads are made in one batch: see `NativeModel`.

        None: torch computes, or several models, which make every search by itself.
        """
        if self._engine is None or len(self._engine.models) > 1:
            return None
        return self._engine.models[0].search_together()

    def _states(self, batch: SourceBatch) -> Float[torch.Tensor, "batch length dim"]:
        engine = self.engine
        first = None if engine is None else engine.models[0]
        if not isinstance(first, NativeTransformer):
            return super()._states(batch)
        import torch

        states = first.states([row[: row.index(END) + 1] for row in batch.tokens.tolist()])
        return torch.nn.utils.rnn.pad_sequence(list(map(torch.from_numpy, states)), True)

    @property
    def aligns(self) -> bool:
        """Whether any model has attention to extract alignments from."""
        return any(reading is not None for reading in self.readings)

    def _modules(self) -> Sequence[SequenceToSequence]:
        return self._models

    @property
    def spaceless(self) -> bool:
        """Whether the target language writes no spaces between words."""
        return language_code(self.target_language) in WITHOUT_SPACES

    def segments(
        self, lines: Sequence[str], split: Split = "auto", keep: Keep | None = None
    ) -> list[Segment]:
        """The lines, cut and read as `translate` does; None: with everything in them."""
        languages = self.source_language, self.target_language
        apart = cuts_sentences(split, languages, self.sentences)
        limit = None if split == "none" else self.max_tokens
        usual = self.judge.profile.cases if self.judge.profile else ()
        rule = LetterCase(self.tokenizer.plain, keep, self.source_language, usual) if keep else None
        how = (core, rule.read) if rule else (None, None)
        parts = cut_lines(lines, self.tokenizer, limit, apart, self.source_language, *how)
        if split == "none":
            check_lengths(self.longest_target, [part.ids for part in parts])
        return parts

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        batch_size: int = 32,
        split: Split = "auto",
        keep: bool = True,
    ) -> list[Translation]:
        """The log-probabilities of each token and END of given translations.

        They are those of `translate` for the same text and tokens: a line that it cuts into
        segments has the sum over them, each with its END, if the translation has as many sentences;
        otherwise the pair is scored whole. Signs at the edges and tags are left out.

        Args:
            split, keep: as in `translate`; "none" and False score every pair whole.

        Raises:
            DataError: the numbers of sources and targets differ, a line is longer than the model
                can read, or something is not a list of texts.
        """
        sources, targets = texts_in(sources, "sources"), texts_in(targets, "targets")
        given = self.divided(sources, targets, split, keep)
        parts = given.parts
        emit(self, GIVEN, len(sources))
        searcher, ranker = self.searcher, Ranker(given=len(self.tokenizer.target.opening))
        scored = [[Translation(part.text)] for part in parts]  # as it is where nothing is read
        rows_scored = [row for row, part in enumerate(parts) if part.ids or given.targets[row]]
        read = [parts[row].ids for row in rows_scored]
        numbers = numbered([part.line for part in parts])
        for places in batched_rows(read, batch_size):
            rows = [rows_scored[place] for place in places]
            emit(self, ROWS, [parts[row].line for row in rows], [numbers[row] for row in rows])
            batch = searcher.read([parts[row].ids for row in rows])
            hypotheses = batch.score([given.targets[row] for row in rows], ranker)
            for row, hypothesis in zip(rows, hypotheses, strict=True):
                draft = Draft(hypothesis, written_text(self.tokenizer, hypothesis.tokens))
                scored[row] = [translation_of(self.tokenizer, parts[row].ids, draft)]
        return join(len(sources), parts, scored, "" if self.spaceless else " ", 1)

    def divided(
        self, sources: Sequence[str], targets: Sequence[str], split: Split, keep: bool
    ) -> GivenPairs:
        """The pairs in the segments that `score` scores; see there."""
        if len(sources) != len(targets):
            raise DataError(
                "every source needs its target.",
                expected=f"{len(sources):,} targets",
                got=f"{len(targets):,}",
            )
        bare = (Bare(sources).texts, Bare(targets).texts) if keep else (sources, targets)
        parts = self.segments(bare[0], split, as_keep(keep))
        messages = Messages.of(sources, keep).messages
        given = divide(parts, *bare, self.tokenizer, self.target_language, messages)
        check_lengths(self.longest_target, *given.longest())
        return given

    def otherwise(self, lines: Sequence[str]) -> int:
        """The number of lines that `translate` cuts, or parts of which it keeps."""
        return len(otherwise(lines, self.segments(Bare(lines).texts, keep=Keep())))

    def attention(self, source: str, target: str) -> WordAttention:
        """How much each word of `target` attended to each word of `source`.

        Raises:
            DataError: a text has no word, or is longer than the model can read.
            ModelError: the model has no attention.
        """
        self.check_alignments()
        source, target = text_of(source, "source"), text_of(target, "target")
        read, write = self.tokenizer.encode(source), self.tokenizer.target.encode(target)
        if not read or not write:
            raise DataError("attention needs a word on both sides.", got=repr((source, target)))
        check_lengths(self.longest_target, [read], [write])
        emit(self, GIVEN, 1)
        emit(self, ROWS, [0])
        (weights,) = self.searcher.read([read]).attention([write])
        words = merge_words(
            weights[:, : len(read)], self.tokenizer.words(read), self.tokenizer.words(write)
        )
        source_words, target_words = map(plain_words, (normalize(source), normalize(target)))
        import torch

        return WordAttention(
            tuple(source_words), tuple(target_words), torch.from_numpy(words), tuple(links(words))
        )

    def check_alignments(self) -> None:
        """Raises ModelError if there is no attention to extract alignments from."""
        if not self.aligns:
            raise ModelError(
                "this model has no attention: it reads a whole sentence as one vector.",
                expected="attention over the source",
                do="use a model with attention, or leave alignments out",
            )


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


def _alignment_setting(bundle: Bundle, layers: int) -> AlignmentSetting | None:
    return (reading_of(bundle.config) if layers else None) or default_setting(layers)
