"""A translator on the native engine, which hands what the engine does not do to one on torch.

The engine searches for the one best translation of segments. Lines whose translation needs more
(alignments, markup, a string of the source that the translation lacks, several translations,
sampling, a glossary, ...) are translated by `Translator`, which is loaded when the first such line
comes. In float32 both give the same translations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import ceil, floor
from pathlib import Path

import numpy as np

from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model, section_of
from jumok.config import TransformerConfig
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, Hypothesis
from jumok.engine.packing import Kind
from jumok.engine.searching import SearchRules
from jumok.engine.transformer import NativeTransformer, Places, missing
from jumok.errors import ConfigError, Place
from jumok.positions.sinusoidal import sinusoids
from jumok.systems.given import texts_in
from jumok.systems.languages import WITHOUT_SPACES, language_code
from jumok.systems.loading import load_tokenizer, read_bundles
from jumok.systems.reach import longest_part, positions_end
from jumok.systems.translation import keeping
from jumok.systems.translation.glossary import Glossary
from jumok.systems.translation.keeping import Keep, as_keep
from jumok.systems.translation.part_writer import Draft, translation_of, written_text
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import Segment, Split, cut_lines, cuts_sentences, join
from jumok.systems.translation.translator import DEFAULTS, Translator

FURTHEST = 4096
"""The longest target, in tokens, that the engine writes; sources are cut much earlier."""


@dataclass(frozen=True)
class LineRequest:
    """What a call of `translate_lines` asks for besides the options of decoding."""

    alignments: bool
    prefix: str
    batch_size: int
    split: Split
    keep: bool | Sequence[str]
    glossary: Glossary | Mapping[str, str] | Path | str | None


class NativeTranslator:
    """One Transformer, on the engine.

    Args:
        kind: the number format of the engine's weights.

    Attributes:
        left: the number of lines that were left to torch.

    Raises:
        ConfigError: the engine does not serve this model.
        BundleError: it does not translate.
    """

    def __init__(self, bundle: Bundle, kind: Kind = "fp32") -> None:
        config = section_of(bundle)
        if not isinstance(config, TransformerConfig):
            raise _not_served(bundle, f"kind = {bundle.config.model.get('kind')!r}")
        lacking = missing(config)
        if lacking is not None:
            raise _not_served(bundle, lacking)
        self.left = 0
        self.bundle, self.tokenizer = bundle, load_tokenizer(bundle)
        self.max_tokens, self.longest_target = longest_part(bundle), positions_end(bundle)
        model = load_model(bundle)  # checks every tensor, and gives float32 whatever is stored
        weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        places = position_vectors(config, weights)
        self.engine = NativeTransformer(config, weights, places, kind)

    @classmethod
    def load(cls, *folders: Bundle | Path | str, kind: Kind = "fp32") -> "NativeTranslator":
        """The translator of the bundle in this folder."""
        bundles = read_bundles(folders, "translation")
        if len(bundles) != 1:
            raise ConfigError(
                "the native engine runs one model, not an ensemble.", do="--engine torch"
            )
        return cls(bundles[0], kind)

    @cached_property
    def on_torch(self) -> Translator:
        """The same model on torch."""
        return Translator.load(self.bundle, device="cpu")

    def check_alignments(self) -> None:
        """Every model that the engine serves has attention."""

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
        """As `Translator.translate_lines`."""
        stream, done = iter(lines), 0
        wanted = LineRequest(alignments, prefix, batch_size, split, keep, glossary)
        while chunk := list(islice(stream, ahead * batch_size)):
            seeded = replace(options, seed=options.seed + done)
            done += len(chunk)
            if _served(options) and not (alignments or prefix or glossary):
                yield from self._chunk(chunk, seeded, wanted)
            else:
                yield from self._left(chunk, seeded, wanted)

    def _left(
        self, lines: Sequence[str], options: DecodingOptions, wanted: LineRequest
    ) -> list[Translation]:
        """The translations of lines that are left to torch."""
        self.left += len(lines)
        return self.on_torch.translate(
            lines,
            options,
            alignments=wanted.alignments,
            prefixes=[wanted.prefix] * len(lines) if wanted.prefix else None,
            batch_size=wanted.batch_size,
            split=wanted.split,
            keep=wanted.keep,
            glossary=wanted.glossary,
        )

    def _chunk(
        self, chunk: Sequence[str], options: DecodingOptions, wanted: LineRequest
    ) -> list[Translation]:
        texts, keep, config = texts_in(chunk), as_keep(wanted.keep), self.bundle.config
        languages = config.source_language, config.target_language
        apart = cuts_sentences(wanted.split, languages, config.sentences)
        limit = None if wanted.split == "none" else self.max_tokens
        parts = cut_lines(texts, self.tokenizer, limit, apart, config.source_language)
        reach = self.engine.positions
        if reach is not None and any(len(part.ids) >= reach for part in parts):
            return self._left(texts, options, wanted)  # which reports or computes it
        found = self._written(parts, options, wanted.batch_size)
        joint = "" if language_code(config.target_language) in WITHOUT_SPACES else " "
        translations = join(len(texts), parts, [[each] for each in found], joint, 1)
        again = [
            row
            for row, (text, translation) in enumerate(zip(texts, translations, strict=True))
            if keep is not None and _lacks(keep, text, translation.text)
        ]
        better = self._left([texts[row] for row in again], options, wanted) if again else []
        for row, translation in zip(again, better, strict=True):
            translations[row] = translation
        return translations

    def _written(
        self, parts: Sequence[Segment], options: DecodingOptions, batch_size: int
    ) -> list[Translation]:
        """The best translation of each segment; segments of similar length are read together."""
        order = sorted(range(len(parts)), key=lambda row: len(parts[row].ids))
        found: list[Translation | None] = [None] * len(parts)
        ranker = options.ranker()
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            sources = [[*parts[row].ids, END] for row in rows]
            rules = self.rules(options, sources)
            for row, written in zip(rows, self.engine.search(sources, rules), strict=True):
                hypothesis = ranker.rate(written.tokens, written.log_probabilities)
                found[row] = self._translation(parts[row], hypothesis)
        return [each for each in found if each is not None]

    def _translation(self, part: Segment, hypothesis: Hypothesis) -> Translation:
        text = written_text(self.tokenizer, hypothesis.tokens)
        return translation_of(self.tokenizer, part.ids, Draft(hypothesis, text))

    def rules(self, options: DecodingOptions, sources: Sequence[Sequence[int]]) -> SearchRules:
        """The rules of `decoding/limits.py` and `decoding/beam.py` for these sources."""
        most = min(options.maximum_length, self.longest_target or FURTHEST)
        longest = [most] * len(sources)
        if options.maximum_ratio is not None:
            least = max(options.minimum_length, 1)
            by_source = (
                floor(options.maximum_ratio * len(each)) + options.maximum_extra for each in sources
            )
            longest = [min(max(each, least), most) for each in by_source]
        penalty = options.ranker().length_penalty
        return SearchRules(
            options.beam, START, END, options.forbidden, options.minimum_length, longest,
            [1.0, *map(penalty, range(1, max(longest) + 3))],
            0 if options.patience is None else max(1, ceil(options.beam * options.patience)),
        )  # fmt: skip


def _served(options: DecodingOptions) -> bool:
    """Whether the engine searches with these options."""
    return not (
        options.sample
        or options.nbest > 1
        or options.coverage_penalty
        or options.no_repeat_ngram
        or options.maximum_length > FURTHEST
    )


def _lacks(keep: Keep, source: str, target: str) -> bool:
    """Whether a translation has to be made again, with all that torch can do."""
    if keep.usual and "<" in source:  # it may hold markup, which the alignment places
        return True
    kept = keep.find(source)
    return bool(kept) and bool(keeping.missing(kept, target) or keeping.surplus(kept, target))


def position_vectors(
    config: TransformerConfig, weights: Mapping[str, np.ndarray], length: int = FURTHEST + 2
) -> tuple[Places, Places] | None:
    """The vectors of positions of sources and of targets, of `length` where they are computed."""
    if config.positions == "none":
        return None
    if config.positions == "sinusoidal":
        table = sinusoids(length, config.dim).numpy()
        return table, table
    name = "embedding.positions.encoding.table"
    return weights[f"encoder.{name}"], weights[f"decoder.{name}"]


def _not_served(bundle: Bundle, lacking: str) -> ConfigError:
    return ConfigError(
        "the native engine does not run this model.",
        got=lacking,
        do="--engine torch",
        place=Place(bundle.folder),
    )
