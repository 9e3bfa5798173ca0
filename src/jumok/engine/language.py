"""A causal language model on the engine: it reads a text as it grows, and scores texts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from jumok.config.causal import CausalConfig
from jumok.engine.blocks import PackedStacks
from jumok.engine.forced import Keeping
from jumok.engine.packing import Array, Kind, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.request import Request, session_of
from jumok.engine.searching import SearchRules
from jumok.engine.structures import library
from jumok.errors import ModelError


class NativeCausal:
    """A model's weights in the engine's layout; any number of threads may read with it at once.

    Attributes:
        vocabulary: the number of tokens.
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
        kind: Kind = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        self._packed = PackedStacks(
            config, weights, kind, (0, config.layers), cross=False, integers=integers
        )
        self._layers = config.layers
        self.vocabulary, self.context = self._packed.vocabulary, context
        reach = self._packed.positions
        if reach is not None and context > reach:
            raise ModelError(
                "the context is longer than the engine's positions.",
                expected=f"at most {reach} tokens",
                got=str(context),
            )

    @contextmanager
    def reader(self) -> Iterator["Reader"]:
        """A reader of one text.

        Raises:
            MemoryError: there is not enough memory.
        """
        with self.begun([self.context]) as (session, request):
            yield Reader(session, request, self.context, self.vocabulary)

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
        check_tokens([token for text in texts for token in text], self.vocabulary)
        longest = max(map(len, texts)) - 1
        if longest > self.context:
            raise ModelError(
                "a text is longer than the model's context.",
                expected=f"at most {self.context + 1} tokens",
                got=str(longest + 1),
            )
        with self.begun([len(text) - 1 for text in texts]) as (session, request):
            return request.read(session, texts, self._layers)

    @contextmanager
    def begun(self, lengths: Sequence[int], slots: int = 1) -> Iterator[tuple[int, Request]]:
        """A session, and a request for texts without sources that are so long.

        Args:
            slots: the number of places for what is read of a text.

        Raises:
            MemoryError: there is not enough memory.
        """
        engine = library()
        assert engine is not None
        rules = SearchRules(slots, 0, 0, (), 0, [length - 1 for length in lengths], (), 0)
        request = Request([None] * len(lengths), rules, Keeping((), 1))
        session = engine.jumok_begin(self._packed.layout)
        with session_of(session) as address, request.read_by(address):
            yield address, request


class Reader:
    """Reads one text; when the context is full, it is read again from its last half on.

    Which tokens are in the context is what `decoding/window.py` says, its readable twin.
    """

    def __init__(self, session: int, request: Request, context: int, vocabulary: int) -> None:
        self._session, self._request, self._context = session, request, context
        self._window: list[int] = []
        self._known = 0
        self._vocabulary = vocabulary

    def read(self, tokens: Sequence[int]) -> Array:
        """The log-probabilities after the last of these tokens, which continue the text.

        Raises:
            ModelError: a token is not in the vocabulary.
            MemoryError: there is not enough memory.
        """
        check_tokens(tokens, self._vocabulary)
        for token in tokens:
            if len(self._window) == self._context:
                self._window = self._window[-(self._context // 2) :]
                self._known = 0
            self._window.append(token)
        new = np.array(self._window[self._known :], np.int32)
        values = np.empty(self._vocabulary, np.float32)
        engine = library()
        assert engine is not None
        failed = engine.jumok_read(
            self._session, self._request.layout, len(new), new.ctypes.data, self._known,
            values.ctypes.data,
        )  # fmt: skip
        if failed:
            raise MemoryError("the engine's pass over a text")
        self._known = len(self._window)
        return values


def check_tokens(tokens: Sequence[int], vocabulary: int) -> None:
    """Raises ModelError if a token is not in the vocabulary."""
    if min(tokens) < 0 or max(tokens) >= vocabulary:
        raise ModelError(
            "a token is not in the vocabulary.",
            expected=f"ids from 0 to {vocabulary - 1}",
            got=str(max(tokens) if min(tokens) >= 0 else min(tokens)),
        )
