"""Measures of attention heads over a corpus, for head cards.

Everything is summed batch by batch, and no map is kept. Means are over all queries of all
sentences, without padding.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable
from unicodedata import category

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.observe import Attention, heads_of, observe, roles_of, sites
from jumok.attention.overrides import override
from jumok.attention.role import Part
from jumok.data.pairs.batches import Batch, on_device
from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import END, PAD, SPACE, START
from jumok.inspection.heads.cards import OFFSETS, AnyHeadCard, HeadCard
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Bool, Float, Int, Tensor

FEWEST_FOR_RAREST = 5
"""The fewest permitted tokens for which the rarest is counted."""

SPECIAL_TOKENS = (START, END, PAD)


@dataclass(frozen=True)
class Pieces:
    """Punctuation and frequency of the vocabulary's tokens.

    Attributes:
        punctuation: True for tokens of punctuation marks only.
        source, target: the count of each token in the sources and in the targets of the corpus.
    """

    punctuation: Bool[Tensor, " vocabulary"]
    source: Int[Tensor, " vocabulary"]
    target: Int[Tensor, " vocabulary"]

    @classmethod
    def of(
        cls, tokenizer: TextTokenizer, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]
    ) -> "Pieces":
        """Counts the tokens of a corpus of ids; the last entry is MASK."""
        size = tokenizer.size + 1
        texts = (piece.strip(SPACE) for piece in tokenizer.pieces(range(tokenizer.size)))
        signs = [bool(text) and all(category(sign)[0] == "P" for sign in text) for text in texts]
        counts = torch.zeros(2, size, dtype=torch.long)
        counts[:, -1] = torch.iinfo(counts.dtype).max // 2  # MASK is not rare
        for pair in pairs:
            for side, ids in enumerate(pair):
                if ids:
                    counts[side] += torch.tensor(ids).bincount(minlength=size)
        return cls(torch.tensor([*signs, False]), counts[0], counts[1])

    def counts(self, part: Part) -> Int[Tensor, " vocabulary"]:
        """The counts of the tokens on the side of the part's keys."""
        return self.target if part == "decoder" else self.source


@dataclass
class Mean:
    """A mean for each head: sums over the counted positions, and their number."""

    total: Tensor | float = 0.0
    count: int = 0

    def add(
        self, values: Float[Tensor, "batch heads query"], wanted: Bool[Tensor, "batch query"]
    ) -> None:
        kept = values.masked_fill(~wanted[:, None], 0.0)
        self.total = self.total + kept.sum(dim=(0, 2), dtype=torch.float64).cpu()
        self.count += int(wanted.sum())

    def of(self, head: int) -> float:
        """The head's mean; 0 where nothing counted."""
        total = self.total[head] if isinstance(self.total, Tensor) else self.total
        return float(total) / max(self.count, 1)


@runtime_checkable  # the tests check annotations while they run
class Meter(Protocol):
    """The sums of one attention module: over texts (`SiteMeter`), or over cells (`GridMeter`)."""

    @property
    def part(self) -> Part:
        """The part of the model."""
        ...

    @property
    def heads(self) -> int:
        """The number of heads; 0 before anything was added."""
        ...

    def look(
        self,
        weights: Float[Tensor, "batch heads query key"],
        numbers: Int[Tensor, " query"],
        queries: Int[Tensor, "batch _"],
        keys: Int[Tensor, "batch _"],
    ) -> None:
        """Takes in the weights of a batch."""
        ...

    def card(self, site: str, layer: int, head: int, raw: Float[Tensor, " heads"]) -> AnyHeadCard:
        """What was measured of one head; `raw`: the importance of each head of the layer."""
        ...


