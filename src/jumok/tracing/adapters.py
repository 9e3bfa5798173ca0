"""Adapters to each kind of model: names, axes, and who attends to whom."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.attention.role import Part
from jumok.data.tokenizer import END, START
from jumok.errors import ModelError
from jumok.inspection.hooks.recording import RecordedPass
from jumok.inspection.sites import Sequences, SequencesOf, SiteBuilder, by_part, of_writers
from jumok.inspection.trace import STEP_CHOICES, TEMPERATURES, Axis, Step, grid_axis
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Tensor

LogProbabilities = Float[Tensor, "positions choices"]


@runtime_checkable  # the tests check annotations while they run
class Names(Protocol):
    """The names that a tokenizer has for its ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id by its name."""
        ...

    def words(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids."""
        ...


def text_axis(
    names: Names, ids: Sequence[int], before: Sequence[int] = (), after: Sequence[int] = ()
) -> Axis:
    """The tokens with their words; START, END and names of languages belong to none."""
    words = [None if word < 0 else word for word in names.words(ids)]
    groups: dict[int, list[int]] = {}
    for word, piece in zip(words, ids, strict=True):
        if word is not None:
            groups.setdefault(word, []).append(piece)
    return Axis(
        tokens=tuple(names.pieces([*before, *ids, *after])),
        words=(*(None for _ in before), *words, *(None for _ in after)),
        texts=tuple(names.decode(group).strip() or "⏎" for group in groups.values()),
    )


MOST_SCALED = 2_000_000
"""The most probabilities that are put through every temperature: a quarter of a second."""


def partitions_of(log_probabilities: LogProbabilities) -> list[tuple[float, ...]]:
    """`Step.partitions` of each position."""
    if log_probabilities.numel() > MOST_SCALED:
        return [() for _ in log_probabilities]
    scaled = [torch.logsumexp(log_probabilities.float() / each, dim=1) for each in TEMPERATURES]
    return [tuple(row) for row in torch.stack(scaled, dim=1).double().round(decimals=6).tolist()]


def steps_of(
    pieces: Callable[[Sequence[int]], Sequence[str]],
    written: Sequence[int],
    log_probabilities: LogProbabilities,
    gates: Sequence[float] | None = None,
) -> tuple[Step, ...]:
    """What was chosen at each position, and the alternatives.

    Args:
        gates: the gate of the context vector at each; None: the model has no such gate.
    """
    sums = partitions_of(log_probabilities)
    values, places = log_probabilities.topk(min(STEP_CHOICES, log_probabilities.shape[1]), dim=1)
    steps = []
    for row, token in enumerate(written):
        named, *best = pieces([token, *places[row].tolist()])
        steps.append(
            Step(
                named,
                float(log_probabilities[row, token]),
                tuple(zip(best, values[row].tolist(), strict=True)),
                None if gates is None else gates[row],
                tuple(places[row].tolist()),
                sums[row],
            )
        )
    return tuple(steps)


AT_WHAT_WAS_WRITTEN = by_part({"decoder": Sequences("text", "text")})

AT_ITSELF = by_part({"encoder": Sequences("text", "text")})

MASK = "[MASK]"


