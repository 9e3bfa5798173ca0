"""The parts of a page made small: compressed texts, and the maps of a search tree."""

import base64
import gzip
import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.inspection.findings import SearchTree

Form = Literal["f32", "u16", "u8"]
"""How weights travel: as they are, or as steps from 0 to 1."""

STEPS: dict[Form, tuple[str, int]] = {"u16": ("<u2", 65_535), "u8": ("|u1", 255)}

DIGITS = 6

COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.DOTALL | re.MULTILINE)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)


def compressed(text: str) -> str:
    """The text in gzip and base64; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


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
            found |= dict(zip(_path(tree, leaf.node), leaf.weights, strict=False))
    places = {node: row for row, node in enumerate(found)}
    packed = {
        "nodes": [
            [
                node.parent,
                node.token,
                node.piece,
                float(f"{node.log_probability:.{DIGITS}g}"),
                float(f"{node.total:.{DIGITS}g}"),
                node.fate,
            ]
            for node in tree.nodes
        ],
        "leaves": [leaf.node for leaf in tree.leaves],
        "rows": [places.get(node, -1) for node in range(len(tree.nodes))],
    }
    if not found:
        return packed
    maps = shares(np.stack(list(found.values())), "u16")
    data = base64.b64encode(maps.tobytes()).decode("ascii")
    return packed | {"maps": {"shape": list(maps.shape), "type": "u16", "data": data}}


def shares(array: npt.NDArray[np.floating], form: Form) -> npt.NDArray[np.unsignedinteger]:
    """Weights from 0 to 1 as whole steps."""
    kind, most = STEPS[form]
    found: npt.NDArray[np.unsignedinteger] = np.rint(array.clip(0, 1) * most).astype(kind)
    return found


def _path(tree: SearchTree, node: int) -> list[int]:
    """The nodes from the first token to this one."""
    path = []
    while node >= 0:
        path.append(node)
        node = tree.nodes[node].parent
    return path[::-1]