@dataclass
class SiteMeter:
    """The sums of one attention module.

    Attributes:
        part: positions in a decoder attend to themselves and to earlier ones.
        pieces: the vocabulary's counts; None: not given, and measures that need them are 0.
    """

    part: Part
    pieces: Pieces | None = None
    means: dict[str | int, Mean] = field(default_factory=dict)
    heads: int = 0

    def look(
        self,
        weights: Float[Tensor, "batch heads query key"],
        numbers: Int[Tensor, " query"],
        queries: Int[Tensor, "batch query"],
        keys: Int[Tensor, "batch key"],
    ) -> None:
        """Adds the weights of a batch.

        Args:
            queries, keys: the tokens of the queries and of the keys; PAD does not count.
        """
        self.heads = weights.shape[1]
        weights = weights.float()
        real = queries != PAD
        places = torch.arange(keys.shape[1], device=keys.device)
        seen = (keys != PAD)[:, None].expand(-1, len(numbers), -1)  # (batch query key)
        if self.part == "decoder":
            seen = seen & (places <= numbers[:, None])
        self._add("entropy", -torch.xlogy(weights, weights).sum(dim=3), real)
        uniform = seen.sum(dim=2).clamp(min=1).float().log()
        self._add("uniform", uniform[:, None].expand(-1, self.heads, -1), real)
        self._add("confidence_with_end", weights.amax(dim=3), real)
        without = weights.masked_fill((keys == END)[:, None, None], 0.0).amax(dim=3)
        self._add("confidence", without, real & (queries != END))
        last = (seen * places).amax(dim=2)
        self._mass("first", weights, torch.zeros_like(last), real)
        self._mass("last", weights, last, real)
        chosen = weights.masked_fill(~seen[:, None], -1.0).argmax(dim=3)  # (batch heads query)
        away = chosen - numbers
        for offset in OFFSETS:
            self._add(offset, (away == offset).float(), real)
        self._add("before", (away < OFFSETS[0]).float(), real)
        self._add("after", (away > OFFSETS[-1]).float(), real)
        for name, offset in (("previous", -1), ("same", 0), ("next", 1)):
            wanted = (numbers + offset).expand_as(last)
            there = real & (wanted >= 0) & (wanted <= last)
            self._add(f"most_{name}", (away == offset).float(), there)
            self._mass(name, weights, wanted.clamp(0, keys.shape[1] - 1), there)
        self._kinds(weights, chosen, keys, seen, real)

    def _kinds(
        self,
        weights: Float[Tensor, "batch heads query key"],
        chosen: Int[Tensor, "batch heads query"],
        keys: Int[Tensor, "batch key"],
        seen: Bool[Tensor, "batch query key"],
        real: Bool[Tensor, "batch query"],
    ) -> None:
        """Adds the measures of kinds of tokens: START, END, punctuation, the rarest."""
        kinds = {"start": keys == START, "end": keys == END}
        if self.pieces is not None:
            kinds["punctuation"] = self.pieces.punctuation.to(keys.device)[keys]
        for name, wanted in kinds.items():
            self._add(name, (weights * wanted[:, None, None]).sum(dim=3), real)
        if self.pieces is None:
            return
        counts = self.pieces.counts(self.part).to(keys.device)[keys]
        words = seen & ~torch.isin(keys, torch.tensor(SPECIAL_TOKENS, device=keys.device))[:, None]
        never = torch.iinfo(counts.dtype).max
        rarest = counts[:, None].expand_as(seen).masked_fill(~words, never).amin(dim=2)
        chosen_counts = counts[:, None].expand_as(weights[:, :, 0]).gather(2, chosen)
        hit = words[:, None].expand(-1, self.heads, -1, -1).gather(3, chosen[..., None])[..., 0]
        self._add(
            "rarest",
            (hit & (chosen_counts == rarest[:, None])).float(),
            real & (words.sum(dim=2) >= FEWEST_FOR_RAREST),
        )

    def _mass(self, name: str, weights: Tensor, place: Tensor, there: Tensor) -> None:
        index = place[:, None, :, None].expand(-1, self.heads, -1, 1)
        self._add(name, weights.gather(3, index)[..., 0], there)

    def _add(self, name: str | int, values: Tensor, wanted: Tensor) -> None:
        self.means.setdefault(name, Mean()).add(values, wanted)

    def mean(self, name: str | int, head: int) -> float:
        """The mean of one head; 0 where nothing was measured."""
        return self.means.get(name, Mean()).of(head)

    def card(self, site: str, layer: int, head: int, raw: Float[Tensor, " heads"]) -> HeadCard:
        def mean(measure: str | int) -> float:
            return self.mean(measure, head)

        uniform, entropy = mean("uniform"), mean("entropy")
        return HeadCard(
            site=site,
            part=self.part,
            layer=layer,
            head=head,
            entropy=entropy,
            uniform_share=entropy / uniform if uniform else 0.0,
            confidence=mean("confidence"),
            confidence_with_end=mean("confidence_with_end"),
            first=mean("first"),
            last=mean("last"),
            previous=mean("previous"),
            same=mean("same"),
            next=mean("next"),
            start=mean("start"),
            end=mean("end"),
            punctuation=mean("punctuation"),
            rarest=mean("rarest"),
            most_previous=mean("most_previous"),
            most_same=mean("most_same"),
            most_next=mean("most_next"),
            offsets=(mean("before"), *(mean(offset) for offset in OFFSETS), mean("after")),
            importance=float(raw[head] / raw.norm().clamp(min=1e-30)),
            raw_importance=float(raw[head]),
        )


