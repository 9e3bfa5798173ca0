"""A translation model as a callable object: it translates lines of text.

The line contract: N lines in, N lines out, in order. A line without a word stays empty; a line of
several sentences is cut after each, unless the model was trained on such lines, and a line longer
than those of its training at sentence ends (otherwise at commas, at spaces, or anywhere); the
segments are translated and joined. Whatever characters come in, no line break goes out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from jumok.alignment.aligner import Aligner
from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.attention.heard import is_heard, tell
from jumok.attention.observe import sites_of
from jumok.bundle.confidence import Calibration
from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import Tokenizer
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.beam import ReadAttention
from jumok.decoding.constraints import Constraints
from jumok.decoding.coverage import read_attention
from jumok.decoding.ensemble import Ensemble
from jumok.decoding.limits import Prefixes, heed
from jumok.decoding.score import score_pairs
from jumok.errors import BundleError, ConfigError, ModelError, Place
from jumok.kernels.linear import prepare_for_inference
from jumok.models.memory import Decoder, Memory, SequenceToSequence
from jumok.systems.base import FOUND, GIVEN, ROWS, Facts, Shown, at_work, loaded_from
from jumok.systems.device import DTYPES, PrecisionName, choose_device
from jumok.systems.given import texts_in
from jumok.systems.languages import WITHOUT_SPACES, language_code
from jumok.systems.loading import load_tokenizer, read_bundles, reading_of
from jumok.systems.reach import longest_part, positions_end
from jumok.systems.translation.documents import FileTranslator
from jumok.systems.translation.given_translations import GivenTranslations
from jumok.systems.translation.glossary import Glossary, as_glossary
from jumok.systems.translation.keeping import Keep, as_keep
from jumok.systems.translation.markup import Bare
from jumok.systems.translation.part_writer import PartWriter, written_text
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import (
    Segment,
    Split,
    check_lengths,
    cut_lines,
    cuts_sentences,
    forced_beginnings,
    join,
)

# A target of three tokens for each source token is longer than any language needs; the limit ends
# runaway repetition.
DEFAULTS = DecodingOptions(maximum_ratio=3.0)


class Translator(GivenTranslations, FileTranslator):
    """One model, or an ensemble of several with one tokenizer.

    Args:
        models: in evaluation mode, on one device.
        tokenizer: the one they were trained with.
        max_tokens: tokens of the longest segment that is translated at once.
        source_language, target_language: codes, which determine where sentences end, and whether
            they are joined with a space.
        sentences: the median number of sentences in a line of the training data; None: not known.
        longest_target: the maximum length of a target in tokens; None if positions set no limit.
        readings: the alignment setting of each model, None for one without attention; None instead
            of the list uses `default_setting`.
        calibration: that of the confidence; None: it is the models' own.

    Raises:
        ModelError: the vocabulary is not the tokenizer's.
    """

    task = "translation"
    models: Shown[list[SequenceToSequence]] = Shown()
    decoder: Shown[Decoder[Any]] = Shown()
    aligner: Shown[Aligner] = Shown()

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
        calibration: Calibration | None = None,
    ) -> None:
        for model in models:
            if model.decoder.vocabulary_size != tokenizer.size:
                raise ModelError(
                    "the tokenizer is not this model's.",
                    expected=f"{model.decoder.vocabulary_size} subwords",
                    got=f"{tokenizer.size} subwords",
                )
        self.models = list(models)
        self.tokenizer = tokenizer
        self.max_tokens, self.sentences = max_tokens, sentences
        self.source_language, self.target_language = source_language, target_language
        self.longest_target, self.calibration = longest_target, calibration
        measured = readings or [default_setting(len(model.cross_sites)) for model in models]
        self.aligner = Aligner(models, measured, tokenizer)
        decoders = [model.decoder for model in models]
        self.decoder = decoders[0] if len(decoders) == 1 else Ensemble(decoders)

    @property
    def on_torch(self) -> "Translator":
        """Itself; see `NativeTranslator.on_torch`."""
        return self

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.translate(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: PrecisionName = "fp32",
    ) -> "Translator":
        """The bundles in these folders; several become an ensemble.

        Args:
            device: "auto" is a GPU if there is one.
            precision: "bf16" is up to twice as fast on CPUs with native bfloat16.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or the bundles' tokenizers differ.
            ConfigError: the device does not exist.
        """
        bundles = read_bundles(folders, "translation")
        place = choose_device(device)
        tokenizers = [load_tokenizer(bundle) for bundle in bundles]
        for bundle, tokenizer in zip(bundles, tokenizers, strict=True):
            if tokenizer.hash != tokenizers[0].hash:
                raise BundleError(
                    "the models of an ensemble need one tokenizer.",
                    place=Place(bundle.folder),
                    expected=f"the tokenizer of {bundles[0].folder}",
                    do="train them on one tokenizer: tokenizer.path in the recipe",
                )
        models = [_load(bundle, place, DTYPES[precision]) for bundle in bundles]
        system = cls(
            models,
            tokenizers[0],
            max_tokens=min(map(longest_part, bundles)),
            source_language=bundles[0].config.source_language,
            target_language=bundles[0].config.target_language,
            sentences=min(filter(None, (one.config.sentences for one in bundles)), default=None),
            longest_target=min(filter(None, map(positions_end, bundles)), default=None),
            readings=list(map(_reading, bundles, models)),
            calibration=bundles[0].card.confidence if len(bundles) == 1 else None,
        )
        return loaded_from(system, bundles)

    def modules(self) -> Sequence[SequenceToSequence]:
        return self.models

    @at_work
    def translate(
        self,
        texts: Sequence[str],
        options: DecodingOptions = DEFAULTS,
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
        """A translation for each text, in order.

        Args:
            texts: any text; each counts as one line.
            options: everything about decoding.
            beam, nbest: replace those of `options` if given.
            alignments: extract word alignments from the attention, in one more pass; None from a
                model without attention.
            prefixes: the forced beginning of each translation; "" forces nothing.
            batch_size: sentences that are decoded together.
            split: where lines are cut: "auto" as the models were trained,
                "sentences" after each, "length" only where a line is too long, "none" never.
            keep: what of a source its translation must contain
                (`jumok.systems.translation.keeping`): True is markup, placeholders, addresses and
                numbers, False nothing; strings that match given regular expressions are kept as
                well.
            glossary: terms with their translations, or a file of them with a tab between.

        Raises:
            ConfigError: options contradict each other; a glossary is given with sampling, or while
                the search is recorded.
            DataError: one text was given instead of a list, or an item of the list is not a text; a
                glossary cannot be read or spelt; a line is not cut and is longer than the model's
                positions allow.
            ModelError: a prefix or a term cannot be forced.
        """
        texts = texts_in(texts)
        options = self._settled(options, beam, nbest)
        kept, terms = as_keep(keep), as_glossary(glossary)
        if is_heard(self, FOUND):  # a recording is of what the models write without constraints
            kept = None
            _refuse_glossary(terms)
        bare = Bare(texts, kept) if kept is not None and kept.usual else None
        lines = texts if bare is None else bare.texts
        parts = self.segments(lines, split)
        forced = forced_beginnings(parts, len(texts), prefixes, self.tokenizer)
        aligned = alignments or (bare is not None and bare.any)
        writer = self._writer(options, aligned, kept, terms)
        tell(self, GIVEN, len(texts))
        found = self._written(parts, writer, options, forced, batch_size)
        joint = "" if self.spaceless else " "
        joined = join(len(texts), parts, found, joint, None if options.sample else options.nbest)
        return joined if bare is None else bare.dressed(joined, alignments)

    def _written(
        self,
        parts: Sequence[Segment],
        writer: PartWriter,
        options: DecodingOptions,
        forced: Sequence[Sequence[int]] | None,
        batch_size: int,
    ) -> list[list[Translation]]:
        found: list[list[Translation]] = [[] for _ in parts]
        ids = [part.ids for part in parts]
        for batch in source_batches(ids, sentences=batch_size) if parts else ():
            heed()  # a search that is one call into C cannot be ended within it
            # Every batch has samples of its own, which are the same whenever it is decoded again.
            seeded = replace(options, seed=options.seed + batch.rows[0])
            prefix = None if forced is None else [forced[row] for row in batch.rows]
            here = [parts[row] for row in batch.rows]
            tell(self, ROWS, [part.line for part in here])
            translated = writer.write(here, self.read(batch), seeded, prefix)
            for row, translations in zip(batch.rows, translated, strict=True):
                found[row] = translations
        return found

    @property
    def spaceless(self) -> bool:
        """Whether the target language writes no spaces between words."""
        return language_code(self.target_language) in WITHOUT_SPACES

    def segments(self, lines: Sequence[str], split: Split = "auto") -> list[Segment]:
        """What is translated at once: the lines, cut as `translate` cuts them."""
        languages = self.source_language, self.target_language
        apart = cuts_sentences(split, languages, self.sentences)
        limit = None if split == "none" else self.max_tokens
        parts = cut_lines(lines, self.tokenizer, limit, apart, self.source_language)
        if split == "none":
            check_lengths(self.longest_target, [part.ids for part in parts])
        return parts

    def _writer(
        self,
        options: DecodingOptions,
        alignments: bool,
        keep: Keep | None,
        glossary: Glossary | None,
    ) -> PartWriter:
        if options.sample and glossary is not None:
            raise ConfigError(
                "a glossary needs search: sampling cannot follow it.",
                do="leave out --sample (sample=False), or the glossary",
            )

        def search(
            memory: Memory,
            options: DecodingOptions,
            prefixes: Prefixes | None,
            constraints: list[Constraints] | None,
        ) -> list[list[Hypothesis]]:
            same = partial(written_text, self.tokenizer) if options.nbest > 1 else None
            with self._coverage(options) as attention:
                found = decode(
                    self.decoder, memory, options, prefixes, attention, constraints, same
                )
            tell(self, FOUND, found)
            return found

        def score(memory: Memory, targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
            return score_pairs(self.decoder, memory, targets, options.ranker())

        return PartWriter(
            self.tokenizer, self.aligner, search, score, alignments,
            self.longest_target, self.spaceless, keep, glossary, self.calibration,
        )  # fmt: skip

    def translate_lines(
        self,
        lines: Iterable[str],
        options: DecodingOptions = DEFAULTS,
        *,
        alignments: bool = True,
        prefix: str = "",
        batch_size: int = 32,
        ahead: int = 16,
        split: Split = "auto",
        keep: bool | Sequence[str] = True,
        glossary: Glossary | Mapping[str, str] | Path | str | None = None,
    ) -> Iterator[Translation]:
        """Translates a stream of any length in order, with little of it in memory at once.

        Args:
            prefix: the forced beginning of every translation.
            ahead: batches that are read before the first is translated, so that lines of similar
                length can be batched together.
            split, keep, glossary: as in `translate`.
        """
        terms = as_glossary(glossary)
        stream = iter(lines)
        done = 0
        while chunk := list(islice(stream, ahead * batch_size)):
            yield from self.translate(
                chunk,
                replace(options, seed=options.seed + done),
                alignments=alignments,
                prefixes=[prefix] * len(chunk) if prefix else None,
                batch_size=batch_size,
                split=split,
                keep=keep,
                glossary=terms,
            )
            done += len(chunk)

    def _settled(
        self, options: DecodingOptions, beam: int | None, nbest: int | None
    ) -> DecodingOptions:
        longest = options.maximum_length
        if self.longest_target is not None:
            longest = min(longest, self.longest_target)
        return replace(
            options,
            beam=options.beam if beam is None else beam,
            nbest=options.nbest if nbest is None else nbest,
            maximum_length=longest,
        )

    def _coverage(self, options: DecodingOptions) -> AbstractContextManager[ReadAttention | None]:
        if not options.coverage_penalty:
            return nullcontext()
        self.check_alignments()
        models = nn.ModuleList(self.models)
        return read_attention(models, sites_of(models, "cross").__contains__)


def _load(bundle: Bundle, device: torch.device, dtype: torch.dtype) -> SequenceToSequence:
    model = load_model(bundle, str(device))
    if not isinstance(model, SequenceToSequence):
        raise BundleError("this model does not translate.", place=Place(bundle.folder))
    prepare_for_inference(model, dtype)
    return model


def _reading(bundle: Bundle, model: SequenceToSequence) -> AlignmentSetting | None:
    known = reading_of(bundle.config) if model.cross_sites else None
    return known or default_setting(len(model.cross_sites))


def _refuse_glossary(terms: Glossary | None) -> None:
    if terms is not None:
        raise ConfigError(
            "a search with a glossary cannot be recorded.",
            do="leave out the glossary inside of jumok.record",
        )
