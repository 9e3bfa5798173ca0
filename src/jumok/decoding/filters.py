"""Filters: small functions that decide which tokens may come next.

A filter takes the logits or log-probabilities of the next token, (batch vocabulary), and returns
new ones in which a forbidden token has minus infinity. It never changes its argument. Penalties
lower the scores of tokens that a row has already. Log-probabilities of hypotheses are those of the
model, before penalties and the filters of sampling.

The largest scores of every row are the same ones on every machine. Rows are as long as a
vocabulary, or a beam times as long. On a CPU `torch.topk` and `torch.argmax` read one score at a
time and `torch.amax` sixteen; so blocks are compared by their largest score first, and single
scores only in the blocks that can matter. 32 rows on one core: the largest of 8,000 in 0.05 ms
instead of 0.27, the ten largest of 40,000 in 0.9 ms instead of 1.7.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import TypeAlias

import torch
from torch.nn import functional as F

from jumok.decoding.drawing import check_min_p, check_temperature, check_top_k, check_top_p
from jumok.shapes import Float, Int, Tensor

Filter: TypeAlias = Callable[[Tensor], Tensor]

# A shape that is written inside of a function is built again at every call: 15 us of a step.
Scores: TypeAlias = Float[Tensor, "batch vocabulary"]

USUAL_NUCLEUS = 256  # sorting a whole vocabulary takes longer than a step of a small model

Rows: TypeAlias = Int[Tensor, " batch"]

Choose: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From log-probabilities (batch vocabulary), the places of these rows in the batch as it began, and
the tokens of each row so far (batch length), its forced beginning included, to a token a row."""

FREE = -1  # in a table of forced tokens: nothing is forced here

BLOCK = 64
FEW = 12_000  # so many scores are read one by one before the blocks' eight calls have returned


def forbid(tokens: Sequence[int]) -> Filter:
    """Forbids all of `tokens`."""

    def filter_tokens(scores: Scores) -> Tensor:
        scores = scores.clone()
        for token in tokens:
            scores[:, token] = -inf
        return scores

    return filter_tokens


def no_repeat(written: Int[Tensor, "batch length"], count: int) -> Filter:
    """Forbids each token that would complete an n-gram of `count` tokens a second time.

    Source: Paulus et al. 2018, section 2.5 (no repeated trigrams).
    """
    if written.shape[1] < count:
        return lambda scores: scores
    last = written[:, written.shape[1] - count + 1 :]
    stretches = written.unfold(1, count, 1)  # (batch stretches count)
    row, stretch = (stretches[:, :, :-1] == last[:, None]).all(2).nonzero(as_tuple=True)

    def filter_tokens(scores: Scores) -> Tensor:
        scores = scores.clone()
        scores[row, stretches[row, stretch, -1]] = -inf
        return scores

    return filter_tokens


def force(forced: Int[Tensor, " batch"]) -> Filter:
    """Permits only `forced[i]` in row i, and every token where it is FREE."""
    chosen = forced.clamp(min=0)[:, None]
    free = (forced == FREE)[:, None]

    def filter_rows(scores: Scores) -> Tensor:
        nothing = torch.full_like(scores, -inf)
        only = nothing.scatter(1, chosen, scores.gather(1, chosen))
        return torch.where(free, scores, only)

    return filter_rows


def temperature(value: float) -> Filter:
    """Divides the scores by `value`: below 1 sharpens the distribution, above 1 flattens it.

    Raises:
        ConfigError: `value` is not above 0.
    """
    check_temperature(value)
    return lambda scores: scores / value


def top_k(count: int) -> Filter:
    """Permits only the `count` most probable tokens; of equals, the lower ids.

    Raises:
        ConfigError: `count` is below 1.
    """
    check_top_k(count)

    def filter_rows(scores: Scores) -> Tensor:
        values, places = largest(scores, min(count, scores.shape[1]))
        return torch.full_like(scores, -inf).scatter(1, places, values)

    return filter_rows


def top_p(mass: float) -> Filter:
    """Permits only the nucleus: the smallest set of tokens with a total probability of `mass`.

    The most probable token is always permitted. Source: Holtzman et al. 2020, section 3.1.

    Raises:
        ConfigError: `mass` is not in (0, 1].
    """
    check_top_p(mass)
    if mass == 1:
        return lambda scores: scores

    def filter_rows(scores: Scores) -> Tensor:
        probabilities = scores.softmax(1)
        values, places = largest(probabilities, min(USUAL_NUCLEUS, scores.shape[1]))
        if (values.sum(1) < mass).any():
            values, places = largest(probabilities, scores.shape[1])
        outside = values.cumsum(1) - values >= mass
        kept = scores.gather(1, places).masked_fill(outside, -inf)
        return torch.full_like(scores, -inf).scatter(1, places, kept)

    return filter_rows


