"""Translations with what the model attended to, and their facts in JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import merge_words_without_torch
from jumok.errors import DataError
from jumok.serving.http.dialects.spans import Span, spans
from jumok.serving.http.refusals import RequestRefused
from jumok.serving.http.works import Translating
from jumok.systems.base import Facts
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

MOST_CELLS = 250_000
"""Weights in the attention of one text."""

DIGITS = 4

LAST = -1


@dataclass(frozen=True)
class Explained:
    """A translation with weights.

    Attributes:
        links: the weight of each link of the word alignment; None: not asked for, or the text was
            translated in several segments.
        attention: the layer, the head, and a matrix with a row for each token of the translation
            and a column for each of the source and for END; None: not asked for.
    """

    translation: Translation
    links: list[float] | None = None
    attention: Facts | None = None


@dataclass(frozen=True)
class Explaining:
    """Lines of text with what `return` asks for.

    Attributes:
        setting: the layer and the head of the attention that is returned; a layer of LAST is the
            last one. None: no attention is returned.
    """

    translating: Translating
    setting: AlignmentSetting | None = None

    def run(self, given: Sequence[tuple[str, str]]) -> list[Explained]:
        if not self.translating.alignments and self.setting is None:
            return [Explained(each) for each in self.translating.run(given)]
        with self.translating.system.at_work():  # where reading the models does not change them
            self.translating.system.check_alignments()
            self._check_layer()
            found = self.translating.run(given)
            texts = [text for text, _ in given]
            return [self._explained(*each) for each in zip(texts, found, strict=True)]

    def _check_layer(self) -> None:
        """Checks that the model has the layer.

        Raises:
            DataError: it has not.
        """
        layers = self._layers()
        if self.setting is not None and self.setting.layer >= layers:
            raise DataError(
                "the model has no such layer.",
                expected=f"a layer from 0 to {layers - 1}",
                got=str(self.setting.layer),
            )

    def _layers(self) -> int:
        return self.translating.system.searcher.layers

    def _explained(self, text: str, translation: Translation) -> Explained:
        system = self.translating.system
        alone = len(system.segments([text])) == 1 and bool(translation.tokens)
        if self.setting is not None and text.strip() and not alone:
            raise DataError(
                "attention is returned for a text of one sentence.",
                expected="each sentence as a text of its own",
                got="a text that was translated in several segments, or has no translation",
            )
        if not alone:
            return Explained(translation)
        links = self._links(system, translation) if self.translating.alignments else None
        if self.setting is None:
            return Explained(translation, links)
        layer = self._layers() - 1 if self.setting.layer < 0 else self.setting.layer
        head = "mean" if self.setting.head is None else self.setting.head
        matrix = self._attention(system, translation, replace(self.setting, layer=layer))
        facts: dict[str, object] = {"layer": layer, "head": head, "matrix": matrix}
        return Explained(translation, links, facts)

    def _links(self, system: Translator, translation: Translation) -> list[float] | None:
        source, target = _ids(system, translation)
        (weights,) = system.searcher.read([source]).attention([target])
        words = merge_words_without_torch(
            weights[:, : len(source)], *map(system.tokenizer.words, (source, target))
        )
        pairs = translation.alignment or ()
        if any(to >= words.shape[0] or of >= words.shape[1] for of, to in pairs):
            return None
        return [round(float(words[to, of]), DIGITS) for of, to in pairs]

    def _attention(
        self, system: Translator, translation: Translation, setting: AlignmentSetting
    ) -> list[list[float]]:
        columns = len(translation.source_tokens) + 1
        cells = len(translation.tokens) * columns
        if cells > MOST_CELLS:
            text = f"The attention of a text has at most {MOST_CELLS} weights; here: {cells}."
            raise RequestRefused(413, "attention_too_large", text, parameter="return")
        source, target = _ids(system, translation)
        (weights,) = system.searcher.read([source]).attention([target], setting)
        return [[round(weight, DIGITS) for weight in row] for row in weights.tolist()]


def _ids(system: Translator, translation: Translation) -> tuple[list[int], list[int]]:
    """The tokens of a source and of its translation."""
    ids = system.tokenizer.ids
    return ids(translation.source_tokens), ids(translation.tokens)


def translation_facts(text: str, explained: Explained, wanted: frozenset[str]) -> Facts:
    """What the own dialect returns of a translation.

    Args:
        text: the source, which spans refer to.
        wanted: the names in `return`.
    """
    found = explained.translation
    facts: Facts = {"text": found.text, "score": found.score}
    if "confidence" in wanted:
        facts["confidence"] = found.confidence
    if "tokens" in wanted:
        facts["tokens"] = _tokens(found.tokens, found.text, found.token_log_probabilities)
        facts["source_tokens"] = _tokens(found.source_tokens, text)
    if "alignment" in wanted:
        links: Sequence[float | None] = explained.links or [None] * len(found.alignment or ())
        pairs = zip(found.alignment or (), links, strict=True)
        facts["alignment"] = [[of, to, weight] for (of, to), weight in pairs]
    if explained.attention is not None:
        facts["attention"] = explained.attention
    if "alternatives" in wanted:
        facts["alternatives"] = [
            translation_facts(text, Explained(other), wanted - {"alternatives", "attention"})
            for other in found.alternatives
        ]
    return facts


def _tokens(pieces: Sequence[str], text: str, values: Sequence[float] | None = None) -> list[Facts]:
    """Tokens with their spans; null where the text is not what the tokens spell."""
    places: Sequence[Span | None] = spans(pieces, text) or [None] * len(pieces)
    facts: list[Facts] = []
    several = values is not None and len(values) > len(pieces) + 1  # more than one END
    known = values if values is not None and not several else ()
    for piece, place, value in zip_longest(pieces, places, known):
        if piece is None:  # END's value
            break
        start, end = place if place is not None else (None, None)
        facts.append({"piece": piece, "start": start, "end": end})
        if values is not None:
            facts[-1]["log_probability"] = value
    return facts
