"""A walk in a page: as many words' vectors as its limit has room for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jumok.inspection.page.arrays import PageArray, exact
from jumok.inspection.trace import Site, Trace
from jumok.inspection.walk import SiteWalk, Walk

WALK_BYTES = 96 << 10
"""The most bytes of a walk's vectors in a page: 14 tokens in a decoder's layer of width 128."""

FIRST = ("cross", "encoder", "decoder", "image")
"""Which part a page opens with, if the trace has it."""


class WalkFocus(NamedTuple):
    """The query whose way is wanted first."""

    site: str
    query: int


def packed_walk(trace: Trace, focus: WalkFocus | None = None) -> dict[str, object] | None:
    """The walk of the queries that there is room for; the focus comes first, then its neighbours.

    Without a focus it begins with the module that the page opens with. For each module the page
    gets `queries`, the positions that are held, and `arrays` with a row for each of them.
    """
    walk = trace.walk
    if walk is None:
        return None
    sites: dict[str, object] = {}
    room = WALK_BYTES
    for site, first in _in_order(trace, focus):
        one = walk.sites.get(site.name)
        if one is None or not one.arrays:
            continue
        row_bytes = sum(array.shape[1] for array in one.arrays.values()) * 4
        near = sorted(range(site.weights.shape[1]), key=lambda query: abs(query - first))
        fits = max(room // row_bytes, 0 if sites else 1)  # one at least, however wide the model is
        held = sorted(near[:fits])
        room -= len(held) * row_bytes
        sites[site.name] = _site_facts(one) | {
            "queries": held,
            "arrays": dict(_kept_rows(one, held)),
        }
    return {"sites": sites, "limit": WALK_BYTES} | _logit_facts(walk)


def _in_order(trace: Trace, focus: WalkFocus | None) -> Iterator[tuple[Site, int]]:
    """Every site with the query that its walk begins with."""
    sites = list(trace.sites)
    chosen = next((site for site in sites if focus and site.name == focus.site), None)
    if chosen is None and sites:
        chosen = opened_site(trace)
    query = focus.query if focus is not None else 0
    rest = [site for site in reversed(sites) if site is not chosen]
    if chosen is not None:
        yield chosen, query
        rest.sort(key=lambda site: site.part != chosen.part)
    for site in rest:
        same = chosen is not None and site.queries == chosen.queries
        yield site, query if same else 0


def opened_site(trace: Trace) -> Site:
    """The site that a page opens with."""
    sites = trace.sites
    part = next(part for part in FIRST if any(site.part == part for site in sites))
    of_part = [site for site in sites if site.part == part]
    setting = trace.findings.setting
    layer = None if setting is None else setting.layer
    return next((site for site in of_part if site.layer == layer), of_part[-1])


def _site_facts(walk: SiteWalk) -> dict[str, object]:
    return {
        "norm": walk.norm,
        "post": walk.post,
        "biased": walk.biased,
        "processes": list(walk.processes),
        "cap": walk.cap,
        "scale": walk.scale,
    }


def _kept_rows(walk: SiteWalk, held: Sequence[int]) -> Iterator[tuple[str, PageArray]]:
    for name, array in walk.arrays.items():
        yield name, exact(array[list(held)])


def _logit_facts(walk: Walk) -> dict[str, object]:
    rows = walk.normalizers
    known = None if rows is None else [round(float(row), 6) for row in np.asarray(rows)]
    return {"normalizers": known, "entries": walk.entries}
