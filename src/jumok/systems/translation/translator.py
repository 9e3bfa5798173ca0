"""Translation system: it translates lines of text.

The line contract: N lines in, N lines out, in order. A line without a word stays empty; a line of
several sentences is cut after each, unless the model was trained on such lines, and a line longer
than those of its training at sentence ends (otherwise at commas, at spaces, or anywhere); the
segments are translated and joined. Whatever characters come in, no line break goes out.

Importing this imports no torch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.attention.events import emit, has_listeners
from jumok.bundle.card import Pair, pairs_text
from jumok.bundle.profile import Profile
from jumok.bundle.reading import Bundle
from jumok.computation import check_cancelled
from jumok.data.pairs.rows import batched_rows
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions
from jumok.decoding.limits import Prefixes
from jumok.decoding.options import FOR_TRANSLATION
from jumok.documents.segment import with_spaces
from jumok.errors import BundleError, Location, ModelError
from jumok.systems.base import COPIED, FOUND, GIVEN, ROWS, Facts, known_origin
from jumok.systems.device import EngineName, EnginePrecision, choose_device, cores, dtype_of
from jumok.systems.given import texts_in
from jumok.systems.loading import load_tokenizer, longest_of, longest_part, read_bundles
from jumok.systems.native.beside_torch import each_batch
from jumok.systems.native.models import choose_engine, engine_serves
from jumok.systems.translation.cutting import CutLines, found_of
from jumok.systems.translation.documents import FileTranslator
from jumok.systems.translation.drafts import Drafting
from jumok.systems.translation.judging import Judge
from jumok.systems.translation.kept.icu import Messages
from jumok.systems.translation.kept.keeping import as_keep
from jumok.systems.translation.kept.markup import Bare
from jumok.systems.translation.models import TranslationModels
from jumok.systems.translation.part_writer import PartWriter
from jumok.systems.translation.result import Translation
from jumok.systems.translation.searching import Searcher
from jumok.systems.translation.segments import Split, forced_beginnings
from jumok.systems.translation.sentences import language_code
from jumok.systems.translation.terms.glossary import Glossary, as_glossary

if TYPE_CHECKING:
    from jumok.models.memory import SequenceToSequence

_COUNTING = threading.Lock()


class Translator(TranslationModels, FileTranslator):
    """A translation model, or an ensemble of models with one tokenizer.

    Attributes:
        models: the models on torch. With the native engine they are loaded at the first access;
            once they are hooked or changed, torch computes with their current state.
        left: the number of lines that the native engine passed to torch.
        long_words: the number of strings longer than any word, which were copied.
        judge: computes the confidence of translations, and warnings about them.

    Args:
        models: in evaluation mode, on one device.
        tokenizer: the tokenizer of their training.
        max_tokens: the maximum length of a segment in tokens.
        source_language, target_language: a language code such as "en", by which sentence ends are
            found and sentences joined with or without a space.
        sentences: the median number of sentences in a line of the training data; None: unknown.
        longest_target: the maximum length of a target in tokens; None if positions set no limit.
        readings: the alignment setting of each model, None for a model without attention. None
            instead of the list: `default_setting`.
        profile: the profile of the training data; None: unknown.

    Raises:
        ModelError: the vocabulary differs from the tokenizer's.
    """

    task = "translation"
    left = 0
    long_words = 0
    threads = 1

    def __init__(
        self,
        models: Sequence[SequenceToSequence],
        tokenizer: Tokenizer,
        *,
        max_tokens: int,
        source_language: str = "",
        target_language: str = "",
        sentences: int | None = None,
        longest_target: int | None = None,
        readings: Sequence[AlignmentSetting | None] | None = None,
        profile: Profile | None = None,
    ) -> None:
        for model in models:
            if model.decoder.vocabulary_size != tokenizer.size:
                raise ModelError(
                    "the tokenizer is not this model's.",
                    expected=f"{model.decoder.vocabulary_size} subwords",
                    got=f"{tokenizer.size} subwords",
                )
        self.tokenizer = tokenizer
        self.max_tokens, self.sentences = max_tokens, sentences
        self.source_language, self.target_language = source_language, target_language
        self.pairs: tuple[Pair, ...] = ((source_language, target_language),)
        self.longest_target = longest_target
        self.judge = Judge((source_language, target_language), profile)
        self._hold(
            models, readings or [default_setting(len(model.cross_sites)) for model in models]
        )

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.translate(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        engine: EngineName = "auto",
        threads: int = 0,
    ) -> Translator:
        """Loads the bundles in these folders; several become an ensemble.

        The arguments are those of `jumok.load`; each thread of the native engine translates a
        batch.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or the tokenizers of the bundles
                differ.
            ConfigError: the device does not exist, or the engine does not support the model.
        """
        bundles = read_bundles(folders, "translation")
        choice = choose_engine(bundles, device, precision, engine)
        tokenizers = [load_tokenizer(bundle) for bundle in bundles]
        for bundle, tokenizer in zip(bundles, tokenizers, strict=True):
            if tokenizer.hash != tokenizers[0].hash:
                raise BundleError(
                    "the models of an ensemble need one tokenizer.",
                    place=Location(bundle.folder),
                    expected=f"the tokenizer of {bundles[0].folder}",
                    do="train them on one tokenizer: tokenizer.path in the recipe",
                )
            if bundle.config.languages != bundles[0].config.languages:
                raise BundleError(
                    "the models of an ensemble need the same languages.",
                    place=Location(bundle.folder),
                    expected=pairs_text(bundles[0].config.every_pair),
                    got=pairs_text(bundle.config.every_pair),
                )
        system = cls.__new__(cls)
        first = bundles[0].config
        system._whole_tokenizer, system._config = tokenizers[0], first
        system.pairs, system._views = first.every_pair, {}
        system.max_tokens = min(map(longest_part, bundles))
        calibration = bundles[0].card.confidence if len(bundles) == 1 else None
        system.judge = Judge(system.pairs[0], first.profile, calibration)
        system._choose(system.pairs[0] if len(system.pairs) == 1 else None)
        system.sentences = min(
            filter(None, (one.config.sentences for one in bundles)), default=None
        )
        limits = (longest_of(bundle.section) for bundle in bundles)
        system.longest_target = min(filter(None, limits), default=None)
        system.threads, system._precision = threads or cores(), choice.precision
        if choice.native:
            system._begin_natively(bundles)
        else:
            system._read_models(bundles, choose_device(device), dtype_of(choice.torch_precision))
        given = {"device": device, "precision": precision, "engine": engine, "threads": threads}
        return known_origin(system, bundles, **given)

    def translate(
        self,
        texts: Sequence[str],
        options: DecodingOptions = FOR_TRANSLATION,
        *,
        beam: int | None = None,
        nbest: int | None = None,
        alignments: bool = True,
        prefixes: Sequence[str] | None = None,
        batch_size: int = 32,
        split: Split = "auto",
        keep: bool | Sequence[str] = True,
        glossary: Glossary | Mapping[str, str] | Path | str | None = None,
    ) -> list[Translation]:
        """Translates each text, in order.

        Args:
            texts: any text; each counts as one line.
            beam, nbest: override the values in `options`.
            alignments: extract word alignments from the attention, in one more pass; None from a
                model without attention.
            prefixes: the forced beginning of each translation; "" forces nothing.
            split: split lines into segments: "auto" as in the training data, "sentences" after each
                sentence, "length" only if they are too long, "none" never.
            keep: the source strings that the translation must contain: True keeps markup,
                placeholders, addresses, numbers and signs at the edges
                (`jumok.systems.translation.kept`), False nothing; regular expressions keep their
                matches as well.
            glossary: terms with their translations, or a tab-separated file of them.

        Raises:
            ConfigError: options contradict each other.
            DataError: not a list of texts; a glossary cannot be read; a line is not split and is
                longer than the positions allow.
            ModelError: a prefix cannot be forced; a coverage penalty without attention.
        """
        cut = self.cut(texts_in(texts), split, keep)
        count = len(cut.messages.texts)
        begun = cut.messages.prefixes(prefixes)
        forced = forced_beginnings(cut.parts, count, begun, self.tokenizer)
        options, terms = self.settled(options, beam, nbest), as_glossary(glossary)
        written = self.write(
            cut, options, forced, batch_size, alignments=alignments or cut.tagged, terms=terms
        )
        return cut.joined(written, None if options.sample else options.nbest, alignments)

    def cut(
        self, texts: Sequence[str], split: Split = "auto", keep: bool | Sequence[str] = True
    ) -> CutLines:
        """The lines as segments, as `translate` gives them to the models."""
        given = [with_spaces(text) for text in texts]
        messages, kept = Messages.of(given, read=keep is not False), as_keep(keep)
        bare = Bare(messages.texts, kept) if kept is not None and kept.usual else None
        lines = messages.texts if bare is None else bare.texts
        parts = self.segments(lines, split, kept)
        return CutLines(messages, bare, parts, kept, "" if self.spaceless else " ")

    def write(
        self,
        cut: CutLines,
        options: DecodingOptions,
        forced: Prefixes | None,
        batch_size: int = 32,
        *,
        alignments: bool = False,
        terms: Glossary | None = None,
    ) -> list[list[Translation]]:
        """The translations of each segment.

        Args:
            options: as `settled` returns them.
            forced: the forced first tokens of each translation; None: nothing is forced.
        """
        drafting = Drafting(
            self.tokenizer, options.ranker, self.aligns, self.longest_target,
            language_code(self.target_language), self.spaceless, self.judge,
        )  # fmt: skip
        writer = PartWriter(drafting, alignments, cut.keep, terms)
        parts, lines, numbers = cut.parts, cut.lines, cut.numbers
        searcher, recorded = self.searcher_for(options), has_listeners(self, FOUND)
        left = set[int]()
        if searcher.name == "torch" and self.searcher.name == "native":
            left.update(lines)
        # Each sample of a line has all of its segments.
        copies = options.nbest if options.sample else 1
        written = [[] if part.ids else [part.copied] * copies for part in parts]
        rows_read = [row for row, part in enumerate(parts) if part.ids]

        def write(rows: list[int]) -> None:
            check_cancelled()  # a search that is one call into C cannot be ended within it
            # Every batch has samples of its own, which are the same whenever it is decoded again.
            seeded = options.seeded(rows[0])
            prefix = None if forced is None else [forced[row] for row in rows]
            here = [parts[row] for row in rows]
            emit(self, ROWS, [lines[row] for row in rows], [numbers[row] for row in rows])
            read = searcher.read([part.ids for part in here])
            drafts = writer.write(here, searcher, read, seeded, prefix)
            if recorded:
                emit(self, FOUND, *found_of(here, drafts))
            translated = writer.translations(here, read, drafts)
            for row, translations in zip(rows, translated, strict=True):
                written[row] = translations
            left.update(lines[rows[row]] for row in read.left)

        emit(self, GIVEN, len(cut.messages.lines))
        for copy in cut.copies if recorded else ():
            emit(self, COPIED, *copy)
        batches = [
            [rows_read[place] for place in places]
            for places in batched_rows([parts[row].ids for row in rows_read], batch_size)
        ]
        several = searcher.name == "native" and not recorded
        each_batch(batches, write, self.threads if several else 1)
        with _COUNTING:
            self.left += len(left)
            self.long_words += sum(part.is_long_word for part in parts)
        return written

    def searcher_for(self, options: DecodingOptions) -> Searcher:
        """The searcher for these options, in the current state of the models."""
        engine = self.engine
        if self._precision != "fp32" and has_listeners(self, FOUND):
            # With weights in float32 torch would find other translations than are recorded.
            engine = self._engine_unheard
        return engine if engine is not None and engine_serves(options) else self.on_torch

    @classmethod
    def load_on(
        cls,
        engine: EngineName,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: EnginePrecision = "auto",
        threads: int = 0,
    ) -> Translator:
        """Like `load`, with the engine as the first argument."""
        return cls.load(
            *folders, device=device, precision=precision, engine=engine, threads=threads
        )

    def translate_lines(
        self,
        lines: Iterable[str],
        options: DecodingOptions = FOR_TRANSLATION,
        *,
        alignments: bool = True,
        prefix: str = "",
        batch_size: int = 32,
        ahead: int = 16,
        split: Split = "auto",
        keep: bool | Sequence[str] = True,
        glossary: Glossary | Mapping[str, str] | Path | str | None = None,
    ) -> Iterator[Translation]:
        """Translates a stream of any length in order, with only a part of it in memory.

        Args:
            prefix: the forced beginning of every translation.
            ahead: the number of batches read before the first is translated, so that lines of
                similar length can share a batch.
            split, keep, glossary: as in `translate`.
        """
        terms = as_glossary(glossary)
        stream = iter(lines)
        done = 0
        while chunk := list(islice(stream, ahead * batch_size)):
            yield from self.translate(
                chunk,
                options.seeded(done),
                alignments=alignments,
                prefixes=[prefix] * len(chunk) if prefix else None,
                batch_size=batch_size,
                split=split,
                keep=keep,
                glossary=terms,
            )
            done += len(chunk)

    def settled(
        self, options: DecodingOptions, beam: int | None = None, nbest: int | None = None
    ) -> DecodingOptions:
        """The options with `beam` and `nbest`, and with the maximum length of the models."""
        if options.coverage_penalty:
            self.check_alignments()
        longest = options.maximum_length
        if self.longest_target is not None:
            longest = min(longest, self.longest_target)
        given = len(self.tokenizer.target.opening)
        settled = options.maximum_length, options.given
        if beam is None and nbest is None and settled == (longest, given):
            return options
        return replace(
            options,
            beam=options.beam if beam is None else beam,
            nbest=options.nbest if nbest is None else nbest,
            maximum_length=longest,
            given=given,
        )
