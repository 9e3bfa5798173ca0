"""What every model on the engine does: search for targets, and read given ones."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace

import numpy as np

from jumok.computation import timed
from jumok.engine.forced import Depth, Forced, Keeping, WatchedAttention, with_end
from jumok.engine.request import Request, search
from jumok.engine.running import RunningBatch
from jumok.engine.searching import SearchRules, Source, Written, check_sources
from jumok.errors import ModelError


class NativeModel(ABC):
    """A model's weights in the engine's layout; any number of threads may use it at once.

    Attributes:
        positions: the number of positions of a text, END or START included; None: no limit.
        vocabulary: the number of its tokens.
        dim: the width of a Memory.
        source_end: whether the END of a source is read.
    """

    source_end: bool = True
    positions: int | None
    vocabulary: int
    dim: int
    _depth: Depth
    _running: RunningBatch | None = None

    @property
    def cross_layers(self) -> int:
        """The number of the decoder's attentions to the source."""
        return self._depth.cross

    def search_together(self) -> RunningBatch:
        """From now on the searches of all threads are made in one batch, which is returned.

        What they find is the same. Threads that search on several cores are faster without it.
        """
        if self._running is None:
            self._running = RunningBatch(self._session())
        return self._running

    def search(
        self,
        sources: Sequence[Source],
        rules: SearchRules,
        watched: Sequence[WatchedAttention] = (),
    ) -> list[Written]:
        """The best hypothesis for each source (its tokens, or a Memory); beam 1 is greedy.

        Args:
            watched: the attentions whose weights come with each hypothesis, as in `force`; the
                sources are not read again for them.

        Raises:
            ModelError: a source or a target is longer than the model's positions, a token is not
                in the vocabulary, there is no such attention, or the model gives no token a
                probability.
            MemoryError: there is not enough memory.
        """
        if not sources:
            return []
        check_sources(sources, rules, self.vocabulary, self.positions, self.dim)
        self._depth.check(watched)
        with self._read(sources, rules, watched) as (session, request):
            with timed("decode", "native"):
                if self._running is None:
                    search(session, [request])
                else:
                    self._running.search(request)
            written = request.written()
            if not watched:
                return written
            seen = request.force(session, [each.tokens for each in written], None)
        seen = self._with_ends(seen, sources, watched)
        return [
            replace(each, attention=its.attention) for each, its in zip(written, seen, strict=True)
        ]

    def force(
        self,
        sources: Sequence[Source],
        targets: Sequence[Sequence[int]],
        ends: tuple[int, int],
        watched: Sequence[WatchedAttention] = (),
        *,
        log_probabilities: bool = True,
    ) -> list[Forced]:
        """What the model makes of given targets, all positions of which it reads at once.

        In float32 the weights are those of torch to 1e-5. In bfloat16 and int8 they are those of a
        rounded model: of a trained one (2 + 2 layers of 128) off by 0.0002 and 0.0007 on average,
        by 0.01 and 0.04 at most.

        Args:
            sources: their tokens, END included, or Memories.
            targets: one for each source, without START and END.
            watched: the attentions whose weights are wanted, each at most once.
            log_probabilities: whether those of the targets' tokens are wanted. Without them only
                the layers below the highest that is watched are computed, which makes alignments
                cheap.

        Raises:
            ModelError: not one target a source; a text is longer than the model's positions, a
                token is not in the vocabulary, or there is no such attention.
            MemoryError: there is not enough memory.
        """
        if len(sources) != len(targets):
            raise ModelError(
                "every source needs a target.",
                expected=f"{len(sources)} targets",
                got=str(len(targets)),
            )
        if not sources:
            return []
        rules = SearchRules(1, *ends, (), 0, [len(each) for each in targets], (), 0)
        check_sources(sources, rules, self.vocabulary, self.positions, self.dim)
        check_sources(
            [[*each, ends[1]] for each in targets], rules, self.vocabulary, None, self.dim
        )
        self._depth.check(watched)
        with self._read(sources, rules, watched) as (session, request):
            forced = request.force(
                session, targets, self._depth.decoder if log_probabilities else None
            )
        return self._with_ends(forced, sources, watched)

    def _with_ends(
        self,
        forced: Sequence[Forced],
        sources: Sequence[Source],
        watched: Sequence[WatchedAttention],
    ) -> list[Forced]:
        """With weights of 0 for the END of each source where it was not read."""
        if self.source_end:
            return list(forced)
        parts = [each.part for each in watched]
        return [
            replace(
                each,
                attention=tuple(
                    weights if part == "decoder" else with_end(weights, part, len(source))
                    for part, weights in zip(parts, each.attention, strict=True)
                ),
            )
            for each, source in zip(forced, sources, strict=True)
        ]

    @contextmanager
    def read_sources(
        self, sources: Sequence[Source], longest: Sequence[int], slots: int
    ) -> Iterator[tuple[int, Request]]:
        """A session, and these sources as it has read them, for single steps (`engine/steps.py`).

        Args:
            longest: the maximum number of tokens of each target, without END.
            slots: the number of places for what is read of the targets of a source.

        Raises:
            ModelError: as `search`.
            MemoryError: there is not enough memory.
        """
        rules = SearchRules(slots, 0, 0, (), 0, longest, (), 0)
        check_sources(sources, rules, self.vocabulary, self.positions, self.dim)
        with self._read(sources, rules, ()) as read:
            yield read

    @contextmanager
    def _read(
        self, sources: Sequence[Source], rules: SearchRules, watched: Sequence[WatchedAttention]
    ) -> Iterator[tuple[int, Request]]:
        """A session, and a request whose sources were read in it."""
        if not self.source_end:  # a text without words has nothing but END, which is read
            sources = [
                each if isinstance(each, np.ndarray) else each[: max(len(each) - 1, 1)]
                for each in sources
            ]
        keeping = Keeping(watched, self._depth.heads)
        keeping.make_room(("encoder",), [(len(each), 0) for each in sources])
        request = Request(sources, rules, keeping)
        with ExitStack() as open_:
            with timed("encode", "native"):
                session = open_.enter_context(self._session())
                open_.enter_context(request.read_by(session))
            yield session, request

    @abstractmethod
    def _session(self) -> AbstractContextManager[int]:
        """Room to compute in, for one thread."""
