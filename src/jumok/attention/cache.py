"""Keys and values of the positions so far, so that a step computes only its own."""

from jumok.shapes import Float, Int, Tensor


class KeyValueCache:
    """Grows by one position a step, in place; its capacity is doubled when it is full.

    In memory positions come first: those in use are adjacent, and only they are copied when a beam
    changes its rows.
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
        """Adds positions; returns all keys and values so far, as views."""
        batch, heads, new, dim = key.shape
        rooms = self.extend(new, key, batch, heads, (dim, value.shape[3]))
        for room, states in zip(rooms, (key, value), strict=True):
            room[self.length - new : self.length] = states.permute(2, 0, 1, 3)
        return by_rows(rooms[0][: self.length]), by_rows(rooms[1][: self.length])

    def extend(
        self, new: int, like: Tensor, batch: int, heads: int, dims: tuple[int, int]
    ) -> tuple[Float[Tensor, "room {batch} {heads} _"], Float[Tensor, "room {batch} {heads} _"]]:
        """Adds `new` positions, whose keys and values the caller writes into the tensors it gets.

        Args:
            like: gives the element type and the device.
            dims: widths of a key and of a value.
        """
        start, self.length = self.length, self.length + new
        self._key = _enlarged(self._key, start, self.length, like, (batch, heads, dims[0]))
        self._value = _enlarged(self._value, start, self.length, like, (batch, heads, dims[1]))
        return self._key, self._value

    def reorder(self, rows: Int[Tensor, " rows"]) -> None:
        """Replaces row i by the old row rows[i]."""
        if self._key is not None and self._value is not None:
            self._key = _reordered(self._key, rows, self.length)
            self._value = _reordered(self._value, rows, self.length)


def by_rows(
    room: Float[Tensor, "length batch heads dim"],
) -> Float[Tensor, "batch heads length dim"]:
    """The positions of a cache's tensor in the axes that attention reads; a view."""
    return room.permute(1, 2, 0, 3)


def _enlarged(
    room: Tensor | None, start: int, end: int, like: Tensor, shape: tuple[int, int, int]
) -> Tensor:
    """The tensor itself if `end` positions fit, otherwise a larger one with the first `start`."""
    if room is not None and end <= room.shape[0]:
        return room
    larger = like.new_empty(max(32, 2 * end), *shape)
    if room is not None:
        larger[:start] = room[:start]
    return larger


def _reordered(room: Tensor, rows: Tensor, length: int) -> Tensor:
    larger = room.new_empty(room.shape[0], rows.shape[0], *room.shape[2:])
    larger[:length] = room[:length].index_select(1, rows)
    return larger
