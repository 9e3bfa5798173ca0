"""Compression of a page's parts: bytes, the maps of a search tree, attributions."""

import base64
import gzip
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from jumok.inspection.findings import Attributions, SearchTree, TraceFindings, findings_json
from jumok.inspection.page.arrays import rounded, shares

Unit = Literal["pieces", "words"]

NODE_DIGITS = 6

COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.DOTALL | re.MULTILINE)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


FEW_ATTRIBUTED = 20_000
"""The most numbers of attributions that are sent with six digits; of more, each has 16 bits."""


GZIP_LEVEL = 6
"""Of gzip: 9 takes 16 times as long for the weights of 512 tokens, and saves a tenth of them."""


def compressed(content: bytes) -> str:
    """The bytes in gzip and base64; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(content, GZIP_LEVEL, mtime=0)).decode("ascii")


def bare(script: str) -> str:
    """The script without indentation, and without comments that have lines of their own.

    The page's source has no texts of several lines, in which these would mean something.
    """
    return INDENT.sub("", COMMENT.sub("", script))


def packed_search(tree: SearchTree) -> dict[str, object]:
    """A search tree for the page.

    Hypotheses share their beginnings, and a token's attention is that of its node, so every node
    has one row of weights instead of every leaf a whole map. `rows` has the row of each node, -1
    for none; a node is a list of its fields, in their order.
    """
    found: dict[int, npt.NDArray[np.float64]] = {}
    for leaf in tree.leaves:
        if leaf.weights is not None:
            found |= dict(zip(_node_path(tree, leaf.node), leaf.weights, strict=False))
    places = {node: row for row, node in enumerate(found)}
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
    if not found:
        return packed
    return packed | {"maps": shares(np.stack(list(found.values())), "u16")}


def packed_findings(findings: TraceFindings) -> dict[str, object]:
    """The findings for the page, as JSON and arrays."""
    search, attribution = findings.search, findings.attribution
    plain: dict[str, object] = findings_json(replace(findings, search=None, attribution=None))
    if search is not None:
        plain["search"] = packed_search(search)
    if attribution is not None:
        plain["attribution"] = packed_attribution(attribution)
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
    """The nodes from the first token to this one."""
    path = []
    while node >= 0:
        path.append(node)
        node = tree.nodes[node].parent
    return path[::-1]
