"""A causal language model on the engine: it reads texts as they grow, and scores texts.

A reading of a text yields the pass that it wants made, and is sent what came of it. So one loop can
make the passes of many texts: single tokens of any of them share one step, whose weights are read
from memory once. A text's numbers are the same bits in any company.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from jumok.config.causal import CausalConfig
from jumok.engine import Precision
from jumok.engine.blocks import PackedStacks
from jumok.engine.forced import Keeping
from jumok.engine.packing import Array, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.request import Request, session_of
from jumok.engine.searching import SearchRules
from jumok.engine.steps import StepRow, read_rows
from jumok.engine.structures import loaded_engine
from jumok.errors import ModelError

LONGEST_PASS = 64
"""Tokens of one text that are read in one pass: a long prompt is read in several, between which the
other texts go on."""

Found = TypeVar("Found")


class NativeCausal:
    """A model's weights in the engine's layout; any number of threads may read with it at once.

    Attributes:
        packed: its weights as the engine reads them.
        context: the number of tokens that are read at once.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once.
        integers: by their names, matrices that are already int8.

    Raises:
        ModelError: the model has fewer positions than the context has tokens.
    """

    def __init__(
        self,
        config: CausalConfig,
        weights: Weights,
        context: int,
        kind: Precision = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        self.packed = PackedStacks(
            config, weights, kind, (0, config.layers), cross=False, integers=integers
        )
        self._layers = config.layers
        self.vocabulary, self.context = self.packed.vocabulary, context
        reach = self.packed.positions
        if reach is not None and context > reach:
            raise ModelError(
                "the context is longer than the engine's positions.",
                expected=f"at most {reach} tokens",
                got=str(context),
            )

    def begin(self) -> GrowingText:
        """A text of which nothing is read yet.

        Raises:
            MemoryError: there is not enough memory.
        """
        return GrowingText(self, self.begun([self.context]))

    def pass_reader(self) -> PassReader:
        """What reads texts of this model.

        Raises:
            MemoryError: there is not enough memory.
        """
        return PassReader(self, self.session())

    def score(self, texts: Sequence[Sequence[int]]) -> list[Array]:
        """The log-probability of every token of each text but its first one, in one pass.

        Args:
            texts: of two tokens or more, and of one more than the context at most.

        Raises:
            ModelError: a text is too long, or a token is not in the vocabulary.
            MemoryError: there is not enough memory.
        """
        if not texts:
            return []
        check_in_vocabulary([token for text in texts for token in text], self.vocabulary)
        longest = max(map(len, texts)) - 1
        if longest > self.context:
            raise ModelError(
                "a text is longer than the model's context.",
                expected=f"at most {self.context + 1} tokens",
                got=str(longest + 1),
            )
        with (
            self.session() as session,
            self.begun([len(text) - 1 for text in texts]) as request,
        ):
            return request.read(session, texts, self._layers)

    def session(self) -> AbstractContextManager[int]:
        """Room to compute in, for one thread at a time.

        Raises:
            MemoryError: there is not enough memory.
        """
        return session_of(loaded_engine().jumok_begin(self.packed.layout))

    @contextmanager
    def begun(self, lengths: Sequence[int], slots: int = 1) -> Iterator[Request]:
        """A request for texts without sources that are so long; any session may read them.

        Args:
            slots: the number of places for what is read of a text.

        Raises:
            MemoryError: there is not enough memory.
        """
        rules = SearchRules(slots, 0, 0, (), 0, [length - 1 for length in lengths], (), 0)
        request = Request([None] * len(lengths), rules, Keeping((), 1))
        with ExitStack() as held:
            with self.session() as session:
                held.enter_context(request.read_by(session))
            yield request


class GrowingText:
    """One text that is read as it grows; when the context is full, it is read again from its last
    half on.

    Which tokens are in the context is what `decoding/window.py` says, its readable twin. What the
    engine knows of the text is freed with it, or by `close`.

    Attributes:
        request: the text as the engine knows it.
    """

    def __init__(self, model: NativeCausal, request: AbstractContextManager[Request]) -> None:
        held = ExitStack()
        self.model, self.request = model, held.enter_context(request)
        self._free = weakref.finalize(self, held.close)
        self._window: list[int] = []
        self._known = 0

    @property
    def closed(self) -> bool:
        return not self._free.alive

    def close(self) -> None:
        """Frees what the engine knows of it: it is not read any more."""
        self._free()

    def read(self, tokens: Sequence[int]) -> Passes[Array]:
        """The log-probabilities after the last of these tokens, which continue the text.

        Raises:
            ModelError: a token is not in the vocabulary.
        """
        context = self.model.context
        check_in_vocabulary(tokens, self.model.vocabulary)
        for token in tokens:
            if len(self._window) == context:
                self._window = self._window[-(context // 2) :]
                self._known = 0
            self._window.append(token)
        while True:
            new = np.array(self._window[self._known : self._known + LONGEST_PASS], np.int32)
            values = yield TextPass(self, new, self._known)
            self._known += len(new)
            if self._known == len(self._window):
                return values


@dataclass(frozen=True, eq=False)
class TextPass:
    """Tokens of a text that are read at once.

    Attributes:
        tokens: int32, at least one.
        place: the number of tokens of its window that were read before.
    """

    text: GrowingText
    tokens: np.ndarray
    place: int


Passes = Generator[TextPass, Array, Found]
"""Finds something by passes: it yields each that it wants made, and is sent the log-probabilities
after the last token of the pass, (vocabulary)."""


class PassReader:
    """Makes the passes of any texts of one model, in one thread at a time."""

    def __init__(self, model: NativeCausal, session: AbstractContextManager[int]) -> None:
        held = ExitStack()
        self._model, self._session = model, held.enter_context(session)
        weakref.finalize(self, held.close)

    def read(self, passes: Sequence[TextPass]) -> list[Array]:
        """The log-probabilities after the last token of each, (vocabulary).

        Passes of a single token share one step; each of the others is one call of the engine.

        Raises:
            MemoryError: there is not enough memory.
        """
        assert all(each.text.model is self._model and not each.text.closed for each in passes)
        single = [each for each in passes if len(each.tokens) == 1]
        if len(single) < 2:
            return [self._read(each) for each in passes]
        rows = [
            StepRow(each.text.request, 0, int(each.tokens[0]), each.place, 0) for each in single
        ]
        values = iter(read_rows(self._session, rows, self._model.vocabulary))
        return [next(values) if len(each.tokens) == 1 else self._read(each) for each in passes]

    def finish(self, reading: Passes[Found]) -> Found:
        """What a reading finds that is alone.

        Raises:
            MemoryError: there is not enough memory.
        """
        try:
            wanted = next(reading)
            while True:
                wanted = reading.send(self.read([wanted])[0])
        except StopIteration as over:
            result: Found = over.value
            return result

    def _read(self, wanted: TextPass) -> Array:
        values = np.empty(self._model.vocabulary, np.float32)
        failed = loaded_engine().jumok_read(
            self._session, wanted.text.request.layout, len(wanted.tokens),
            wanted.tokens.ctypes.data, wanted.place, values.ctypes.data,
        )  # fmt: skip
        if failed:
            raise MemoryError("the engine's pass over a text")
        return values


def check_in_vocabulary(tokens: Sequence[int], vocabulary: int) -> None:
    """Raises ModelError if a token is not in the vocabulary."""
    if min(tokens) < 0 or max(tokens) >= vocabulary:
        raise ModelError(
            "a token is not in the vocabulary.",
            expected=f"ids from 0 to {vocabulary - 1}",
            got=str(max(tokens) if min(tokens) >= 0 else min(tokens)),
        )
