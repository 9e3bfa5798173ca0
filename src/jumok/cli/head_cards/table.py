"""Head cards and pruning curves as tables for the terminal."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO, TypedDict

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from jumok.cli.output.cells import as_table
from jumok.cli.screen import plain_table

if TYPE_CHECKING:
    from jumok.inspection.heads.cards import AnyHeadCard
    from jumok.inspection.heads.pruning import PrunedPoint

UNBOUNDED = 1_000
"""More columns than any table has: a line that is too long is better than half a word."""


def show_cards(screen: Console, measured: "Mapping[str, Sequence[AnyHeadCard]]") -> None:
    """Prints a row for each head, then why some columns are empty."""
    table = _cards_table(measured)
    unbounded = screen.options.update(max_width=UNBOUNDED)
    screen.width = max(screen.width, Measurement.get(screen, unbounded, table).maximum)
    if len(measured) > 1:
        screen.print(*(f"{number}  {name}" for number, name in enumerate(measured, 1)), sep="\n")
    screen.print(table)
    from jumok.inspection.heads.cards import GridCard

    grids = [card for card in next(iter(measured.values())) if isinstance(card, GridCard)]
    told = {(card.part, what): why for card in grids for what, why in card.left_out.items()}
    for (part, what), why in told.items():
        screen.print(f"{part}: no {what}: {why}")


class ModelCards(TypedDict):
    """The cards of all heads of a model, for JSON."""

    model: str
    heads: list[dict[str, object]]


def write_cells(stream: TextIO, models: Sequence[ModelCards], between: str) -> None:
    """Writes one row a head and one column a measure: numbers in full, one column an offset, and
    other lists joined by spaces.
    """
    rows = [
        {"model": each["model"], **_with_offsets(head)} for each in models for head in each["heads"]
    ]
    plain = [{name: _cell_text(fact) for name, fact in row.items()} for row in rows]
    stream.write(as_table(plain, between))


def _with_offsets(head: Mapping[str, object]) -> dict[str, object]:
    """The measures, with a column for each offset between words."""
    row: dict[str, object] = {}
    for name, fact in head.items():
        if name == "offsets" and isinstance(fact, list | tuple) and isinstance(fact[0], float):
            row |= {f"offset {at}": share for at, share in zip(_offsets(), fact, strict=True)}
        else:
            row[name] = fact
    return row


def _offsets() -> tuple[str, ...]:
    """The names of the offsets between words."""
    from jumok.inspection.heads.cards import OFFSETS

    return (f"< {OFFSETS[0]}", *map(_signed, OFFSETS), f"> {OFFSETS[-1]}")


def _cell_text(fact: object) -> object:
    """A value as the text of one cell; the rows of a nested table are joined."""
    if isinstance(fact, list | tuple):
        return " ".join(str(_cell_text(each)) for each in fact)
    if isinstance(fact, dict):
        return "; ".join(f"{name}: {_cell_text(each)}" for name, each in fact.items())
    return "" if fact is None else fact


def _cards_table(measured: "Mapping[str, Sequence[AnyHeadCard]]") -> Table:
    first, *others = measured.values()
    columns = {name: cell for name, cell in CARD_COLUMNS.items() if any(map(cell, first))}
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in (*(["model"] if others else []), *columns):
        left = name in ("part", "head", "role")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for cards in zip(first, *others, strict=True):
        for number, card in enumerate(cards, start=1):
            told = (cell(card) for cell in columns.values())
            table.add_row(*([str(number)] if others else []), *told)
    return table


def _offset(card: "AnyHeadCard") -> str:
    """The most frequent offset of the largest weight and its share; for cells, rows,columns."""
    from jumok.inspection.heads.cards import GridCard

    if not isinstance(card, GridCard):
        often, place = max(zip(card.offsets, range(len(card.offsets)), strict=True))
        return f"{_offsets()[place]} {100 * often:2.0f} %"
    if card.offsets is None:
        return ""
    rows, columns = len(card.offsets) // 2, len(card.offsets[0]) // 2
    shares = [
        (share, f"{_signed(y - rows)},{_signed(x - columns)}")
        for y, row in enumerate(card.offsets)
        for x, share in enumerate(row)
    ]
    often, name = max(shares)
    return f"{name} {100 * often:2.0f} %"


def _signed(offset: int) -> str:
    return f"{offset:+d}" if offset else "0"


def _role(card: "AnyHeadCard") -> str:
    """The role; without one, the role whose rule the head comes nearest to."""
    nearest = getattr(card, "nearest", None)
    if nearest is None:
        return card.role
    role, measure, bound = nearest
    return f"no clear role; nearest: {role}, {measure:.2f} of {bound:.2f}"


def _error_rate(card: "AnyHeadCard") -> str:
    from jumok.inspection.heads.cards import GridCard

    if isinstance(card, GridCard) or card.error_rate is None:
        return ""
    return f"{100 * card.error_rate:.1f} %"


def _of_cells(name: str, shown: str, times: int = 1) -> "Callable[[AnyHeadCard], str]":
    """The column of a measure that only heads over image cells have."""

    from jumok.inspection.heads.cards import GridCard

    def cell(card: "AnyHeadCard") -> str:
        value = getattr(card, name) if isinstance(card, GridCard) else None
        return "" if value is None else shown.format(times * value)

    return cell


CARD_COLUMNS: "dict[str, Callable[[AnyHeadCard], str]]" = {
    "part": lambda card: card.part,
    "head": lambda card: f"{card.layer + 1}.{card.head + 1}",
    "entropy": lambda card: f"{card.entropy:.3f}",
    "share": lambda card: f"{100 * card.uniform_share:.0f} %",
    "confidence": lambda card: f"{card.confidence:.3f}",
    "offset": _offset,
    "distance": _of_cells("distance", "{:.2f}"),
    "importance": lambda card: f"{card.importance:.3f}",
    "AER": _error_rate,
    "pointing": _of_cells("pointing", "{:.1f} %", 100),
    "role": _role,
}
"""By heading, the text of a cell; "" if it does not apply. A column of only "" is left out."""


def show_curves(screen: Console, curves: "Mapping[str, Sequence[PrunedPoint]]", score: str) -> None:
    """Prints the score with a growing share of heads pruned."""
    screen.print(f"\n{score}, with the least important heads pruned:")
    table = plain_table("pruned", *curves)
    for row in zip(*curves.values(), strict=True):
        table.add_row(f"{row[0].percent} %", *(f"{point.score:.2f}" for point in row))
    screen.print(table)
