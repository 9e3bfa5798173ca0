"""The description of a bundle: for programs (BundleConfig) and for readers (Card)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import permutations
from typing import Annotated, ClassVar

from pydantic import Field

from jumok.bundle.confidence import ALL_KNOWN, Calibration
from jumok.bundle.profile import Profile

Natural = Annotated[int, Field(ge=0, lt=2**31)]
Pair = tuple[str, str]
"""The codes of two languages, source first; "" where one is not known."""

SHOWN_PAIRS = 12
LONGEST_TEMPLATE = 1 << 18


@dataclass(frozen=True)
class Score:
    """One score and what is needed to compare it.

    Attributes:
        name: BLEU, chrF2, TER, ...
        value: on the scorer's own scale; for BLEU, chrF and TER that is percent. NaN where
            there was too little to score.
        low, high: the 95 % interval by bootstrap; None where it was not computed.
        signature: the scorer's settings and version: only equal signatures may be compared.
        on: the text that was scored, in words.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    signature: str = ""
    on: str = ""

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


@dataclass(frozen=True)
class MeasuredQuality:
    """What a model lost when it was quantized, as `jumok quantize` measured it.

    Attributes:
        precision: "int8" or "bf16".
        made_from: the name and the fingerprint of the model that was quantized.
        on: the data, in words.
        before, after: the same scores of both models.
        tokens: the number of tokens, or of a classifier's labels, that were compared.
        equal: the share of them that are equal, 0 to 1 (`jumok.evaluation.agreement`).
        unit: "tokens" or "labels".
        forced: why the model was written though it lost too much; "" if it did not.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    precision: str
    made_from: str
    on: str = ""
    before: tuple[Score, ...] = ()
    after: tuple[Score, ...] = ()
    tokens: Annotated[int, Field(ge=0, lt=2**63)] = 0
    equal: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    unit: str = "tokens"
    forced: str = ""

    def lines(self) -> list[str]:
        """In words, one line a fact."""
        lines = [f"{self.precision}, made from {self.made_from}"]
        for before, after in zip(self.before, self.after, strict=True):
            lines.append(f"{after.name} {after.value:.2f}, before {before.value:.2f}, on {self.on}")
        if self.tokens:
            lines.append(f"{self.equal:.2%} of {self.tokens:,} {self.unit} equal")
        else:
            lines.append("quality not measured")
        return [*lines, *([f"forced: {self.forced}"] if self.forced else [])]


@dataclass(frozen=True)
class Licence:
    """The licence that the folder of an imported model names.

    Attributes:
        key: its identifier, such as "apache-2.0"; "other" where it is named without one.
        found: the file that names it, and how where that is no identifier.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    key: str
    found: str

    def __str__(self) -> str:
        return f"{self.key} ({self.found})"


@dataclass(frozen=True)
class Provenance:
    """Where an imported model comes from, or the one that it was trained further from.

    Attributes:
        family: such as "BERT".
        name: that of its folder.
        files: the SHA-256 of its config and its weights, by the names of the files.
        licence: None: the folder names none.
        changes: what the bundle does otherwise, one line each.
        compared: what was compared with the original code; "": nothing.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    family: str
    name: str
    files: dict[str, str]
    licence: Licence | None = None
    changes: tuple[str, ...] = ()
    compared: str = ""

    def lines(self) -> list[str]:
        """In words, one line a fact."""
        return [
            f"{self.family}, from the folder {self.name}",
            f"licence: {self.licence or 'the folder names none'}",
            *(f"{name}: SHA-256 {digest}" for name, digest in self.files.items()),
            *self.changes,
            f"compared: {self.compared or 'with nothing'}",
        ]


@dataclass(frozen=True)
class Card:
    """The model card: training data, training time and scores.

    Attributes:
        name: the recipe's name.
        trained_on: one line a corpus.
        examples: the size of the training data, such as "29,000 pairs".
        steps: optimizer steps.
        minutes: wall time of the training.
        date: ISO 8601.
        started_from: the name and the fingerprint of the model that was trained further; "" for a
            model trained from scratch.
        provenance: of an imported model, trained further or not; None: it was trained here alone.
        quality: what was lost by quantizing; None for a model as it was trained.
        confidence: None: it was not measured.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    name: str
    trained_on: tuple[str, ...] = ()
    examples: str = ""
    steps: Annotated[int, Field(ge=0, lt=2**63)] = 0
    minutes: float = 0.0
    scores: tuple[Score, ...] = ()
    date: str = ""
    notes: tuple[str, ...] = ()
    started_from: str = ""
    provenance: Provenance | None = None
    quality: MeasuredQuality | None = None
    confidence: Calibration | None = None

    @property
    def trained(self) -> bool:
        """Whether it was trained here, from scratch or further."""
        return self.provenance is None or bool(self.date)


