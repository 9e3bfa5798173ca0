"""Beam search over all sentences of a batch at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import TypeAlias, TypeVar

import torch

from jumok.attention.heard import listeners
from jumok.decoding.autoregressive import forced_everywhere, read_beginning
from jumok.decoding.filters import largest
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, Prefixes, check_beam
from jumok.decoding.pool import Pool
from jumok.decoding.rank import Ranker, log_coverage, no_attention, no_probability
from jumok.halting import heed
from jumok.models.memory import Decoder, Memory
from jumok.shapes import Bool, Float, Int, Tensor

State = TypeVar("State")

ReadAttention: TypeAlias = Callable[[], Tensor]
"""What the decoder's last step attended to: (batch source), each row sums to 1."""


@dataclass(frozen=True)
class Candidates:
    """The candidates of one step of the search, best first.

    Attributes:
        sentences: which sentences of the batch were still searched.
        parents: the place in the beam of the hypothesis that each one extends.
        log_probabilities: those of the token alone.
        totals: those of the whole hypothesis; minus infinity: an empty place.
        kept: stays in the beam. finished: ended here with END, among the best of its beam.
    """

    sentences: Int[Tensor, " sentences"]
    parents: Int[Tensor, "sentences candidates"]
    tokens: Int[Tensor, "sentences candidates"]
    log_probabilities: Float[Tensor, "sentences candidates"]
    totals: Float[Tensor, "sentences candidates"]
    kept: Bool[Tensor, "sentences candidates"]
    finished: Bool[Tensor, "sentences candidates"]


CANDIDATES = "candidates"
"""The event that a beam search reports at every step, with its decoder as the owner."""


@dataclass(frozen=True)
class Beams:
    """The live hypotheses, `width` a sentence, best first; the row of the decoder's state that
    belongs to hypothesis w of sentence s is s * width + w.

    Attributes:
        sentences: which sentences of the batch are still searched.
        scores: log-probabilities. Minus infinity: an empty place, as long as there are fewer
            hypotheses than the beam holds.
        tokens: START and the tokens written; all hypotheses have the same length.
        attention: the attention to every source position so far. None without coverage penalty.
    """

    sentences: Int[Tensor, " sentences"]
    scores: Float[Tensor, "sentences width"]
    tokens: Int[Tensor, "sentences width length"]
    log_probabilities: Float[Tensor, "sentences width written"]
    attention: Float[Tensor, "sentences width source"] | None

    @property
    def written(self) -> Int[Tensor, "rows written"]:
        """The tokens without START, a row a hypothesis."""
        return self.tokens[:, :, 1:].flatten(0, 1)

    def keep(
        self, sentences: Int[Tensor, " kept"], parents: Int[Tensor, "kept width"]
    ) -> tuple["Beams", Int[Tensor, " rows"]]:
        """The beams of these sentences and hypotheses, and the rows of their decoder states."""
        at = sentences[:, None]
        attention = None if self.attention is None else self.attention[at, parents]
        kept = Beams(
            self.sentences[sentences],
            self.scores[at, parents],
            self.tokens[at, parents],
            self.log_probabilities[at, parents],
            attention,
        )
        return kept, (at * self.scores.shape[1] + parents).flatten()

    def extend(
        self,
        scores: Float[Tensor, "sentences width"],
        tokens: Int[Tensor, "sentences width"],
        log_probabilities: Float[Tensor, "sentences width"],
    ) -> "Beams":
        """Each hypothesis with one token more."""
        return Beams(
            self.sentences,
            scores,
            torch.cat([self.tokens, tokens[..., None]], dim=2),
            torch.cat([self.log_probabilities, log_probabilities[..., None]], dim=2),
            self.attention,
        )


@torch.inference_mode()
def beam_search(
    decoder: Decoder[State],
    memory: Memory,
    beam: int,
    limits: Limits,
    ranker: Ranker | None = None,
    nbest: int = 1,
    patience: float | None = 1.0,
    prefixes: Prefixes | None = None,
    attention: ReadAttention | None = None,
) -> list[list[Hypothesis]]:
    """The `nbest` best hypotheses found for every row of the memory, best first.

    A step extends every live hypothesis by every token and takes the best 2 * `beam` by
    log-probability (of equals: the better hypothesis, then the lower id). Those of the first
    `beam` that end leave the beam; the best `beam` of those that do not end stay in it.
    The search for a sentence stops when `beam` * `patience` hypotheses are finished, or when no
    live one can still get a score above the worst that is kept. Fewer than `nbest` are returned
    where fewer are found.

    The candidates of every step are reported to the decoder's listeners (event `CANDIDATES`).

    Args:
        patience: Source: Kasai et al. 2022, "A Call for Clarity in Beam Search". None: only the
            second rule stops a search. It finds the better score, but takes up to as many steps as
            the maximum length, and with a length penalty it may find long repetitions.
        prefixes: the forced beginning of each row, without START. None: nothing.
        attention: gives the last step's attention; used only with a coverage penalty.

    Raises:
        ConfigError: a beam that is empty or smaller than `nbest`; a coverage penalty without
            attention.
        ModelError: a prefix that cannot be forced, or logits that are not numbers.
    """
    ranker = ranker or Ranker()
    check_beam(beam, nbest, patience)
    check_attention(ranker, attention)
    longest = limits.longest(memory)
    forced = limits.forced_tokens(prefixes, longest, decoder.vocabulary_size)
    enough = None if patience is None else max(nbest, ceil(beam * patience))
    pool = Pool(len(longest), nbest, enough, ranker.same)
    heard_by = listeners(decoder, CANDIDATES)
    search = Search(beam, limits, ranker, memory.allowed, longest, pool, heard_by)
    return run(search, decoder, memory, forced, attention)


