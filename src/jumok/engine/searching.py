"""What a search on the engine is given, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.errors import ModelError

MemoryStates = npt.NDArray[np.float32]
"""(positions dim): what an encoder wrote, at least one position"""

Source = Sequence[int] | MemoryStates
"""What a decoder is given to read: a text's tokens, END included, or a Memory."""


@dataclass(frozen=True)
class SearchRules:
    """The rules of a search.

    Attributes:
        longest: the maximum number of tokens of each sentence, without END.
        penalties: by length, END counted: what a hypothesis's log-probability is divided by;
            two entries more than the largest of `longest`.
        enough: the number of finished hypotheses that ends the search for a sentence; 0: none does.
    """

    beam: int
    start: int
    end: int
    forbidden: tuple[int, ...]
    minimum: int
    longest: Sequence[int]
    penalties: Sequence[float]
    enough: int


@dataclass(frozen=True)
class Written:
    """A hypothesis: its tokens without END, and their log-probabilities, END's included.

    Attributes:
        attention: the weights that were asked for, as in `engine/forced.py`.
    """

    tokens: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    attention: tuple[npt.NDArray[np.float32], ...] = ()


def check_sources(
    sources: Sequence[Source],
    rules: SearchRules,
    vocabulary: int,
    positions: int | None,
    dim: int,
) -> None:
    """Everything that the engine would read must be there.

    Args:
        positions: the most positions of a source or of a target; None: no limit.
        dim: the width of a Memory.

    Raises:
        ModelError: a source or a target is too long, a token is not in the vocabulary, or a Memory
            has another width.
    """
    texts = [each for each in sources if not isinstance(each, np.ndarray)]
    shapes = {each.shape[1:] for each in sources if isinstance(each, np.ndarray)}
    if shapes - {(dim,)}:
        raise ModelError(
            "a Memory has another width than the model's.",
            expected=f"(positions, {dim})",
            got=str(next(iter(shapes - {(dim,)}))),
        )
    longest = max(max(map(len, texts), default=0), max(rules.longest) + 1)
    if positions is not None and longest > positions:
        raise ModelError(
            "a text is longer than the engine's positions.",
            expected=f"at most {positions} tokens",
            got=str(longest),
        )
    highest = max(map(max, texts), default=0)
    if min(map(min, texts), default=0) < 0 or highest >= vocabulary:
        raise ModelError(
            "a token is not in the vocabulary.",
            expected=f"ids from 0 to {vocabulary - 1}",
            got=str(highest),
        )
