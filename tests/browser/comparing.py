"""The numbers of a comparison, computed again from the traces: what its tests share."""

from functools import cache

import numpy as np

from jumok.inspection.trace import Axis, Site, Trace

Pair = tuple[int | None, int | None]


def edits(one: tuple[str, ...], other: tuple[str, ...], pairs: list[Pair]) -> int:
    """How many insertions, deletions and substitutions an alignment has."""
    return sum(i is None or j is None or one[i] != other[j] for i, j in pairs)


def distance(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The edit distance by its definition (Levenshtein 1966), from the ends."""

    @cache
    def left(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        same = left(i + 1, j + 1) + (one[i] != other[j])
        return min(same, 1 + left(i + 1, j), 1 + left(i, j + 1))

    return left(0, 0)


def whole_map(recorded: Trace, site: Site, head: int | None, reads: bool) -> np.ndarray:
    """(words words + 1): as the page's map by words; the last column is what is no word."""
    matrix = site.weights.mean(0) if head is None else site.weights[head]
    queries, keys = recorded.axes[site.queries], recorded.axes[site.keys]
    shift = 0 if reads or site.part not in ("decoder", "cross") else 1
    steps = rows_of(queries, shift)
    out = np.zeros((len(queries.texts), len(keys.texts) + 1))
    for row, behind in enumerate(steps):
        for column in range(len(keys.texts) + 1):
            word = column if column < len(keys.texts) else None
            tokens = [i for i, each in enumerate(keys.words) if each == word]
            out[row, column] = matrix[np.ix_(behind, tokens)].sum(1).mean() if behind else 0
    return out if None in keys.words else out[:, :-1]


def rows_of(queries: Axis, shift: int) -> list[list[int]]:
    return [
        [i - shift for i, word in enumerate(queries.words) if word == row and i >= shift]
        for row in range(len(queries.texts))
    ]


def difference(one: np.ndarray, other: np.ndarray, rows: list[Pair], columns: list[Pair]):
    """(rows columns): the second less the first; NaN where a side has no such word."""
    out = np.full((len(rows), len(columns)), np.nan)
    for r, (a, b) in enumerate(rows):
        for c, (x, y) in enumerate(columns):
            if None not in (a, b, x, y):
                out[r, c] = other[b, y] - one[a, x]
    return out


def names(one: tuple[str, ...], other: tuple[str, ...], pairs: list[Pair]) -> list[str]:
    """The names of aligned places, as the page writes them."""
    found = []
    for i, j in pairs:
        if j is None:
            found.append(f"−{one[i]}")
        elif i is None:
            found.append(f"+{other[j]}")
        else:
            found.append(one[i] if one[i] == other[j] else f"{one[i]} | {other[j]}")
    return found


def tables(page: object) -> list[tuple[list[str], list[str], np.ndarray]]:
    """The maps as tables: columns, rows and numbers; a dash is NaN."""
    found = []
    for table in page.locator("#panel .scroll > table:visible").all():
        rows = table.locator("tbody tr").all()
        cells = [[number(cell) for cell in row.locator("td").all_inner_texts()] for row in rows]
        heads = table.locator("thead th").all_inner_texts()[1:]
        of = [row.locator("th").inner_text() for row in rows]
        found.append((heads, of, np.array(cells)))
    return found


def number(text: str) -> float:
    return float("nan") if text == "–" else float(text)
