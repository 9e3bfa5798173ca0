"""What attention modules attended to while a decoder wrote step by step, as sites of a trace."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from jumok.inspection.hooks.recording import Fact, RecordedPass, TokenTree
from jumok.inspection.sites import SiteBuilder, numpy_of
from jumok.inspection.trace import Array, Mask, Site

Nodes = Sequence[int]
"""Tokens of a tree by their indices: a hypothesis, or all; a parent before its children."""

Places = npt.NDArray[np.int64]
Numbers = TypeVar("Numbers", Array, Mask)


class TreeTokens(NamedTuple):
    """Tokens of a tree that are processed together.

    Attributes:
        paths: (tokens deepest): for each token its hypothesis, as indices among the tokens; padded
            with their number.
        seen: (tokens tokens), the same as a mask: the keys of each query; None: all of them.
        lines: the index of each in `RecordedPass.lines`.
    """

    nodes: Nodes
    paths: Places
    seen: Mask | None
    lines: Sequence[int]

    @classmethod
    def of(cls, tree: TokenTree, nodes: Nodes, parents: Sequence[int]) -> "TreeTokens":
        """`parents`: for each token the index of the one before it, -1 for the first."""
        paths = _paths(parents)
        (seen,) = _at_their_keys(np.ones((1, *paths.shape), dtype=np.bool_), paths)
        lines = [tree.places[node].line for node in nodes]
        return cls(nodes, paths, None if seen.all() else seen, lines)

    def within(self, window: int | None) -> Mask | None:
        """`seen` inside of a window: the last tokens of each hypothesis."""
        if window is None:
            return self.seen
        depths = (self.paths < len(self.paths)).sum(1)
        near = np.arange(self.paths.shape[1]) >= depths[:, None] - window
        (seen,) = _at_their_keys(near[None], self.paths)
        return None if seen.all() else seen


def _paths(parents: Sequence[int]) -> Places:
    """For each token its hypothesis: the keys it may attend to, itself the last of them."""
    depths: list[int] = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    paths = np.full((len(parents), max(depths) + 1), len(parents))
    for place, (parent, depth) in enumerate(zip(parents, depths, strict=True)):
        if depth:
            paths[place] = paths[parent]
        paths[place, depth] = place
    return paths


def _at_their_keys(numbers: Numbers, paths: Places) -> Numbers:
    """(heads tokens deepest) -> (heads tokens tokens): each row's numbers at the row's own keys.

    The numbers of a token are 0 at keys that it may not attend to.
    """
    heads, tokens, _ = numbers.shape
    room = np.zeros((heads, tokens, tokens + 1), dtype=numbers.dtype)
    room[:, np.arange(tokens)[:, None], paths] = numbers[:, :, : paths.shape[1]]
    return np.ascontiguousarray(room[:, :, :tokens])  # the last column received the padding


def tree_site(
    builder: SiteBuilder,
    recorded: RecordedPass,
    tree: TokenTree,
    tokens: TreeTokens,
    site: str,
    keys: int,
) -> Site:
    """The rows of these tokens. Keys that a token may not attend to have no weight.

    Args:
        keys: how many keys are real.
    """  # fmt: skip
    own = builder.place(site).part == "decoder"
    place = tree.places[tokens.nodes[-1]]
    last = recorded.decoder[place.call].attention[site][-1]

    def of_tokens(fact: Fact) -> Array:
        """(heads tokens width)"""
        return recorded.lines(site, fact)[tokens.lines].transpose(1, 0, 2)

    def of_keys(fact: Fact) -> Array:
        """(heads tokens keys)"""
        numbers = of_tokens(fact)
        return _at_their_keys(numbers, tokens.paths) if own else numbers[:, :, :keys].copy()

    vectors = None
    if last.vectors is not None:
        if own:
            key, value = of_tokens("key"), of_tokens("value")
        else:
            key, value = (numpy_of(each[place.row, :, :keys]) for each in last.vectors[1:])
        vectors = of_tokens("query"), key, value
    allowed = tokens.within(builder.window(site)) if own else None
    bias = None if last.bias is None else of_keys("bias")
    return builder.site(site, last, of_keys("weights"), vectors, bias, allowed)
