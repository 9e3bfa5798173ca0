"""What attention modules attended to while they were recorded, as sites of a trace."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from torch import nn

from jumok.alignment.setting import AlignmentSetting
from jumok.inspection.hooks.recording import Fact, Pass, Tree
from jumok.inspection.sites import SequencesOf, SiteBuilder, numpy_of
from jumok.inspection.trace import Array, Axis, Mask, Site
from jumok.shapes import Tensor
from jumok.tracing.axes import Names

Nodes = Sequence[int]
"""Tokens of a tree by their indices: a hypothesis, or all; a parent before its children."""

Places = npt.NDArray[np.int64]
Numbers = TypeVar("Numbers", Array, Mask)


@dataclass(frozen=True)
class About:
    """The facts that a recorder cannot observe.

    Attributes:
        names: of tokens.
        sequences: what the model's sites connect.
        source: makes the axis of the input, from a pass and its row; None: there is no input.
        target: the name of the axis of the output; "" if there is none.
        ends: whether END is a step.
        labels: of a classifier.
        reading: the alignment setting, for the map of each hypothesis.
        fingerprint: of the model.
    """

    model: nn.Module
    task: str
    name: str
    names: Names
    sequences: SequencesOf
    source: Callable[[Pass, int], dict[str, Axis]]
    target: str = ""
    ends: bool = False
    labels: Sequence[str] = ()
    reading: AlignmentSetting | None = None
    fingerprint: str = ""

    @property
    def builder(self) -> SiteBuilder:
        """What makes the sites."""
        return SiteBuilder(self.model, self.sequences)


class TreeTokens(NamedTuple):
    """Tokens of a tree that are processed together.

    Attributes:
        paths: (tokens deepest): for each token its hypothesis, as indices among the tokens; padded
            with their number.
        seen: (tokens tokens), the same as a mask: the keys of each query; None: all of them.
        lines: the index of each in `Pass.lines`.
    """

    nodes: Nodes
    paths: Places
    seen: Mask | None
    lines: Sequence[int]

    @classmethod
    def of(cls, tree: Tree, nodes: Nodes, parents: Sequence[int]) -> "TreeTokens":
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


def _at_their_keys(found: Numbers, paths: Places) -> Numbers:
    """(heads tokens deepest) -> (heads tokens tokens): each row's numbers at the row's own keys.

    The numbers of a token are 0 at keys that it may not attend to.
    """
    heads, tokens, _ = found.shape
    room = np.zeros((heads, tokens, tokens + 1), dtype=found.dtype)
    room[:, np.arange(tokens)[:, None], paths] = found[:, :, : paths.shape[1]]
    return np.ascontiguousarray(room[:, :, :tokens])  # the last column received the padding


def decoder_site(
    about: About, heard: Pass, tree: Tree, written: TreeTokens, site: str, axes: dict[str, Axis]
) -> Site:
    """The rows of these tokens. Keys that a token may not attend to have no weight."""
    where = about.builder.place(site)
    own = where.part == "decoder"
    keys = len(axes[where.keys].tokens)
    place = tree.places[written.nodes[-1]]
    last = heard.calls[place.call].looks[site][-1]

    def of_tokens(fact: Fact) -> Array:
        """(heads tokens width)"""
        return heard.lines(site, fact)[written.lines].transpose(1, 0, 2)

    def of_keys(fact: Fact) -> Array:
        """(heads tokens keys)"""
        found = of_tokens(fact)
        return _at_their_keys(found, written.paths) if own else found[:, :, :keys].copy()

    vectors = None
    if last.vectors is not None:
        if own:
            key, value = of_tokens("key"), of_tokens("value")
        else:
            key, value = (numpy_of(each[place.row, :, :keys]) for each in last.vectors[1:])
        vectors = of_tokens("query"), key, value
    allowed = written.within(about.builder.window(site)) if own else None
    bias = None if last.bias is None else of_keys("bias")
    return about.builder.site(site, last, of_keys("weights"), vectors, bias, allowed)


def _row_of(bias: Tensor, row: int) -> Tensor:
    """One sentence's bias, which all sentences may share."""
    return bias[row if len(bias) > 1 else 0]


def encoder_sites(about: About, heard: Pass, row: int, axes: dict[str, Axis]) -> Iterator[Site]:
    """All sites of the encoder for one sentence or image."""
    for site, (look, *_) in heard.reading.looks.items():
        length = len(axes[about.builder.place(site).keys].tokens)
        vectors = None
        if look.vectors is not None:
            query, key, value = (numpy_of(each[row, :, :length]) for each in look.vectors)
            vectors = query, key, value
        bias = None
        if look.bias is not None:
            shape = (look.weights.shape[1], length, length)
            bias = numpy_of(_row_of(look.bias, row)[:, :length, :length].expand(shape))
        weights = np.ascontiguousarray(look.numbers[row, :, :length, :length])
        allowed = _near(length, about.builder.window(site))
        yield about.builder.site(site, look, weights, vectors, bias, allowed)


def _near(length: int, window: int | None) -> Mask | None:
    """The mask of a window between all positions; None: every position sees all."""
    if window is None or window >= length:
        return None
    place = np.arange(length)
    near: Mask = np.abs(place[:, None] - place) < window
    return near
