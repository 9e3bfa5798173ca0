"""Beam search for hypotheses that contain given phrases.

Dynamic beam allocation. Source: Post and Vilar 2018, "Fast Lexically Constrained Decoding with
Dynamic Beam Allocation for Neural Machine Translation"; overlapping phrases after Hu et al. 2019,
"Improved Lexically Constrained Decoding for Translation and Monolingual Rewriting".
"""

from dataclasses import replace
from itertools import islice
from math import ceil, inf
from typing import TypeVar

import torch

from jumok.decoding.beam import Beams, ReadAttention, Search, check_attention, run
from jumok.decoding.constraints import ConstraintAutomaton, Constraints, Ways, check_constraints
from jumok.decoding.filters import largest, no_repeat
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits, Prefixes, check_beam
from jumok.decoding.pool import Pool
from jumok.decoding.rank import Ranker
from jumok.decoding.steps.banks import Extension, allocate, width_of, within
from jumok.models.memory import Decoder, Memory
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")


@torch.inference_mode()
def constrained_search(
    decoder: Decoder[State],
    memory: Memory,
    beam: int,
    limits: Limits,
    constraints: list[Constraints],
    ranker: Ranker | None = None,
    nbest: int = 1,
    patience: float | None = 1.0,
    prefixes: Prefixes | None = None,
    attention: ReadAttention | None = None,
) -> list[list[Hypothesis]]:
    """The `nbest` best hypotheses found for every row that contain all of the row's constraints.

    As `beam_search`, but the places in the beam are divided among banks: hypotheses that lack the
    same number of constraint tokens compete only with each other. Candidates are the best
    2 * `beam` extensions, and for every hypothesis also the tokens that constraints need next. A
    hypothesis ends only when it contains all constraints, and one that could not write the rest
    before its maximum length is dropped; so every hypothesis contains them.

    With an unlimited beam the result is the best of all hypotheses that contain them. A beam with
    fewer places than there are banks writes constraints early, so a row's beam is widened to one
    place a bank, up to WIDEST.

    Args:
        constraints: for each row its phrases. A row without any is searched as by `beam_search`.

    Raises:
        ConfigError: as `beam_search`.
        ModelError: constraints that no hypothesis can contain, and as `beam_search`.
    """
    ranker = ranker or Ranker()
    check_beam(beam, nbest, patience)
    check_attention(ranker, attention)
    longest = limits.longest(memory)
    never = (*limits.forbidden, limits.start, limits.end)
    check_constraints(constraints, len(longest), longest.tolist(), decoder.vocabulary_size, never)
    forced = limits.forced_tokens(prefixes, longest, decoder.vocabulary_size)
    progress = [ConstraintAutomaton(phrases) for phrases in constraints]
    enough = None if patience is None else max(nbest, ceil(beam * patience))
    pool = Pool(len(longest), nbest, enough, ranker.same)
    search = ConstrainedSearch(beam, limits, ranker, memory.allowed, longest, pool)
    search.follow(progress, forced)
    return run(search, decoder, memory, forced, attention)


