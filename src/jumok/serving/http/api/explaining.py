"""Translations with attention, as JSON."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest

from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import merge_words
from jumok.data.tokenizer import SPACE, normalize
from jumok.errors import DataError
from jumok.serving.http.handlers import TranslateHandler
from jumok.serving.http.refusals import RequestRefused
from jumok.systems.base import Facts
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator

TextSpan = tuple[int, int]
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

MOST_WEIGHTS = 250_000
"""Weights in the attention of one text."""

WEIGHT_DIGITS = 4

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
class ExplainHandler:
    """Lines of text with what `return` asks for.

    Attributes:
        setting: the layer and the head of the attention that is returned; a layer of LAST is the
            last one. None: no attention is returned.
    """

    translating: TranslateHandler
    setting: AlignmentSetting | None = None

    def run(self, given: Sequence[tuple[str, str]]) -> list[Explained]:
        self.translating.system.check_alignments()
        self._check_layer()
        translations = self.translating.run(given)
        texts = [text for text, _ in given]
        return [self._explained(*each) for each in zip(texts, translations, strict=True)]

    def _check_layer(self) -> None:
        """Checks that the model has the layer."""
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
        required = self.translating.required
        parts = system.cut([text], required.split, required.arguments["keep"]).parts
        alone = len(parts) == 1 and bool(translation.tokens)
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
        words = merge_words(
            weights[:, : len(source)], *map(system.tokenizer.words, (source, target))
        )
        pairs = translation.alignment or ()
        if any(to >= words.shape[0] or of >= words.shape[1] for of, to in pairs):
            return None
        return [round(float(words[to, of]), WEIGHT_DIGITS) for of, to in pairs]

    def _attention(
        self, system: Translator, translation: Translation, setting: AlignmentSetting
    ) -> list[list[float]]:
        columns = len(translation.source_tokens) + 1
        cells = len(translation.tokens) * columns
        if cells > MOST_WEIGHTS:
            text = f"The attention of a text has at most {MOST_WEIGHTS} weights; here: {cells}."
            raise RequestRefused(413, "attention_too_large", text, parameter="return")
        source, target = _ids(system, translation)
        (weights,) = system.searcher.read([source]).attention([target], setting)
        return [[round(weight, WEIGHT_DIGITS) for weight in row] for row in weights.tolist()]


def _ids(system: Translator, translation: Translation) -> tuple[list[int], list[int]]:
    """The tokens of a source and of its translation."""
    ids = system.tokenizer.ids
    return ids(translation.source_tokens), ids(translation.tokens)


def translation_facts(text: str, answer: Translation | Explained, wanted: frozenset[str]) -> Facts:
    """What the native API returns of a translation.

    Args:
        text: the source, which spans refer to.
        wanted: the names in `return`.
    """
    explained = answer if isinstance(answer, Explained) else Explained(answer)
    translation = explained.translation
    facts: Facts = {
        "text": translation.text,
        "score": translation.score,
        "notes": list(translation.notes),
    }
    if translation.unknown_words:
        facts["unknown_words"] = translation.unknown_words
    if translation.missing_terms:
        facts["missing_terms"] = translation.missing_terms
    if "confidence" in wanted:
        facts["confidence"] = translation.confidence
    if "tokens" in wanted:
        facts["tokens"] = _token_facts(
            translation.tokens, translation.text, translation.token_log_probabilities
        )
        facts["source_tokens"] = _token_facts(translation.source_tokens, text)
    if "alignment" in wanted:
        links: Sequence[float | None] = explained.links or [None] * len(translation.alignment or ())
        pairs = zip(translation.alignment or (), links, strict=True)
        facts["alignment"] = [[of, to, weight] for (of, to), weight in pairs]
    if explained.attention is not None:
        facts["attention"] = explained.attention
    if "alternatives" in wanted:
        facts["alternatives"] = [
            translation_facts(text, other, wanted - {"alternatives", "attention"})
            for other in translation.alternatives
        ]
    return facts


def _token_facts(
    pieces: Sequence[str], text: str, values: Sequence[float] | None = None
) -> list[Facts]:
    """Tokens with their spans; null where the text is not what the tokens spell."""
    places: Sequence[TextSpan | None] = spans(pieces, text) or [None] * len(pieces)
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


def spans(tokens: Sequence[str], text: str) -> list[TextSpan] | None:
    """The span of each token; a token of a byte has that of its character.

    Spaces before a word belong to no span. None: the text is not what the tokens spell, since
    something was inserted into it, or its characters are composed otherwise (NFC).
    """
    plain = normalize(text)
    if len(plain) != len(text):
        return None
    parts = [_token_bytes(token) for token in tokens]
    ends = list(accumulate(map(len, parts)))
    signs = list(_signs(b"".join(parts)))
    spelt = normalize("".join(sign for sign, _ in signs))
    if len(spelt) != len(signs):
        return None
    places = [place for place, sign in enumerate(plain) if sign != " "]
    if [sign for sign in spelt if sign != " "] != [plain[place] for place in places]:
        return None
    begins = list(accumulate((size for _, size in signs), initial=0))
    seen = list(accumulate((sign != " " for sign in spelt), initial=0))
    token_spans: list[TextSpan] = []
    for first, last in zip([0, *ends], ends, strict=False):
        start = bisect_right(begins, first) - 1
        end = bisect_right(begins, last - 1)
        own = places[seen[start] : seen[end]]
        before = places[seen[start] - 1] + 1 if seen[start] else 0
        token_spans.append((own[0], own[-1] + 1) if own else (before, before))
    return token_spans


def _signs(content: bytes) -> Iterator[tuple[str, int]]:
    """The characters, each with its number of bytes; a byte that is not UTF-8 is U+FFFD."""
    while content:
        try:
            yield from ((sign, len(sign.encode())) for sign in content.decode())
            return
        except UnicodeDecodeError as error:
            yield from ((sign, len(sign.encode())) for sign in content[: error.start].decode())
            yield "\ufffd", 1
            content = content[error.start + 1 :]


def _token_bytes(token: str) -> bytes:
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(SPACE, " ").encode()
