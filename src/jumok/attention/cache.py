"""Keys and values of the positions already written, so that a step computes only its own."""

from jumok.shapes import Float, Int, Tensor


class KeyValueCache:
    """Grows by one position a step, in place; room is doubled when it runs out.

    In memory positions come first: those in use lie together, and only they are copied when a
    beam changes its rows.
    """

    def __init__(self) -> None:
        self._key: Float[Tensor, "room batch heads dim"] | None = None
        self._value: Float[Tensor, "room batch heads value_dim"] | None = None
        self.length = 0

    def append(
        self,
        key: Float[Tensor, "batch heads new dim"],
        value: Float[Tensor, "batch heads new value_dim"],
    ) -> tuple[Float[Tensor, "batch heads key dim"], Float[Tensor, "batch heads key value_dim"]]:
        """Adds positions; gives all keys and values so far, as views."""
        start, self.length = self.length, self.length + key.shape[2]
        self._key = _written(self._key, key, start)
        self._value = _written(self._value, value, start)
        return _view(self._key[: self.length]), _view(self._value[: self.length])

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Row i becomes the old row rows[i]."""
        if self._key is not None and self._value is not None:
            self._key = _reordered(self._key, rows, self.length)
            self._value = _reordered(self._value, rows, self.length)


def _view(room: Float[Tensor, "length batch heads dim"]) -> Float[Tensor, "batch heads length dim"]:
    return room.permute(1, 2, 0, 3)


def _written(room: Tensor | None, new: Float[Tensor, "batch heads new dim"], start: int) -> Tensor:
    """The room with `new` at `start`, enlarged if it must be."""
    batch, heads, count, dim = new.shape
    end = start + count
    if room is None or end > room.shape[0]:
        larger = new.new_empty(max(32, 2 * end), batch, heads, dim)
        if room is not None:
            larger[:start] = room[:start]
        room = larger
    room[start:end] = new.permute(2, 0, 1, 3)
    return room


def _reordered(room: Tensor, rows: Tensor, length: int) -> Tensor:
    larger = room.new_empty(room.shape[0], rows.shape[0], *room.shape[2:])
    larger[:length] = room[:length].index_select(1, rows)
    return larger