@dataclass(frozen=True)
class LanguageTokens:
    """The ids that name a language to a model of several pairs; None: there is no such token.

    Attributes:
        source: opens a source in this language (M2M100).
        asked: opens a source that is to be translated into it (Johnson et al. 2017; Marian).
        target: opens a target in it, and is forced there (M2M100).
        closing: follows the END of a source in this language (mBART).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    source: Natural | None = None
    asked: Natural | None = None
    target: Natural | None = None
    closing: Natural | None = None


@dataclass(frozen=True)
class ChatFormat:
    """How a language model reads conversations.

    Attributes:
        template: of Jinja, as transformers renders it.
        marks: the texts that are one token each where the template writes them.
        start, end: what the template calls bos_token and eos_token.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    template: Annotated[str, Field(max_length=LONGEST_TEMPLATE)]
    marks: tuple[str, ...] = ()
    start: str = ""
    end: str = ""


@dataclass(frozen=True)
class BundleConfig:
    """All that is needed to build the model again.

    Attributes:
        task: the name of its system: "translation", ... (`jumok/kinds.py`).
        model: the recipe's [model] section, every key given.
        vocabulary_size: that of the tokenizer, specials included; 0 where there is none.
        labels: a classifier's labels, in the order of its outputs.
        label_names: what people call them, where the data have numbers.
        source_language, target_language: codes such as "en"; "" where unknown.
        languages: of a translator of several pairs, the tokens of each language.
        pairs: those that it translates; () with `languages`: any two of them.
        max_tokens: the longest sentence the model was trained for; longer lines are split.
        alignment_layer, alignment_at_input, alignment_head: the `AlignmentSetting`, if measured.
        sentences: the median number of sentences in a source line of a translator's training data;
            None: not measured.
        profile: what a translator's training data looked like; None: not measured.
        documents: the unit that is one document: "file", "line" or "blank-line".
        chat: None: the model reads no conversations.
        plugins: the plugins that have to be loaded first: file names, and the SHA-256 of each.
    """

    task: str
    model: dict[str, object]
    vocabulary_size: Natural = 0
    labels: tuple[str, ...] = ()
    label_names: dict[str, str] = field(default_factory=dict)
    source_language: str = ""
    target_language: str = ""
    languages: dict[str, LanguageTokens] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    max_tokens: Natural = 0
    alignment_layer: Natural | None = None
    alignment_at_input: bool = False
    alignment_head: Natural | None = None
    documents: str = ""
    chat: ChatFormat | None = None
    sentences: int | None = None
    profile: Profile | None = None
    plugins: dict[str, str] = field(default_factory=dict)

    @property
    def every_pair(self) -> tuple[Pair, ...]:
        """All pairs of languages that it translates."""
        any_two = tuple(permutations(self.languages, 2))
        return self.pairs or any_two or ((self.source_language, self.target_language),)


def languages_text(config: BundleConfig) -> str:
    """ ", en → ko", ", ko", or an empty text where no language is known."""
    if config.languages:
        pairs = pairs_text(config.every_pair)
        return f", {pairs}" if pairs else ""
    known = [language for language in (config.source_language, config.target_language) if language]
    return f", {' → '.join(known)}" if known else ""


def pairs_text(pairs: Sequence[Pair]) -> str:
    """ "en → de, en → fr", or the number of many pairs with their languages."""
    if len(pairs) <= SHOWN_PAIRS:
        return ", ".join(" → ".join(filter(None, pair)) for pair in pairs)
    sources, targets = (
        ", ".join(dict.fromkeys(filter(None, side))) for side in zip(*pairs, strict=True)
    )
    both = sources if sources == targets else f"{sources} → {targets}"
    return f"{len(pairs):,} pairs of {both}"


def _training_lines(card: Card) -> list[str]:
    return [
        *card.trained_on,
        *([card.examples] if card.examples else []),
        f"{card.steps:,} steps in {card.minutes:.0f} minutes, finished {card.date}",
        *([f"trained further from {card.started_from}"] if card.started_from else []),
        *card.notes,
    ]


def card_text(config: BundleConfig, card: Card) -> str:
    """README.md: the card in Markdown."""
    lines = [
        f"# {card.name}",
        "",
        f"Made with jumok {version('jumok')} for {config.task}{languages_text(config)}.",
        "",
        "    jumok info THIS_FOLDER",
        "",
    ]
    if card.trained:
        lines += ["## Training", "", *(f"- {line}" for line in _training_lines(card))]
    if card.provenance is not None:
        lines += ["", "## Imported", ""] if card.trained else ["## Imported", ""]
        own = () if card.trained else card.notes
        lines += [f"- {line}" for line in (*card.provenance.lines(), *own)]
    if card.quality is not None:
        lines += ["", "## Quantized", "", *(f"- {line}" for line in card.quality.lines())]
    if card.scores:
        lines += ["", "## Scores", "", "| on | score | value | 95 % | signature |"]
        lines += ["|---|---|---|---|---|"]
        for score in card.scores:
            interval = "" if score.low is None else f"{score.low:.2f} to {score.high:.2f}"
            signature = score.signature.replace("|", "\\|")
            lines.append(
                f"| {score.on} | {score.name} | {score.value:.2f} | {interval} | {signature} |"
            )
    if card.confidence is not None:
        lines += ["", "## Confidence", "", f"The confidence is {card.confidence.text}.", ""]
        lines += ["| outputs | confidence | right |", "|---|---|---|"]
        lines += [
            f"| {row.outputs} | {row.confidence:.2f} | {row.right:.2f} |"
            for row in card.confidence.bins
        ]
    return "\n".join([*lines, ""])