def run(
    search: "Search",
    decoder: Decoder[State],
    memory: Memory,
    forced: Int[Tensor, "sentences prefix"],
    attention: ReadAttention | None,
) -> list[list[Hypothesis]]:
    """Runs a search until every sentence has its hypotheses."""
    limits = search.limits
    beams = search.begin(memory, watched=search.ranker.coverage_penalty > 0)
    beams, state = _begin_with(beams, forced, decoder, decoder.start(memory), limits)
    length = beams.tokens.shape[2] - 1
    while len(beams.sentences):
        heed()
        width = beams.scores.shape[1]
        logits, state = decoder.step(beams.tokens[:, :, -1].flatten(), state)
        if beams.attention is not None and attention is not None:
            beams.attention.add_(attention().view_as(beams.attention))
        forced_now = None
        if length < forced.shape[1]:
            forced_now = forced[beams.sentences, length].repeat_interleave(width)
        scores = limits.log_probabilities(logits, length, forced_now, beams.written)
        beams, rows = search.advance(beams, scores.view(-1, width, scores.shape[1]), length)
        if len(rows):
            state = decoder.reorder(state, rows)
        length += 1
    return search.results()


def _begin_with(
    beams: Beams,
    forced: Int[Tensor, "sentences prefix"],
    decoder: Decoder[State],
    state: State,
    limits: Limits,
) -> tuple[Beams, State]:
    """The beams after the forced beginning of all sentences, still one hypothesis a sentence."""
    beginning = forced_everywhere(forced)
    if beginning == 0 or len(forced) == 0 or beams.attention is not None:
        return beams, state  # coverage is counted step by step
    forced = forced[:, :beginning]
    values, state = read_beginning(decoder, state, forced, limits)
    tokens = torch.cat([beams.tokens, forced[:, None]], dim=2)
    return replace(
        beams, scores=values.sum(1, keepdim=True), tokens=tokens, log_probabilities=values[:, None]
    ), state


def check_attention(ranker: Ranker, attention: ReadAttention | None) -> None:
    """Raises ConfigError for a coverage penalty without the model's attention."""
    if ranker.coverage_penalty and attention is None:
        raise no_attention()


