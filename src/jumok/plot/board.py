"""The numbers of a map: which site and head, by words or by tokens, as on the page."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from jumok.attention.role import Part
from jumok.errors import ModelError
from jumok.inspection.explain import part_sites, readable, usual_site
from jumok.inspection.findings import Unit
from jumok.inspection.trace import Array, Axis, Site, Trace

HeadChoice: TypeAlias = int | Literal["mean", "max"]
MapValue = Literal["weights", "norms"]
StepName = Literal["writes", "reads"]
Scale = Literal["one", "largest"]
"""Where the colours end: at 1, or at the largest weight of what is drawn."""

SMALLEST_SCALE = 1e-6
"""The smallest end of a scale."""


@dataclass(frozen=True)
class AttentionMap:
    """What is drawn.

    Attributes:
        values: (rows columns), 0 to 1.
        most: the value at the end of the scale.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    most: float = 1.0


def chosen_site(trace: Trace, part: Part | None, layer: int | None) -> Site:
    """The site of a layer; None: that of the alignment setting, or the last.

    Raises:
        ModelError: no such part or layer.
    """
    sites = part_sites(trace, part)
    if layer is None:
        return usual_site(trace, sites)
    for site in sites:
        if site.layer == layer:
            return site
    raise ModelError(
        "the model has no such layer.",
        expected=f"one of {', '.join(str(site.layer + 1) for site in sites)}",
        got=str(layer + 1),
    )


def chosen_head(trace: Trace, site: Site, head: HeadChoice | None) -> HeadChoice:
    """`head`; None: the head of the alignment setting if that is of this site, or the mean."""
    if head is not None:
        return head
    setting = trace.findings.setting if site.part == "cross" else None
    known = setting.head if setting is not None and setting.layer == site.layer else None
    return "mean" if known is None else known


def title_of(site: Site) -> str:
    """The kind of attention, such as "cross-attention (target → source)"."""
    if site.part == "image":
        return "attention over the image"
    queries, keys = (name.replace("picture", "image") for name in (site.queries, site.keys))
    own = "self-attention" if site.queries == "text" else f"{site.part} self-attention"
    return f"{'cross-attention' if site.part == 'cross' else own} ({queries} → {keys})"


def head_name(site: Site, head: HeadChoice) -> str:
    """What `matrix` gives of the weights: a head, which may be one that is subtracted, or all."""
    factors = site.factors
    if head == "max":
        return "largest of all heads"
    if head == "mean":
        differences = "mean of the pairs' signed differences (below 0: as 0)"
        return "mean of all heads" if factors is None else differences
    name = f"head {int(head) + 1}"
    if factors is None or not 0 <= int(head) < len(factors) or factors[int(head)] == 1:
        return name
    return f"{name}, subtracted x {-factors[int(head)]:.2f}"


def matrix(site: Site, head: HeadChoice, value: MapValue = "weights") -> Array:
    """(query key): the weights of a head, or of all; or for each key its share of the norms.

    Raises:
        ModelError: no such head; norms that were not recorded.
    """
    if value == "norms":
        if site.norms is None:
            raise ModelError("no norms were recorded of this attention.", got=site.name)
        sums = site.norms.sum(axis=1, keepdims=True)
        shares: Array = np.divide(site.norms, sums, out=np.zeros_like(site.norms), where=sums > 0)
        return shares
    if head == "mean":
        return site.mean
    if head == "max":
        most: Array = site.weights.max(axis=0)
        return most
    if not 0 <= head < len(site.weights):
        raise ModelError(
            "the model has no such head.", expected=f"1 to {len(site.weights)}", got=str(head + 1)
        )
    weights: Array = site.weights[head]
    return weights


def board(
    trace: Trace,
    site: Site,
    values: Array,
    unit: Unit = "words",
    reading: StepName | None = None,
    *,
    rest: bool = False,
    sunk: bool = False,
) -> AttentionMap:
    """The map with its words or tokens.

    A column of a word is the sum of its tokens' columns, and a row the mean of its tokens' rows
    (Clark et al. 2019, section 4.1).

    Args:
        reading: a target word's row is that of the step that writes it, or of the one that reads
            it. None: that of the model's alignment setting.
        rest: whether to add a column for tokens that are not words, if there are any.
        sunk: whether that column has what is left of each row, up to 1, as well: a sink's weight.
    """
    queries, keys = trace.axes[site.queries], trace.axes[site.keys]
    if reading is None:
        reading = "reads" if trace.findings.at_input else "writes"
    shift = int(site.part in ("decoder", "cross") and reading == "writes")
    named = range(shift, len(queries.tokens))
    if unit == "pieces":
        rows = [readable(queries.tokens[place]) for place in named] + ["⏎"] * shift
        shown = AttentionMap(tuple(rows), tuple(map(readable, keys.tokens)), values)
        return (
            _rest(shown, np.eye(len(values), dtype=np.float32), 1 - values.sum(axis=1))
            if rest and sunk
            else shown
        )
    out = _word_membership(queries, range(shift, len(queries.tokens) + shift), mean=True)
    into = _word_membership(keys, range(len(keys.tokens)), mean=False)
    merged: Array = (out @ values @ into.T).astype(np.float32)
    shown = AttentionMap(queries.texts, keys.texts, merged)
    if not rest or not (sunk or None in keys.words):
        return shown
    others = values[:, [word is None for word in keys.words]].sum(axis=1)
    return _rest(shown, out, others + (1 - values.sum(axis=1) if sunk else 0))


def on_scale(shown: AttentionMap, scale: Scale, rest: bool = False) -> AttentionMap:
    """The map on a scale that ends at 1, or at its largest value but those of the rest."""
    values = shown.values[:, :-1] if rest and shown.columns[-1:] == ("rest",) else shown.values
    largest = float(values.max(initial=SMALLEST_SCALE))
    return shown if scale == "one" else replace(shown, most=min(1.0, largest))


def _rest(shown: AttentionMap, out: Array, left: Array) -> AttentionMap:
    column: Array = (out @ left)[:, None].astype(np.float32)
    values: Array = np.concatenate((shown.values, column), axis=1)
    return replace(shown, columns=(*shown.columns, "rest"), values=values)


def _word_membership(axis: Axis, places: range, mean: bool) -> Array:
    """(words rows), 1 where the row is a token of the word, otherwise 0."""
    index = np.array([-1 if word is None else word for word in axis.words])
    of_row = [index[place] if place < len(index) else -1 for place in places]
    belongs = (np.arange(len(axis.texts))[:, None] == np.array(of_row)).astype(np.float32)
    if mean:
        belongs /= np.maximum(belongs.sum(axis=1, keepdims=True), 1)
    return belongs