class HeadMeter:
    """Measures every head of a model over batches.

    Args:
        model: in evaluation mode.
        pieces: the vocabulary's counts; None: punctuation and rare words are not measured.
        grids: by site the meters of heads whose keys are an image's cells; None: there are none.

    Raises:
        ModelError: an attention module has no role.
    """

    def __init__(
        self,
        model: nn.Module,
        pieces: Pieces | None = None,
        grids: Mapping[str, Meter] | None = None,
    ) -> None:
        self._model = model
        self._importance = Importance(model)
        grids = grids or {}
        self._roles = roles_of(model)
        self._meters = {
            site: grids.get(site) or SiteMeter(role.part, pieces)
            for site, role in self._roles.items()
        }

    def add(self, batch: Batch) -> None:
        """Runs one forward and one backward pass over a batch of pairs."""
        # The tokens at each position: the decoder reads START where its target has its first
        # token, and the last token where that has END.
        assert isinstance(self._model, SequenceToSequence)
        batch = on_device(batch, next(self._model.parameters()).device)
        target = batch.target_input.masked_fill(batch.target_output == PAD, PAD)
        looks = {"encoder": (batch.source,) * 2, "decoder": (target,) * 2}
        self.watch(
            looks | {"cross": (target, batch.source)},
            partial(translation_losses, self._model, batch),
        )

    def watch(
        self, looks: Mapping[str, tuple[Tensor, Tensor]], losses: Callable[[], Tensor]
    ) -> None:
        """Runs one forward and one backward pass.

        Args:
            looks: for each part the tokens of the queries and of the keys, padded with PAD.
            losses: runs the model; returns the loss of each row, in nats a token.
        """
        looked = dict.fromkeys(self._meters, 0)

        def look(site: str, attention: Attention) -> None:
            meter, first = self._meters[site], looked[site]
            queries, keys = looks[meter.part]
            # An RNN attends step by step.
            last = first + attention.weights.shape[2]
            looked[site] = last
            numbers = torch.arange(first, last, device=queries.device)
            meter.look(attention.weights.detach(), numbers, queries[:, first:last], keys)

        queries, _ = next(iter(looks.values()))
        with observe(self._model, look):
            self._importance.take(len(queries), losses)

    def cards(self) -> list[AnyHeadCard]:
        """A card for each head, in the order of the model."""
        raw = self._importance.raw()
        return [
            meter.card(site, self._roles[site].layer, head, raw[site])
            for site, meter in self._meters.items()
            for head in range(meter.heads)
        ]


class Importance:
    """The sensitivity of a sentence's loss to each head's gate: E | dL / dgate |.

    Every text has a loss L and gates of its own, so that one backward pass through a batch gives
    the gradient of each, where ablation costs a forward pass for each head. The two agree only for
    a head of small effect: a gradient does not show how the other heads would compensate.

    Source: Michel et al. 2019, Are sixteen heads really better than one?, section 4.1.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._sums: dict[str, Tensor] = {}
        self._sentences = 0
        self._heads = heads_of(model)

    def take(self, rows: int, losses: Callable[[], Float[Tensor, " batch"]]) -> None:
        """Adds the gradients of a batch of texts, each with a loss of its own."""
        with _unit_gates(self._model, self._heads, rows) as gates, torch.enable_grad():
            slopes = torch.autograd.grad(losses().sum(), list(gates.values()))
        for name, slope in zip(gates, slopes, strict=True):
            size = slope.abs().sum(dim=0, dtype=torch.float64).cpu()
            self._sums[name] = self._sums.get(name, 0) + size
        self._sentences += rows

    def raw(self) -> dict[str, Float[Tensor, " heads"]]:
        """The mean over all texts for each site, in the unit of their losses."""
        return {name: total / max(self._sentences, 1) for name, total in self._sums.items()}


def translation_losses(model: SequenceToSequence, batch: Batch) -> Float[Tensor, " batch"]:
    """The negative log-probability of each translation, in nats a token."""
    memory = model.encode(batch.source, batch.source_allowed)
    return mean_losses(model.decoder(memory, batch.target_input), batch.target_output)


def mean_losses(
    logits: Float[Tensor, "batch target vocabulary"], wanted: Int[Tensor, "batch target"]
) -> Float[Tensor, " batch"]:
    """The mean cross-entropy of each row's wanted tokens, in nats; PAD is not counted."""
    losses = F.cross_entropy(
        logits.float().transpose(1, 2), wanted, ignore_index=PAD, reduction="none"
    )
    return losses.sum(dim=1) / (wanted != PAD).sum(dim=1).clamp(min=1)


@contextmanager
def _unit_gates(
    model: nn.Module, heads: dict[str, int], rows: int
) -> Iterator[dict[str, Float[Tensor, "batch heads"]]]:
    """Gives every head of the model a differentiable gate of 1 for each sentence."""
    parameter = next(model.parameters())
    known = sites(model)
    gates = {
        name: torch.ones(
            rows, count, dtype=parameter.dtype, device=parameter.device, requires_grad=True
        )
        for name, count in heads.items()
    }
    with override("gate", {known[name]: gate for name, gate in gates.items()}):
        yield gates
