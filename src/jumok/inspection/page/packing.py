"""The parts of a page made small: bytes, search trees, attributions, walks."""

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jumok.inspection.explain import part_sites, usual_site
from jumok.inspection.findings import (
    Attributions,
    SearchTree,
    TraceFindings,
    Unit,
    findings_json,
)
from jumok.inspection.page.arrays import rounded, shares
from jumok.inspection.trace import Site, Trace

NODE_DIGITS = 6

WALK_BYTES = 48 << 10
"""The most bytes of a walk's vectors in a page, in which a number has 16 bits: 14 tokens in a
decoder's layer of width 128."""

COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)\n", re.MULTILINE)
BEHIND = re.compile(r"(?<=[;,:{}()\[\]]) // [^\n\"'`]*$", re.MULTILINE)
TYPE = re.compile(r"/\*\* @type (?:[^*/]|\*(?!/)|/(?!\*))*\*/ ")
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


FEW_ATTRIBUTED = 20_000
"""The most numbers of attributions that are sent with six digits; of more, each has 16 bits."""


GZIP_LEVEL = 6
"""Of gzip: 9 takes 16 times as long for the weights of 512 tokens, and saves a tenth of them."""


LETTERS, FIRST_LETTER = 91, ord("#")


def compressed(content: bytes) -> str:
    """The bytes in gzip, as letters; the same bytes always give the same text."""
    return lettered(gzip.compress(content, GZIP_LEVEL, mtime=0))


def lettered(content: bytes) -> str:
    """Bytes as printable letters of ASCII without "<": 13 bits are two of 91 letters.

    That is 8 % shorter than base64. Six bits or fewer at the end are one letter. `web/loader.js`
    reads it.
    """
    bits = np.unpackbits(np.frombuffer(content, np.uint8))
    left = bits.size % 13
    groups = np.pad(bits, (0, (13 - left) % 13)).reshape(-1, 13)
    high, low = np.packbits(groups, axis=1).T.astype(np.uint16)
    values = (high << 8 | low) >> 3
    if 0 < left <= 6:
        values[-1] = (values[-1] >> 7) * LETTERS  # its second letter is not written
    codes = np.stack(np.divmod(values, LETTERS), axis=1).astype(np.uint8).ravel() + FIRST_LETTER
    codes += codes >= ord("<")
    return codes[: codes.size - (0 < left <= 6)].tobytes().decode("ascii")


def bare(script: str) -> str:
    """The script without indentation, types, and comments that end a line or are one.

    The page's source has no texts of several lines, in which these would mean something; a comment
    behind code is left where it has a quotation mark, because it may be in a text.
    """
    return INDENT.sub("", TYPE.sub("", BEHIND.sub("", COMMENT.sub("", script))))


def packed_search(tree: SearchTree) -> dict[str, object]:
    """A search tree for the page.

    Hypotheses share their beginnings, so every node has one row of weights instead of every leaf a
    whole map. `rows` has the row of each node, -1 for none; a node is a list of its fields.
    """
    rows: dict[int, npt.NDArray[np.float64]] = {}
    for leaf in tree.leaves:
        if leaf.weights is not None:
            rows |= dict(zip(_node_path(tree, leaf.node), leaf.weights, strict=False))
    places = {node: row for row, node in enumerate(rows)}
    packed = {
        "nodes": [
            [
                node.parent,
                node.token,
                node.piece,
                float(f"{node.log_probability:.{NODE_DIGITS}g}"),
                float(f"{node.total:.{NODE_DIGITS}g}"),
                node.fate,
            ]
            for node in tree.nodes
        ],
        "leaves": [leaf.node for leaf in tree.leaves],
        "rows": [places.get(node, -1) for node in range(len(tree.nodes))],
    }
    if not rows:
        return packed
    return packed | {"maps": shares(np.stack(list(rows.values())), "u16")}


def packed_findings(findings: TraceFindings) -> dict[str, object]:
    """The findings for the page, as JSON and arrays."""
    search, attribution = findings.search, findings.attribution
    plain = findings_json(replace(findings, search=None, attribution=None))
    if search is not None:
        plain["search"] = packed_search(search)
    if attribution is not None:
        plain["attribution"] = packed_attribution(attribution)
    if findings.layers is not None:
        for stack, places in findings.layers.positions.items():
            if places.picture is not None:
                plain["layers"]["positions"][stack]["picture"] = rounded(places.picture)
    return plain


def packed_attribution(attribution: Mapping[Unit, Attributions]) -> dict[str, object]:
    """The attributions by tokens and by words; the measures of long texts as arrays."""
    measures = {unit: of_unit.measures for unit, of_unit in attribution.items()}
    matrices = [each for unit in measures.values() for of in unit.values() for each in of.values()]
    if sum(each.size for each in matrices) <= FEW_ATTRIBUTED:
        return _plain_attribution(attribution)
    rest = {unit: replace(of_unit, measures={}) for unit, of_unit in attribution.items()}
    plain = _plain_attribution(rest)
    for unit, of_unit in measures.items():
        plain[unit]["measures"] = {
            name: {axis: rounded(matrix) for axis, matrix in of.items()}
            for name, of in of_unit.items()
        }
    return plain


def _plain_attribution(attribution: Mapping[Unit, Attributions]) -> dict[str, Any]:
    plain: dict[str, Any] = findings_json(TraceFindings(attribution=attribution))["attribution"]
    return plain


def _node_path(tree: SearchTree, node: int) -> list[int]:
    path = []
    while node >= 0:
        path.append(node)
        node = tree.nodes[node].parent
    return path[::-1]


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
        row_bytes = sum(array.shape[1] for array in one.arrays.values()) * 2
        near = sorted(range(site.weights.shape[1]), key=lambda query: abs(query - first))
        fits = max(room // row_bytes, 0 if sites else 1)  # one at least, however wide the model is
        held = sorted(near[:fits])
        room -= len(held) * row_bytes
        sites[site.name] = {
            "norm": one.norm,
            "post": one.post,
            "biased": one.biased,
            "processes": list(one.processes),
            "sharing": one.sharing,
            "cap": one.cap,
            "scale": one.scale,
            "queries": held,
            "arrays": {name: rounded(array[held]) for name, array in one.arrays.items()},
        }
    rows = walk.normalizers
    normalizers = None if rows is None else [round(float(row), 6) for row in rows]
    walks: dict[str, object] = {"sites": sites, "limit": WALK_BYTES}
    return walks | {"normalizers": normalizers, "entries": walk.entries}


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
    return usual_site(trace, part_sites(trace))
