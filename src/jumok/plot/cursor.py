"""The cell that a view opens with, in figures as on the page (web/cursor.js)."""

import numpy as np

from jumok.inspection.explain import readable
from jumok.inspection.trace import Array, Axis, Site, Trace
from jumok.plot.board import HeadChoice, board, matrix


def opening(trace: Trace, site: Site, head: HeadChoice | None = None) -> tuple[int, int]:
    """The query and the head at the page's cursor, before anything was chosen.

    The row has the largest weight of those that say something: a filled gap comes first, then a
    word that was written and not given, then a word with letters. Of all heads it is the one with
    the largest weight there.

    Args:
        head: that of the map; None: the alignment setting's, without one the sharpest.
    """
    by_words = any(len(axis.texts) > 1 for axis in trace.axes.values())
    shift = int(site.part in ("decoder", "cross") and not trace.findings.at_input)
    rows = _behind(trace.axes[site.queries], shift, by_words)
    columns = _behind(trace.axes[site.keys], 0, by_words)
    shown = _head_to_open(trace, site, by_words) if head is None else head
    weights = _map(trace, site, shown, by_words)
    row = _row_to_open(trace, site, weights, rows)
    behind, others = rows[row][1], columns[int(weights[row].argmax())][1]
    if not behind or not others:
        return 0, shown if isinstance(shown, int) else 0
    cells = site.weights[:, behind][:, :, others]
    if not isinstance(shown, int):
        shown = int(cells.sum(axis=(1, 2)).argmax())
    return behind[int(cells[shown].max(axis=1).argmax())], shown


def _row_to_open(
    trace: Trace, site: Site, weights: Array, rows: list[tuple[str, list[int]]]
) -> int:
    gaps, prompt = trace.findings.gaps, trace.findings.prompt
    known = [row for row, (_, behind) in enumerate(rows) if behind]

    def written(row: int) -> bool:
        return bool(prompt) and row + 1 < len(rows) and max(rows[row][1]) >= prompt

    def spelt(row: int) -> bool:
        return any(sign.isalnum() for sign in rows[row][0])

    narrowed = (
        [row for row in known if set(gaps) & set(rows[row][1])]
        or [row for row in known if written(row) and spelt(row)]
        or [row for row in known if written(row)]
        or [row for row in known if spelt(row)]
        or known
    )
    # A row whose largest weight is on its own word says little.
    own = site.queries == site.keys
    tops = weights.argmax(axis=1)
    worth = [float(weights[row].max()) - (own and tops[row] == row) for row in narrowed]
    return narrowed[int(np.argmax(worth))] if narrowed else 0


def _head_to_open(trace: Trace, site: Site, by_words: bool) -> HeadChoice:
    setting = trace.findings.setting
    if setting is not None and setting.head is not None:
        return setting.head
    if setting is not None:
        # Of differential attention the mean is a signed difference.
        return "mean" if site.factors is None else 0
    maps = [_map(trace, site, head, by_words) for head in range(len(site.weights))]
    return int(np.argmax([each.max(axis=1).sum() for each in maps]))


def _map(trace: Trace, site: Site, head: HeadChoice, by_words: bool) -> Array:
    return board(trace, site, matrix(site, head), "words" if by_words else "pieces").values


def _behind(axis: Axis, shift: int, by_words: bool) -> list[tuple[str, list[int]]]:
    """For each row or column of the map its name, and those of the matrix behind it."""
    if not by_words:
        names = [*map(readable, axis.tokens[shift:]), *["⏎"] * shift]
        return [(name, [place]) for place, name in enumerate(names)]
    places: list[list[int]] = [[] for _ in axis.texts]
    for place, word in enumerate(axis.words[shift:]):
        if word is not None:
            places[word].append(place)
    return list(zip(axis.texts, places, strict=True))
