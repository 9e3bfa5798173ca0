"""What both engines share of constrained search: the division of a beam among banks.

Source: Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for
Neural Machine Translation". Importing it imports no torch.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jumok.decoding.constraints import ConstraintAutomaton, Ways

WIDEST = 24
"""A row's beam is one wider than the number of its constraints' tokens, up to this size."""


class Extension(NamedTuple):
    """One hypothesis of a sentence with one token more; it still lacks `missing` tokens."""

    total: float
    parent: int
    token: int
    missing: int
    ways: Ways


def width_of(beam: int, progress: ConstraintAutomaton) -> int:
    """The beam of a sentence with these constraints: a place for every bank, up to WIDEST."""
    return max(beam, min(progress.missing(progress.start) + 1, WIDEST))


def within(
    options: Mapping[tuple[int, int], float],
    ways: Sequence[Ways],
    progress: ConstraintAutomaton,
    left: int,
    end: int,
) -> list[Extension]:
    """Those that can write their missing tokens in `left` steps; END only if none are left.

    Args:
        options: the total of each (parent, token).
        ways: the state of each parent.
    """
    candidates = []
    for (parent, token), total in options.items():
        ended = token == end
        state = ways[parent] if ended else progress.after(ways[parent], token)
        missing = progress.missing(state)
        if missing <= (0 if ended else left):
            candidates.append(Extension(total, parent, token, missing, state))
    return sorted(candidates, key=lambda each: (-each.total, each.parent, each.token))


def allocate(candidates: list[Extension], beam: int) -> list[Extension]:
    """At most `beam` of the candidates (best first), divided among the banks.

    A bank holds those that lack the same number of tokens. Every bank gets an equal share, the
    banks that lack the fewest get the remainder, and a bank with fewer candidates leaves its places
    to the others, first to those that lack the fewest.
    """
    banks: dict[int, list[Extension]] = {}
    for each in candidates:
        banks.setdefault(each.missing, []).append(each)
    if not banks:
        return []
    order = sorted(banks)
    share, over = divmod(beam, len(order))
    sizes = {
        missing: min(share + (place < over), len(banks[missing]))
        for place, missing in enumerate(order)
    }
    unused = beam - sum(sizes.values())
    for missing in order:
        more = min(unused, len(banks[missing]) - sizes[missing])
        sizes[missing] += more
        unused -= more
    chosen = [each for missing in order for each in banks[missing][: sizes[missing]]]
    return sorted(chosen, key=lambda each: -each.total)