def min_p(share: float) -> Filter:
    """Permits only tokens with at least `share` times the probability of the most probable one.

    Source: Nguyen et al. 2024, section 3, algorithm 1.

    Raises:
        ConfigError: `share` is not from 0 to 1.
    """
    check_min_p(share)
    if share == 0:
        return lambda scores: scores
    apart = log(share)

    def filter_rows(scores: Scores) -> Tensor:
        return scores.masked_fill(scores < scores.amax(1, keepdim=True) + apart, -inf)

    return filter_rows


@dataclass(frozen=True)
class Penalties:
    """Penalties on the tokens that a row has already.

        score[t] - frequency * count[t] - presence * (count[t] > 0)

    Tokens of the forced beginning, such as a prompt, are not counted.

    Attributes:
        frequency, presence: below 0 they favour repetition.

    Source: OpenAI's API reference, "Frequency and presence penalties", where the counts are those
    of sampled tokens.
    """

    frequency: float = 0.0
    presence: float = 0.0

    def before(self, choose: Choose, beginnings: Sequence[int]) -> Choose:
        """The same choice from penalised scores.

        Args:
            beginnings: the length of each row's forced beginning.
        """
        if not self.frequency and not self.presence:
            return choose

        def penalised(
            scores: Scores, rows: Rows, written: Int[Tensor, "batch length"]
        ) -> Int[Tensor, " batch"]:
            first = torch.tensor(beginnings, device=written.device)[rows]
            counted = torch.arange(written.shape[1], device=written.device) >= first[:, None]
            counts = torch.zeros_like(scores).scatter_add_(1, written, counted.to(scores.dtype))
            lost = self.frequency * counts + self.presence * (counts > 0)
            return choose(scores - lost, rows, written)

        return penalised


def most_probable(scores: Scores, rows: Rows, written: Int[Tensor, "batch length"]) -> Tensor:
    """The most probable token of each row, the lower id of equals."""
    del rows, written
    return place_of_largest(scores)


def largest(
    scores: Float[Tensor, "batch size"], count: int
) -> tuple[Float[Tensor, "batch {count}"], Int[Tensor, "batch {count}"]]:
    """The `count` largest scores of each row in falling order, and their places.

    Of equal scores the one further left comes first, which `torch.topk` does not promise.
    The `count` largest scores are in the `count` blocks with the largest maxima: a score
    elsewhere has the maximum of each of these blocks before it.
    """
    if scores.shape[1] <= 2 * BLOCK * count:
        return _largest(scores, count)
    blocks = _blocks(scores)
    chosen = _largest(blocks.amax(2), count)[1].sort(dim=1).values
    inside = blocks.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1)
    values, places = _largest(inside, count)
    return values, chosen.gather(1, places // BLOCK) * BLOCK + places % BLOCK


def place_of_largest(scores: Float[Tensor, "batch size"]) -> Int[Tensor, " batch"]:
    """The place of the largest score of each row; of equals the one furthest left."""
    batch, size = scores.shape
    if size <= 2 * BLOCK or scores.numel() <= FEW:
        return scores.argmax(1)
    blocks = _blocks(scores)
    block = blocks.amax(2).argmax(1)
    inside = blocks[torch.arange(batch, device=scores.device), block].argmax(1)
    return block * BLOCK + inside


def _blocks(scores: Float[Tensor, "batch size"]) -> Float[Tensor, "batch blocks block"]:
    missing = -scores.shape[1] % BLOCK
    whole = F.pad(scores, (0, missing), value=-inf) if missing else scores
    return whole.view(len(scores), -1, BLOCK)


def _largest(scores: Float[Tensor, "batch size"], count: int) -> tuple[Tensor, Tensor]:
    if count >= scores.shape[1] // 2:
        values, places = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], places[:, :count]
    values, places = scores.topk(count + 1, dim=1)
    # topk may choose the wrong ones of equals only where they reach beyond the first `count`
    over_edge = (values[:, -1] == values[:, -2]) & (values[:, -1] > -inf)
    places, order = places[:, :count].sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    places = places.gather(1, order)
    if over_edge.any():
        rows = over_edge.nonzero()[:, 0]
        sorted_values, sorted_places = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], places[rows] = sorted_values[:, :count], sorted_places[:, :count]
    return values, places