class ConstrainedSearch(Search):
    """A beam search whose beam is divided by the number of missing constraint tokens."""

    def follow(
        self, progress: list[ConstraintAutomaton], forced: Int[Tensor, "batch prefix"]
    ) -> None:
        """Begins with no token written; `no_repeat_ngram` applies to free tokens only."""
        self.progress = progress
        self.forced = forced.tolist()
        self.repeats = self.limits.no_repeat_ngram
        self.limits = replace(self.limits, no_repeat_ngram=0)
        self.ways: list[list[Ways]] = []
        self.widths = [width_of(self.beam, each) for each in progress]

    def advance(
        self,
        beams: Beams,
        log_probabilities: Float[Tensor, "sentences width vocabulary"],
        length: int,
    ) -> tuple[Beams, Int[Tensor, " rows"]]:
        """The beams one token later, and the rows of their decoder states."""
        if not self.ways:
            self.ways = self._begun(beams)
        sentences = beams.sentences.tolist()
        self._close_finished(beams, log_probabilities, length)
        found = self._candidates(beams, log_probabilities, length)
        chosen: list[list[Extension]] = []
        for place, candidates in enumerate(found):
            if length == int(self.longest[sentences[place]]):
                chosen.append([])
                continue
            width = self.widths[sentences[place]]
            self._end(beams, log_probabilities, place, candidates, width)
            live = [each for each in candidates if each.token != self.limits.end]
            chosen.append(allocate(live, width))
        best = [max((each.total for each in live), default=-inf) for live in chosen]
        of_best = torch.tensor(best, device=beams.scores.device)
        settled = self._settled(beams, of_best, length).tolist()
        going = [place for place, live in enumerate(chosen) if live and not settled[place]]
        return self._next(beams, log_probabilities, going, [chosen[place] for place in going])

    def _begun(self, beams: Beams) -> list[list[Ways]]:
        """The constraint states after the forced beginning, one hypothesis a sentence."""
        begun = []
        for sentence, tokens in zip(beams.sentences.tolist(), beams.written.tolist(), strict=True):
            ways = self.progress[sentence].start
            for token in tokens:
                ways = self.progress[sentence].after(ways, token)
            begun.append([ways])
        return begun

    def _next(
        self,
        beams: Beams,
        log_probabilities: Tensor,
        going: list[int],
        chosen: list[list[Extension]],
    ) -> tuple[Beams, Int[Tensor, " rows"]]:
        """The beams with the chosen candidates, padded with empty places."""
        device = beams.scores.device
        width = max(map(len, chosen), default=1)
        nothing = Extension(-inf, 0, self.limits.start, 0, frozenset())
        full = [[*live, *[nothing] * (width - len(live))] for live in chosen]
        self.ways = [[each.ways for each in live] for live in full]
        places = torch.tensor(going, dtype=torch.long, device=device)
        shape = (len(going), width)
        parents, tokens = (
            torch.tensor([[each[key] for each in live] for live in full], device=device)
            .long()
            .view(shape)
            for key in (1, 2)
        )
        totals = torch.tensor([[each.total for each in live] for live in full], device=device)
        kept, rows = beams.keep(places, parents)
        values = log_probabilities[places[:, None], parents, tokens]
        return kept.extend(totals.view(shape), tokens, values), rows

    def _candidates(
        self, beams: Beams, log_probabilities: Tensor, length: int
    ) -> list[list[Extension]]:
        """The candidates of every sentence, best first."""
        _, width, vocabulary = log_probabilities.shape
        free = log_probabilities
        if self.repeats:
            flat = log_probabilities.flatten(0, 1)
            others = no_repeat(beams.written, self.repeats)(flat).view_as(log_probabilities)
            here = [self._is_free(sentence, length) for sentence in beams.sentences.tolist()]
            at = torch.tensor(here, device=free.device)[:, None, None]
            free = torch.where(at, others, log_probabilities)
        totals = (beams.scores[..., None] + free).flatten(1)
        most = 2 * max(self.widths[sentence] for sentence in beams.sentences.tolist())
        values, places = largest(totals, min(most, width * vocabulary))
        rows = zip(
            beams.sentences.tolist(), values.tolist(), places.tolist(), self.ways, strict=True
        )
        scores = beams.scores.tolist()
        found = []
        for place, (sentence, of_row, at, ways) in enumerate(rows):
            progress, left = self.progress[sentence], int(self.longest[sentence]) - length - 1
            options = {
                (where // vocabulary, where % vocabulary): value
                for value, where in islice(zip(of_row, at, strict=True), 2 * self.widths[sentence])
                if value > -inf
            }
            needed = [
                (parent, token)
                for parent, state in enumerate(ways)
                if scores[place][parent] > -inf
                for token in sorted(progress.advancing(state))
                if (parent, token) not in options and self._is_free(sentence, length)
            ]
            if needed:
                one, other = map(list, zip(*needed, strict=True))
                extra = log_probabilities[place, one, other].tolist()
                for (parent, token), value in zip(needed, extra, strict=True):
                    if value > -inf:
                        options[parent, token] = scores[place][parent] + value
            found.append(within(options, ways, progress, left, self.limits.end))
        return found

    def _is_free(self, sentence: int, length: int) -> bool:
        forced = self.forced[sentence]
        return length >= len(forced) or forced[length] < 0

    def _end(
        self,
        beams: Beams,
        log_probabilities: Tensor,
        place: int,
        candidates: list[Extension],
        best: int,
    ) -> None:
        """Moves the candidates that end to the pool if they are among the `best` complete ones."""
        whole = [each for each in candidates if each.missing == 0][:best]
        parents = [each.parent for each in whole if each.token == self.limits.end]
        if not parents:
            return
        at = torch.tensor(parents, device=beams.scores.device)
        values = log_probabilities[place, at, self.limits.end].tolist()
        self._add(beams, torch.full_like(at, place), at, values)

    def _close_finished(self, beams: Beams, log_probabilities: Tensor, length: int) -> None:
        """Moves the hypotheses at their maximum length to the pool; they are complete by then."""
        at_limit = self.longest[beams.sentences] == length
        if bool(at_limit.any()):
            self._close(beams, log_probabilities, at_limit)
