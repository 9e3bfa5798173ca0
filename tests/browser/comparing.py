"""The numbers of a comparison, computed again from the traces: what its tests share."""

import re
from functools import cache

import numpy as np
import pytest

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


def aligned(one: tuple[str, ...], other: tuple[str, ...]) -> list[Pair]:
    """As the page aligns: the fewest edits, then the most equal words, from the beginning."""

    @cache
    def best(i: int, j: int) -> tuple[int, int, tuple[Pair, ...]]:
        if i == len(one) and j == len(other):
            return 0, 0, ()
        found = []
        if i < len(one) and j < len(other):
            count, same, pairs = best(i + 1, j + 1)
            equal = one[i] == other[j]
            found.append((count + (not equal), same - equal, ((i, j), *pairs)))
        if i < len(one):
            count, same, pairs = best(i + 1, j)
            found.append((count + 1, same, ((i, None), *pairs)))
        if j < len(other):
            count, same, pairs = best(i, j + 1)
            found.append((count + 1, same, ((None, j), *pairs)))
        return min(found, key=lambda each: each[:2])

    return list(best(0, 0)[2])


def places(recorded: Trace, site: Site, second: Trace, like: Site) -> tuple[list[Pair], list[Pair]]:
    """The aligned rows and columns of two maps by words."""
    axes = [
        (each.axes[of.queries], each.axes[of.keys])
        for each, of in ((recorded, site), (second, like))
    ]
    (rows, columns), (rows2, columns2) = axes
    found = aligned(columns.texts, columns2.texts)
    if None in columns.words:
        found.append((len(columns.texts), len(columns2.texts)))
    return aligned(rows.texts, rows2.texts), found


def less(recorded: Trace, second: Trace, name: str, head: int | None, reads: bool) -> np.ndarray:
    """The map of a module's head in the second trace less that in the first, by words."""
    site, like = (next(s for s in each.sites if s.name == name) for each in (recorded, second))
    maps = (whole_map(recorded, site, head, reads), whole_map(second, like, head, reads))
    return difference(*maps, *places(recorded, site, second, like))


def check_heads(page: object, recorded: Trace, second: Trace, reads: bool) -> None:
    """The strip of heads and its sentence, from the arrays of both traces."""
    means = {
        f"apart-{site.name}-{head}": 100
        * float(np.nanmean(np.abs(less(recorded, second, site.name, head, reads))))
        for site in second.sites
        for head in range(len(site.weights))
    }
    if len(means) < 2:
        page.wait_for_timeout(200)
        assert page.locator(".apart-strip").count() == 0
        return
    page.locator("#apart-says").wait_for()
    shown = {
        button.get_attribute("id"): float(button.locator("small").inner_text())
        for button in page.locator(".apart-strip button").all()
    }
    assert shown == pytest.approx(means, abs=0.051)
    says = page.locator("#apart-says").inner_text()
    if max(means.values()) < 0.05:
        assert "No head's weights changed" in says
        return
    points = [float(each) for each in re.findall(r"([\d.]+)(?: points on average|\.$)", says)]
    assert points == pytest.approx([max(means.values()), min(means.values())], abs=0.051)
    assert f"Of {len(means)} heads" in says


def check_largest(
    page: object, recorded: Trace, second: Trace, name: str, head: int, reads: bool
) -> None:
    """The sentence about the largest change: its numbers, and which is the larger."""
    site, like = (next(s for s in each.sites if s.name == name) for each in (recorded, second))
    rows, columns = places(recorded, site, second, like)
    change = less(recorded, second, name, head, reads)
    said = " ".join(page.locator(".compare-says").all_inner_texts())
    if np.nanmax(np.abs(change)) < 5e-4:
        assert "No weight in this map changed" in said
        return
    match = re.search(
        r"([\d.]+) % \w+(?: A)?, ([\d.]+) % \w+(?: B)?, ([\d.]+) points (more|less)\.", said
    )
    assert match, said
    shown = [float(each) for each in match.groups()[:3]]
    # Of a row with two columns both change by the same amount: either is the largest.
    most = np.argwhere(np.abs(change) > np.nanmax(np.abs(change)) - 1e-5)
    found = [
        numbers(recorded, second, (site, like), head, reads, rows[r], columns[c]) for r, c in most
    ]
    assert any(
        shown == pytest.approx([one, other, abs(other - one)], abs=0.06)
        and (match[4] == "more") == (other > one)
        for one, other in found
    )


def numbers(
    recorded: Trace,
    second: Trace,
    sites: tuple[Site, Site],
    head: int,
    reads: bool,
    row: Pair,
    column: Pair,
) -> tuple[float, float]:
    """A cell before and after, in percent."""
    one, other = (
        whole_map(each, site, head, reads)[row[side], column[side]]
        for side, (each, site) in enumerate(zip((recorded, second), sites, strict=True))
    )
    return 100 * float(one), 100 * float(other)
