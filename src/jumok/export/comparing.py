"""What a model writes here, and whether its export writes the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch

from jumok.bundle.card import Score
from jumok.bundle.reading import TOKENIZER, Bundle
from jumok.bundle.weights import load_model
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.stack import StackConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.special_tokens import END, START
from jumok.data.texts.tokenizer import TextTokenizer, load_text_tokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.decoding.options import DecodingOptions
from jumok.decoding.torch_stepper import decode
from jumok.errors import BundleError, ConfigError, Location
from jumok.evaluation.agreement import score_faults
from jumok.export.format import ExportOptions
from jumok.interop.checking import TEXTS
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.memory import Memory, SequenceToSequence, logits_of
from jumok.systems.loading import load_tokenizer, longest_of
from jumok.systems.translation.languages import tokenizer_between

LINES = 10
LONGEST_INPUT, LONGEST_OUTPUT = 32, 48
"""Tokens of a compared line."""
SCORED_TOKENS = 512
"""Tokens of a held-out text that a language model scores."""
UNKNOWN_LOSS = "what it loses was not measured: the data of the model's run is not there"
TIE = 1e-3
"""By how much the logarithms of two probabilities differ that rounding may exchange."""

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class GreedyWriter:
    """A translator, a captioner or a language model as it writes greedily, on torch in float32.

    The rows of a captioner are images, as `jumok.data.captions.store` reads them.
    """

    bundle: Bundle

    @cached_property
    def model(self) -> SequenceToSequence | CausalLanguageModel:
        """The model."""
        model = load_model(self.bundle)
        assert isinstance(model, SequenceToSequence | CausalLanguageModel)
        return model

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """That of the first pair, if there are several pairs of languages."""
        config = self.bundle.config
        if isinstance(self.bundle.section, CausalConfig):
            return load_text_tokenizer(self.bundle.folder / TOKENIZER)
        pair = config.every_pair[0]
        return tokenizer_between(load_tokenizer(self.bundle), config.languages, pair)

    @cached_property
    def opening(self) -> tuple[int, ...]:
        """What every target begins with: the token of its language, in some models."""
        if self.bundle.config.task == "captioning":
            return ()
        tokenizer = self.tokenizer
        target = tokenizer.target if isinstance(tokenizer, Tokenizer) else tokenizer
        return getattr(target, "opening", ())

    def inputs(self, examples: Sequence[str]) -> list[list[int]]:
        """The ids of ten texts, these examples first, without START and END."""
        read = [self.tokenizer.encode(text) for text in (*examples, *TEXTS)[:LINES]]
        most = min(LONGEST_INPUT, (self._reach or LONGEST_INPUT) // 2)
        return [row[:most] for row in read if row]

    def decoded(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        tokenizer = self.tokenizer
        return (tokenizer.target if isinstance(tokenizer, Tokenizer) else tokenizer).decode(ids)

    @property
    def longest(self) -> int:
        """Tokens that are written of a line, its opening included."""
        return min(LONGEST_OUTPUT, (self._reach or 2 * LONGEST_OUTPUT) // 2)

    @property
    def _reach(self) -> int | None:
        section = self.bundle.section
        writes = section.decoder if isinstance(section, CaptionerConfig) else section
        return longest_of(writes) if isinstance(writes, StackConfig) else None

    @torch.inference_mode()
    def written(self, rows: Rows, longest: int | None = None) -> list[list[int]]:
        """What is written for each source, or after each prompt, without END.

        Args:
            longest: of each output, in tokens; None: `self.longest`.
        """
        most, model = longest or self.longest, self.model
        outputs: list[list[int]] = [[] for _ in rows]
        if isinstance(model, CausalLanguageModel):
            for place, row in enumerate(rows):
                options = DecodingOptions(beam=1, maximum_length=len(row) + most)
                (best,) = decode(model.decoder, model.nothing(), options, [list(row)])[0]
                outputs[place] = list(best.tokens[len(row) :])
            return outputs
        options = DecodingOptions(beam=1, maximum_length=most)
        for places, memory in self.memories(rows):
            forced = [list(self.opening)] * len(places)
            for place, found in zip(
                places, decode(model.decoder, memory, options, forced), strict=True
            ):
                outputs[place] = list(found[0].tokens[len(self.opening) :])
        return outputs

    def memories(self, rows: Rows) -> Iterator[tuple[Sequence[int], Memory]]:
        """The Memories of sources or images, and which of the rows each is of."""
        model = self.model
        assert isinstance(model, SequenceToSequence)
        if isinstance(model, CaptionerModel):
            yield range(len(rows)), model.encode(torch.stack(list(rows)))  # type: ignore[arg-type]
            return
        for batch in source_batches(rows, sentences=32):
            yield batch.rows, model.encode(batch.tokens, batch.allowed)

    @torch.inference_mode()
    def lead(self, row: Sequence[int], before: Sequence[int], tokens: tuple[int, int]) -> float:
        """By how much the logarithm of the first token's probability is above the second's, after
        what was written before them.
        """
        model = self.model
        memory: Memory
        if isinstance(model, CausalLanguageModel):
            memory, read = model.nothing(), [START, *row, *before]
        else:
            ((_, memory),) = self.memories([row])
            read = [START, *self.opening, *before]
        last = logits_of(model.decoder, memory, torch.tensor([read]))[0, -1]
        return float(last[tokens[0]] - last[tokens[1]])


def compare_written(
    writer: GreedyWriter, rows: Rows, theirs: Rows, owner: str, longest: int | None = None
) -> str:
    """What is written here and what the owner's code wrote for the same ids, in words.

    Args:
        longest: of each output, in tokens; None: the writer's.

    Raises:
        BundleError: they differ, and not only where two tokens are equally probable.
    """
    ours, ties = writer.written(rows, longest), 0
    for row, mine, other in zip(rows, ours, theirs, strict=True):
        if list(mine) == list(other):
            continue
        at, tokens = first_difference(mine, other)
        if not abs(writer.lead(row, mine[:at], tokens)) < TIE:
            raise BundleError(
                f"{owner} does not write what the model writes here: nothing was written.",
                expected=" ".join(map(str, mine)),
                got=" ".join(map(str, other)),
                do="report it, with the model's config.json",
                place=Location(writer.bundle.folder),
            )
        ties += 1
    tokens_written = sum(map(len, ours)) + len(ours)
    said = f"{len(rows)} lines written greedily by {owner}, {tokens_written} tokens as here"
    return said + (f" but for {ties} lines with two equally probable tokens" if ties else "")


def first_difference(mine: Sequence[int], other: Sequence[int]) -> tuple[int, tuple[int, int]]:
    """Where two unequal outputs part, and the tokens of both there; END where one has ended."""
    both = [*mine, END], [*other, END]
    at = next(place for place, (one, two) in enumerate(zip(*both, strict=False)) if one != two)
    return at, (both[0][at], both[1][at])


class Writer(Protocol):
    """What writes greedily, without END: a model here, or an engine."""

    def written(self, rows: Rows, longest: int) -> list[list[int]]:
        """The outputs for these sources."""
        ...


class ScoringWriter(Writer, Protocol):
    """The same, and for a language model what it thinks of texts."""

    def perplexity(self, rows: Rows) -> float:
        """Of these texts, END included."""
        ...


def loss_of_engines(
    writer: GreedyWriter, both: Sequence[ScoringWriter], options: ExportOptions
) -> str:
    """What the second of both engines loses against the first, in words; raises as `check_loss`."""
    if not options.held_out:
        rows = writer.inputs(options.examples)
        written = [each.written(rows, writer.longest) for each in both]
        equal = sum(one == two for one, two in zip(*written, strict=True))
        return f"{equal} of {len(rows)} lines in {options.precision} as in fp32; {UNKNOWN_LOSS}"
    if not isinstance(writer.bundle.section, CausalConfig):
        return loss_of_translators(writer, both, options)
    most = min(SCORED_TOKENS, writer.bundle.config.max_tokens - 1)
    rows = [writer.tokenizer.encode(text)[:most] for text, _ in options.held_out]
    on = f"{sum(map(len, rows)):,} tokens held out"
    before, after = ([Score("perplexity", each.perplexity(rows), on=on)] for each in both)
    return check_loss(writer.bundle, options.precision, before, after)


def loss_of_translators(
    writer: GreedyWriter, both: Sequence[Writer], options: ExportOptions
) -> str:
    """What the second of both translators loses against the first on the texts held out, in words;
    raises as `check_loss`.
    """
    from jumok.evaluation.text import score_text

    sources, references = zip(*options.held_out, strict=True)
    rows = [writer.tokenizer.encode(text) for text in sources]
    written = [each.written(rows, 256) for each in both]
    on = f"{len(rows):,} held-out lines, greedily"
    before, after = (
        [
            replace(score, on=on)
            for score in score_text(
                [writer.decoded(each) for each in outputs],
                references,
                target_language=writer.bundle.config.target_language,
                metrics=("bleu",),
                resamples=0,
            )
        ]
        for outputs in written
    )
    equal = sum(one == two for one, two in zip(*written, strict=True))
    lost = check_loss(writer.bundle, options.precision, before, after)
    return f"{lost}, {equal / len(rows):.1%} of them equal"


def check_loss(
    bundle: Bundle, precision: str, before: Sequence[Score], after: Sequence[Score]
) -> str:
    """What a model lost with fewer bits, in words.

    Raises:
        ConfigError: that is more than `jumok quantize` lets pass.
    """
    if faults := list(score_faults(before, after)):
        raise ConfigError(
            f"the model loses too much in {precision}: nothing was written.",
            got="; ".join(faults),
            do="--precision fp32",
            place=Location(bundle.folder),
        )
    return ", ".join(
        f"{old.name} {new.value:.2f} in {precision}, {old.value:.2f} in fp32, on {new.on}"
        for old, new in zip(before, after, strict=True)
    )