class Search:
    """The constants of a search, and the pool of finished hypotheses.

    Attributes:
        heard_by: what receives the candidates of every step.
    """

    def __init__(
        self,
        beam: int,
        limits: Limits,
        ranker: Ranker,
        allowed: Bool[Tensor, "batch source"] | None,
        longest: Int[Tensor, " batch"],
        pool: Pool,
        heard_by: Sequence[Callable[[Candidates], None]] = (),
    ) -> None:
        self.heard_by = heard_by
        self.beam, self.limits, self.ranker, self.pool = beam, limits, ranker, pool
        self.allowed, self.longest = allowed, longest
        most = int(longest.max()) if len(longest) else 0
        self.penalties = torch.from_numpy(ranker.penalties(most)).to(longest.device)
        self.first_limit = int(longest.min()) if len(longest) else 0

    def begin(self, memory: Memory, watched: bool) -> Beams:
        """One hypothesis a sentence: START."""
        batch, source, _ = memory.states.shape
        device = memory.states.device
        return Beams(
            torch.arange(batch, device=device),
            torch.zeros((batch, 1), device=device),
            torch.full((batch, 1, 1), self.limits.start, device=device),
            torch.empty((batch, 1, 0), device=device),
            torch.zeros((batch, 1, source), device=device) if watched else None,
        )

    def advance(
        self,
        beams: Beams,
        log_probabilities: Float[Tensor, "sentences width vocabulary"],
        length: int,
    ) -> tuple[Beams, Int[Tensor, " rows"]]:
        """The beams one token later, and the rows of their decoder states."""
        _, width, vocabulary = log_probabilities.shape
        totals = (beams.scores[..., None] + log_probabilities).flatten(1)
        values, places = largest(totals, min(2 * self.beam, width * vocabulary))
        parents, tokens = places // vocabulary, places % vocabulary
        chosen = log_probabilities.flatten(1).gather(1, places)

        ended = tokens == self.limits.end
        finishing = ended & (values > -inf)
        finishing[:, self.beam :] = False
        at_limit = self.longest[beams.sentences] == length
        if length >= self.first_limit:
            finishing &= ~at_limit[:, None]
            self._close(beams, log_probabilities, at_limit)
        self._finish(beams, finishing, parents, chosen)

        live_values = values.masked_fill(ended, -inf)
        live_values, order = live_values.sort(dim=1, descending=True, stable=True)
        live_values, order = live_values[:, : self.beam], order[:, : self.beam]
        settled = self._settled(beams, live_values[:, 0], length)
        going = (~(settled | at_limit)).nonzero()[:, 0]
        order = order[going]
        if self.heard_by:
            kept_here = torch.zeros_like(ended)
            kept_here[going] = kept_here[going].scatter(1, order, True)
            kept_here &= values > -inf
            candidates = Candidates(
                beams.sentences, parents, tokens, chosen, values, kept_here, finishing
            )
            for listener in self.heard_by:
                listener(candidates)
        kept, rows = beams.keep(going, parents[going].gather(1, order))
        extended = kept.extend(
            live_values[going], tokens[going].gather(1, order), chosen[going].gather(1, order)
        )
        return extended, rows

    def _settled(
        self, beams: Beams, best: Float[Tensor, " sentences"], length: int
    ) -> Bool[Tensor, " sentences"]:
        """Whether no live hypothesis, of which these are the best, can change the result."""
        bound = self._bound(beams, best, length)
        settled = self.pool.settled(beams.sentences.cpu().numpy(), bound.cpu().numpy())
        return torch.from_numpy(settled).to(best.device)

    def _bound(
        self, beams: Beams, best: Float[Tensor, " sentences"], length: int
    ) -> Float[Tensor, " sentences"]:
        """The highest score that a live hypothesis can still get.

        Its log-probability can only fall and its coverage costs 0 at best. The penalty that
        divides it is monotone in the length, so it is largest at the next step (where a negative
        strength rewards short sentences) or at the maximum length.
        """
        last = self.penalties[self.longest[beams.sentences] + 1]
        soonest = self.penalties[min(length + 2, len(self.penalties) - 1)]
        return best / torch.maximum(last, soonest)

    def _finish(
        self,
        beams: Beams,
        finishing: Bool[Tensor, "sentences candidates"],
        parents: Int[Tensor, "sentences candidates"],
        chosen: Float[Tensor, "sentences candidates"],
    ) -> None:
        """Moves the hypotheses that END was added to to the pool."""
        sentence, candidate = finishing.nonzero(as_tuple=True)
        if len(sentence):
            parent = parents[sentence, candidate]
            self._add(beams, sentence, parent, chosen[sentence, candidate].tolist())

    def _close(
        self,
        beams: Beams,
        log_probabilities: Float[Tensor, "sentences width vocabulary"],
        at_limit: Bool[Tensor, " sentences"],
    ) -> None:
        """Moves all hypotheses of the sentences at their maximum length to the pool."""
        here = at_limit[:, None] & (beams.scores > -inf)
        sentence, parent = here.nonzero(as_tuple=True)
        following = log_probabilities[sentence, parent]
        ends = (following.argmax(1) == self.limits.end).tolist()
        end = following[:, self.limits.end].tolist()
        self._add(
            beams, sentence, parent, [p if e else None for p, e in zip(end, ends, strict=True)]
        )

    def _add(
        self,
        beams: Beams,
        sentence: Int[Tensor, " hypotheses"],
        parent: Int[Tensor, " hypotheses"],
        end: list[float] | list[float | None],
    ) -> None:
        """Adds hypotheses to the pool; `end` is END's log-probability, or None for a cut one."""
        tokens = beams.tokens[sentence, parent, 1:].tolist()
        values = beams.log_probabilities[sentence, parent].tolist()
        where = beams.sentences[sentence]
        covered = [0.0] * len(tokens)
        if beams.attention is not None:
            allowed = None if self.allowed is None else self.allowed[where]
            covered = log_coverage(beams.attention[sentence, parent], allowed).tolist()
        rated = [
            self.ranker.rate(t, v if e is None else [*v, e], c)
            for t, v, e, c in zip(tokens, values, end, covered, strict=True)
        ]
        self.pool.add(where.tolist(), rated)

    def results(self) -> list[list[Hypothesis]]:
        """The best hypotheses of every sentence.

        Raises:
            ModelError: the model gave no token a probability.
        """
        best = self.pool.best()
        for sentence, hypotheses in enumerate(best):
            if not hypotheses:
                raise no_probability(f"no hypothesis for sentence {sentence}")
        return best