class TokenNumbers:
    """The token names of a model that has no tokenizer: their ids."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        named = {START: "<s>", END: "</s>"}
        return [named.get(id, str(id)) for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces(ids))


class WithMask:
    """A tokenizer that can name MASK, too: the row after its last subword; a word of its own."""

    def __init__(self, names: Names, mask: int) -> None:
        self._names, self._mask = names, mask

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [MASK if id == self._mask else self._names.pieces([id])[0] for id in ids]

    def words(self, ids: Sequence[int]) -> list[int]:
        words: list[int] = []
        run: list[int] = []
        for id in [*ids, self._mask]:
            if id != self._mask:
                run.append(id)
                continue
            first = words[-1] + 1 if words else 0
            words += [first + word for word in self._names.words(run)] if run else []
            words.append(words[-1] + 1 if words else 0)
            run = []
        return words[:-1]

    def decode(self, ids: Sequence[int]) -> str:
        return MASK if list(ids) == [self._mask] else self._names.decode(ids)


UNNAMED_TOKENS = TokenNumbers()


@dataclass(frozen=True)
class ModelAdapter:
    """A model, and the facts that a recorder cannot observe.

    Attributes:
        source: the axes of the input, from a pass and its row.
        sequences: what the model's sites connect; None: each the cells of its own feature map.
        target: the name of the axis of the output; "" if there is none.
        ends: whether END is a step.
        setting: the alignment setting, for the map of each hypothesis.
    """

    model: nn.Module
    task: str
    name: str
    source: Callable[[RecordedPass, int], dict[str, Axis]]
    names: Names = UNNAMED_TOKENS
    sequences: SequencesOf | None = None
    target: str = ""
    ends: bool = False
    labels: Sequence[str] = ()
    setting: AlignmentSetting | None = None
    fingerprint: str = ""

    def choices(self, ids: Sequence[int]) -> list[str]:
        return [self.labels[id] for id in ids] if self.labels else self.names.pieces(ids)

    def builder(self, recorded: RecordedPass) -> SiteBuilder:
        grids = recorded.encoder.grids
        return SiteBuilder(self.model, self.sequences or partial(_own_grid, grids))


def writer_adapter(
    model: SequenceToSequence,
    name: str,
    names: Names = UNNAMED_TOKENS,
    setting: AlignmentSetting | None = None,
) -> ModelAdapter:
    """Texts that an encoder reads, or images as cells of a grid; a decoder writes texts."""
    if isinstance(model, CaptionerModel):
        axes = {"picture": grid_axis(*model.grid, model.before)}
        sequences = of_writers("picture", "image")
        return ModelAdapter(
            model, "captioning", name, lambda _, __: axes, names, sequences, "target", True,
            setting=setting,
        )  # fmt: skip
    return ModelAdapter(
        model, "translation", name, _token_axes(names, "source"), names, of_writers(), "target",
        True, setting=setting,
    )  # fmt: skip


def language_adapter(
    model: CausalLanguageModel, name: str, names: Names = UNNAMED_TOKENS
) -> ModelAdapter:
    """Texts, read and written by one stack."""
    return ModelAdapter(
        model, "language-model", name, lambda _, __: {}, names, AT_WHAT_WAS_WRITTEN, "text"
    )


def reader_adapter(
    model: nn.Module,
    task: str,
    name: str,
    names: Names = UNNAMED_TOKENS,
    labels: Sequence[str] = (),
) -> ModelAdapter:
    """Texts, read as a whole, and perhaps labels."""
    return ModelAdapter(
        model, task, name, _token_axes(names, "text"), names, AT_ITSELF, labels=labels
    )


def image_adapter(model: ImageClassifier, name: str, labels: Sequence[str] = ()) -> ModelAdapter:
    """Images, read as feature maps or as patches, and labels."""
    if model.patches is not None:
        axes = {"picture": grid_axis(*model.patches, model.before)}
        sequences = by_part({"image": Sequences("picture", "picture")})
        return ModelAdapter(
            model, "image-classification", name, lambda _, __: axes, sequences=sequences,
            labels=labels,
        )  # fmt: skip
    return ModelAdapter(model, "image-classification", name, _grids, labels=labels)


def adapter_of(model: nn.Module, name: str) -> ModelAdapter:
    """That of a model without its system: tokens are shown by their ids.

    Raises:
        ModelError: this is not one of jumok's models.
    """
    match model:
        case SequenceToSequence():
            setting = default_setting(len(model.cross_sites))
            return writer_adapter(model, name, setting=setting)
        case CausalLanguageModel():
            return language_adapter(model, name)
        case ImageClassifier():
            return image_adapter(model, name)
        case MaskedLanguageModel():
            return reader_adapter(model, "masked-lm", name)
        case TextClassifier():
            return reader_adapter(model, "text-classification", name)
    raise ModelError(
        "this is not one of jumok's models.",
        expected="what jumok.load returns, or a model of it",
        got=type(model).__name__,
    )


def _token_axes(names: Names, axis: str) -> Callable[[RecordedPass, int], dict[str, Axis]]:
    """Returns a function for the axis of the input: the real tokens; START and END in no word."""

    def axes(recorded: RecordedPass, row: int) -> dict[str, Axis]:
        if recorded.source is None:
            return {}
        ids = recorded.source[row].tolist()
        if recorded.allowed is not None:
            ids = ids[: int(recorded.allowed[row].sum())]
        before = ids[:1] if ids[0] == START else []
        after = ids[-1:] if ids[-1] == END else []
        return {axis: text_axis(names, ids[len(before) : len(ids) - len(after)], before, after)}

    return axes


def _grids(recorded: RecordedPass, _: int) -> dict[str, Axis]:
    return {_grid_name(grid): grid_axis(*grid) for grid in recorded.encoder.grids.values()}


def _own_grid(grids: dict[str, tuple[int, int]], site: str, _: Part) -> Sequences:
    return Sequences(_grid_name(grids[site]), _grid_name(grids[site]))


def _grid_name(grid: tuple[int, int]) -> str:
    return f"grid {grid[0]}x{grid[1]}"
